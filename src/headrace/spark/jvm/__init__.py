"""The Java part of Headrace, as source. It is compiled in Spark's own JVM by Janino, which every Spark has for its
generated code: no JDK is needed, and no jar on a path."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

from py4j.protocol import Py4JError

_compiled: dict[tuple[int, str], tuple[Any, Any]] = {}
_shared: dict[int, tuple[Any, Any]] = {}
_lock = Lock()
_USES = {"Prepared": "Slot", "Rows": "Prepared", "Script": "Slot"}  # what a class needs to be compiled
_IN_TASKS = ("RowTable", "Index", "Fill", "Matches", "Probe")  # each may use those before it


def java_class(jvm: Any, name: str) -> Any:
    """One of the classes in this folder, compiled once for each JVM."""
    key = (id(jvm), name)
    before = java_class(jvm, _USES[name]) if name in _USES else None
    with _lock:
        if key not in _compiled:
            compiler = jvm.org.codehaus.janino.SimpleCompiler()
            if before is not None:
                compiler.setParentClassLoader(before.getClassLoader())
            compiler.cook(_source(name))
            # The JVM is held too, so that no other one can take its id.
            _compiled[key] = (jvm, compiler.getClassLoader().loadClass(f"headrace.{name}"))
        return _compiled[key][1]


def task_class(jvm: Any, name: str) -> Any | None:
    """One of the classes that tasks use in the driver's own process. They are put where Spark's class loader finds
    them; None where it cannot be told of a further place."""
    with _lock:
        if id(jvm) not in _shared:
            _shared[id(jvm)] = (jvm, _share(jvm))
        loader = _shared[id(jvm)][1]
    return None if loader is None else loader.loadClass(f"headrace.{name}")


def _share(jvm: Any) -> Any | None:
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if not loader.getClass().getName().endswith("MutableURLClassLoader"):
        return None
    with suppress(Py4JError):  # another Python process of this JVM may have put them there
        loader.loadClass(f"headrace.{_IN_TASKS[-1]}")
        return loader
    folder = Path(tempfile.mkdtemp(prefix="headrace-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "headrace").mkdir()
    try:
        loader.addURL(jvm.java.io.File(str(folder)).toURI().toURL())
        for name in _IN_TASKS:
            compiler = jvm.org.codehaus.janino.SimpleCompiler()
            compiler.setParentClassLoader(loader)
            compiler.cook(_source(name))
            code = compiler.getBytecodes()
            for made in code:
                (folder / f"{made.replace('.', '/')}.class").write_bytes(code[made])
            for made in code:
                loader.loadClass(made)  # the folder goes with this process, and another one may stay
    except Py4JError:  # a Spark whose classes are other ones
        return None
    return loader


def _source(name: str) -> str:
    return files(__package__).joinpath(f"{name}.java").read_text()
