"""The Java part of Headrace, as source. It is compiled in Spark's own JVM by Janino, which every Spark has for its
generated code: no JDK is needed, and no jar on a path."""

from __future__ import annotations

from importlib.resources import files
from threading import Lock
from typing import Any

_compiled: dict[tuple[int, str], tuple[Any, Any]] = {}
_lock = Lock()


def java_class(jvm: Any, name: str) -> Any:
    """One of the classes in this folder, compiled once for each JVM."""
    key = (id(jvm), name)
    with _lock:
        if key not in _compiled:
            compiler = jvm.org.codehaus.janino.SimpleCompiler()
            compiler.cook(files(__package__).joinpath(f"{name}.java").read_text())
            # The JVM is held too, so that no other one can take its id.
            _compiled[key] = (jvm, compiler.getClassLoader().loadClass(f"headrace.{name}"))
        return _compiled[key][1]
