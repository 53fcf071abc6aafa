"""`headrace init`: a project that runs at once."""

import runpy
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from headrace.cli.options import AsJson
from headrace.cli.output import explained
from headrace.errors import ConfigError

_TEMPLATE = Path(__file__).parent / "template"
_TEXT = ".txt"  # of files that would else be taken for a part of Headrace
_DAYS, _ORDERS = 3, 1000


def init(
    name: Annotated[
        Path, typer.Argument(help="The folder to make; its last part is the project's name.", metavar="NAME")
    ],
    as_json: AsJson = False,
) -> None:
    """Make a project that runs at once.

    It has some data, a Python file and SQL files over it, and a README with what to do next. It is a Spark
    Declarative Pipelines project: `spark-pipelines run` takes it too.
    """
    with explained(as_json) as output:
        root = name.resolve()
        if root.exists() and (not root.is_dir() or any(root.iterdir())):
            raise ConfigError("FOLDER_NOT_EMPTY", f"there is something in {name}", hint="name a new folder")
        values = {"name": root.name, "storage": (root / "storage").as_uri()}
        written = [root / path for path in _copy(_TEMPLATE, root, values)]
        arrivals = runpy.run_path(str(root / "new_orders.py"))
        arrivals["write_customers"]()
        for _ in range(_DAYS):
            arrivals["write_orders"](_ORDERS)
        output.line(name=root.name, root=str(root), files=sorted(str(path.relative_to(root)) for path in written))
        output.console.print(
            f"{name} is made: {len(written)} files and a folder of data. Next:\n\n"
            f"  cd {name}\n  headrace run\n  headrace status\n\nREADME.md has more.",
            soft_wrap=True,
        )


def _copy(template: Path, target: Path, values: dict[str, str]) -> list[Path]:
    """Write what is in a folder of the template; returns the files."""
    target.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    for item in template.iterdir():
        if item.is_dir():
            made += _copy(item, target / item.name, values)
        else:
            path = target / item.name.removesuffix(_TEXT)
            path.write_text(Template(item.read_text(encoding="utf-8")).safe_substitute(values), encoding="utf-8")
            made.append(path)
    return made
