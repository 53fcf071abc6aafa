"""Letting go of what Java has, once nobody in Python has it any more.

Python collects garbage in the midst of anything, also while a thread reads an answer from Java. Another call from
there would be on the same connection, and break both. So what is to be done for something that is gone is done by a
thread of its own, which has its own connection.
"""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from queue import SimpleQueue
from threading import Event, Thread, current_thread, get_ident

_QUEUE: SimpleQueue[Callable[[], object]] = SimpleQueue()  # to put something in is safe wherever garbage is collected
_SECONDS = 10.0  # to wait for what is being done


def when_gone(owner: object, action: Callable[..., object], *given: object) -> None:
    """Do something soon after an object is gone; not where the process ends."""
    _worker()
    weakref.finalize(owner, _QUEUE.put, partial(action, *given)).atexit = False


def settle() -> None:
    """Wait until everything is done for what is gone already, but not for ever."""
    if current_thread() is not _worker():
        done = Event()
        _QUEUE.put(done.set)
        done.wait(_SECONDS)


def find_gone() -> None:
    """Find all that nobody has any more, and wait until everything is done for it.

    ``gc.collect`` does nothing while another thread collects, and that one may have begun before something was gone, or
    look at what is new alone. So it is called until this thread has itself collected everything.
    """
    me, found = get_ident(), Event()

    def ended(phase: str, info: Mapping[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2 and get_ident() == me:
            found.set()

    gc.callbacks.append(ended)
    try:
        until = time.monotonic() + _SECONDS
        gc.collect()
        while not found.is_set() and time.monotonic() < until:
            time.sleep(0.001)
            gc.collect()
    finally:
        gc.callbacks.remove(ended)
    settle()


@cache
def _worker() -> Thread:
    worker = Thread(target=_work, name="headrace-finalizing", daemon=True)
    worker.start()
    return worker


def _work() -> None:
    while True:
        action = _QUEUE.get()
        with suppress(Exception):  # the JVM may be gone
            action()
        del action  # or it would be there until the next one comes
