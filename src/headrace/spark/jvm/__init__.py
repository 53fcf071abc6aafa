"""The Java part of Headrace, as source. It is compiled in Spark's own JVM by Janino, which every Spark has for its
generated code: no JDK is needed, and no jar on a path."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
import zipfile
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

from py4j.protocol import Py4JError

_compiled: dict[tuple[int, str], tuple[Any, Any]] = {}
_shared: dict[tuple[int, tuple[str, ...]], tuple[Any, Any]] = {}
_lock = Lock()
# What a class needs to be compiled, with what that needs.
_USES = {"Prepared": "Slot", "Counts": "Prepared", "Rows": "Counts", "Script": "Slot"}
# What tasks use, each of which may use those before it: to look rows up in the driver's own process, and in executors.
_IN_TASKS = ("Packed", "RowTable", "Index", "Fill", "Matches", "Probe")
_APART = (
    *("Routing", "Part", "Gather", "Tally", "Merge", "Found", "Asked", "ProbePart", "Executors", "Segments"),
    *("ProbingExec", "Probing", "ProbingStrategy"),
)


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
    """One of the classes that tasks use. They are put where Spark's class loader finds them, in the driver's own
    process; None where it cannot be told of a further place."""
    with _lock:
        for group in (_IN_TASKS, _APART) if name in _APART else (_IN_TASKS,):
            if (id(jvm), group) not in _shared:
                _shared[id(jvm), group] = (jvm, _share(jvm, group))
            loader = _shared[id(jvm), group][1]
    return None if loader is None else loader.loadClass(f"headrace.{name}")


def give_executors(jvm: Any, context: Any) -> None:
    """Let the executors of a SparkContext have the classes that tasks use, in a jar. They are known in the driver."""
    loader = task_class(jvm, _APART[-1]).getClassLoader()  # type: ignore[union-attr]
    digest = hashlib.sha256("".join(map(_source, (*_IN_TASKS, *_APART))).encode()).hexdigest()
    name = f"headrace-{digest[:12]}.jar"
    with _lock:
        if name in str(context.listJars()):
            return
        jar = _folder() / name
        with zipfile.ZipFile(jar, "w") as file:
            for each in (*_IN_TASKS, *_APART):
                for made, code in _code(jvm, loader, each).items():
                    file.writestr(f"{made.replace('.', '/')}.class", code)
        context.addJar(str(jar))


def _share(jvm: Any, names: tuple[str, ...]) -> Any | None:
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if not loader.getClass().getName().endswith("MutableURLClassLoader"):
        return None
    with suppress(Py4JError):  # another Python process of this JVM may have put them there
        loader.loadClass(f"headrace.{names[-1]}")
        return loader
    folder = _folder()
    (folder / "headrace").mkdir()
    try:
        loader.addURL(jvm.java.io.File(str(folder)).toURI().toURL())
        for name in names:
            code = _code(jvm, loader, name)
            for made in code:
                (folder / f"{made.replace('.', '/')}.class").write_bytes(code[made])
            for made in code:
                loader.loadClass(made)  # the folder goes with this process, and another one may stay
    except Py4JError:  # a Spark whose classes are other ones
        return None
    return loader


def _code(jvm: Any, loader: Any, name: str) -> dict[str, bytes]:
    """What a class, with those inside it, is compiled to."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.cook(_source(name))
    return dict(compiler.getBytecodes())


def _folder() -> Path:
    """A folder that goes with this process."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _source(name: str) -> str:
    return files(__package__).joinpath(f"{name}.java").read_text()
