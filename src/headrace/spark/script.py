"""Objects in the JVM, made in few round trips.

A call through py4j costs a tenth of a millisecond, and a plan has a thousand parts. A script writes down what
to construct and what to call, and sends it when a result is needed. Results are known by numbers that are
given out here, so that nothing waits for an answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from py4j.java_gateway import JavaObject

from headrace.spark.jvm import java_class


class Made:
    """Something in the JVM that a script made or will make. A call of one of its methods is written down too."""

    __slots__ = ("_number", "_script")

    def __init__(self, script: Script, number: int) -> None:
        self._script = script
        self._number = number

    def __getattr__(self, method: str) -> Callable[..., Made]:
        if method.startswith("__"):
            raise AttributeError(method)
        return partial(self._script.call, self, method)

    def __del__(self) -> None:
        self._script.gone.append(self._number)


class Script:
    """Instructions for one JVM, sent in the order in which they were written down."""

    def __init__(self, jvm: Any) -> None:
        self._java = java_class(jvm, "Script").newInstance()
        self._jvm = jvm
        for name in ("Prepared", "Counts", "Rows"):
            self.know(name)
        self._waiting: list[list[Any]] = []
        self.gone: list[int] = []
        self._last = 0
        self._foreign: dict[int, tuple[Any, Made]] = {}
        self.itself = Made(self, 0)

    def know(self, name: str) -> None:
        """Make one of the classes in ``jvm`` known, as ``headrace.name``."""
        self._java.know(java_class(self._jvm, name))

    def new(self, name: str, *arguments: Any) -> Made:
        """A new object of a class."""
        return self._write("new", name, *map(self._argument, arguments))

    def call(self, target: Any, method: str, *arguments: Any) -> Made:
        """What a method of an object returns."""
        return self._write("call", self._argument(target), method, *map(self._argument, arguments))

    def static(self, name: str, method: str, *arguments: Any) -> Made:
        """What a static method of a class returns."""
        return self._write("static", name, method, *map(self._argument, arguments))

    def module(self, name: str) -> Made:
        """A Scala object."""
        return self._write("module", name)

    def seq(self, elements: Iterable[Any]) -> Made:
        """A Scala Seq."""
        return self._write("seq", *map(self._argument, elements))

    def java_list(self, elements: Iterable[Any]) -> Made:
        """A Java List."""
        return self._write("list", *map(self._argument, elements))

    def put(self, value: Any) -> Made:
        """An object that py4j knows, for use in a script as long as what is returned is held."""
        made = self._next()
        self._java.put(made._number, value)
        return made

    def value(self, made: Any) -> Any:
        """The result itself: a value of Python's, or an object that py4j knows. Sends what is waiting."""
        if not isinstance(made, Made):
            return made
        waiting, self._waiting = self._waiting, []
        gone, self.gone = self.gone, []
        return self._java.run(json.dumps([waiting, gone]), made._number)

    def _write(self, *instruction: Any) -> Made:
        made = self._next()
        self._waiting.append([made._number, *instruction])
        return made

    def _next(self) -> Made:
        self._last += 1
        return Made(self, self._last)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Made):
            return [value._number]
        if isinstance(value, JavaObject):
            # Entered once and held: a query's own expressions are used in every run.
            found = self._foreign.get(id(value))
            if found is None:
                found = self._foreign[id(value)] = (value, self.put(value))
            return [found[1]._number]
        return value
