"""A process that refreshes the view of a scene over and over, in the Spark of the process that started it.

It says `ready`, and then refreshes once for every line it is sent. Most of what a small run does outside Spark is
done by this process, so that killing it is a crash; the Spark it leaves behind may go on writing for a while, as
executors do.
"""

from __future__ import annotations

import sys
from pathlib import Path

from attach import attach


def main() -> None:
    from fault.scene import ABOVE, SQL, TABLES

    import headrace as hr

    folder = Path(sys.argv[1])
    warehouse = hr.Warehouse(folder / "warehouse", spark=attach())
    for name in TABLES:
        warehouse.source(name, hr.Folder(folder / "data" / name, changes=True))
    view = warehouse.view("v", SQL)
    warehouse.view("above", ABOVE)
    print("ready", flush=True)
    for _ in sys.stdin:
        try:
            report = view.refresh(wait=float(sys.argv[2]))
            print(report.method, flush=True)
        except hr.HeadraceError as problem:
            print(problem.code, flush=True)


if __name__ == "__main__":
    main()
