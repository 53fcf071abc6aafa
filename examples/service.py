"""Views that a service refreshes by themselves, each when its policy says so."""

import tempfile
from pathlib import Path
from threading import Thread
from time import sleep

import headrace as hr
from headrace.runtime.progress import Event, RunDone, RunFailed

runs: dict[str, int] = {}  # the newest run of each view


def told(event: Event) -> None:
    """Called in the threads of the runs; it should come back soon."""
    if isinstance(event, RunDone):
        print(str(event.report).splitlines()[0])
        runs[event.view] = event.report.run
    elif isinstance(event, RunFailed):  # it is tried again, after a pause that grows
        print(f"{event.view} failed: {event.problem}")


def wait_for(view: str, run: int) -> None:
    while runs.get(view, 0) < run:
        sleep(0.1)


with tempfile.TemporaryDirectory() as folder:
    sales = hr.Rows("item string, price int", [("pen", 2), ("ink", 7)])
    wh = hr.Warehouse(Path(folder))
    wh.source("sales", sales)
    wh.view("totals", "SELECT item, sum(price) AS total FROM sales GROUP BY item", policy=hr.on_change())
    wh.view("dear", "SELECT item FROM totals WHERE total > 5", policy=hr.downstream_of("totals"))
    wh.view("count", "SELECT count(*) AS n FROM sales", policy="every 1 h | after_rows 3")  # the same as text

    service = hr.Service(
        wh,
        parallel=2,  # views side by side
        poll=0.2,  # seconds between two looks at the sources
        started=lambda firing: print(f"{firing.view} is due: {firing.why}"),
        progress=told,
    )
    thread = Thread(target=service.run)  # in a program of its own: service.run(), and stop() in a signal handler
    thread.start()
    try:
        for view in wh.views:
            wait_for(view, run=1)  # each is computed once, whatever its policy
        sales.insert(("pen", 3), ("pen", 4))  # two rows: not yet enough for "count"
        wait_for("dear", run=2)
        sales.insert(("cap", 1))  # the third
        wait_for("count", run=2)
    finally:
        service.stop()  # starts nothing more, and ends when the runs in hand have ended
        thread.join()
    wh.views["dear"].read().show()
