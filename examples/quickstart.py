"""A view over two folders of files: refreshed, changed, refreshed again."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr


def write(path: Path, **columns: list) -> None:
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), path)


with tempfile.TemporaryDirectory() as folder:
    data = Path(folder)
    write(data / "sales" / "1.parquet", id=[1, 2, 3], category=["toys", "toys", "books"], price=[10, 20, 30])
    write(data / "returns" / "1.parquet", id=[2], cost=[3], _change_type=["insert"])

    wh = hr.Warehouse(data / "warehouse")
    wh.source("sales", hr.Folder(data / "sales"))  # a new file is new rows
    wh.source("returns", hr.Folder(data / "returns", changes=True))  # rows say what happened to them
    view = wh.view(
        "summary",
        """SELECT category, SUM(CASE WHEN cost IS NULL THEN price ELSE -cost END) AS gross
           FROM sales LEFT JOIN returns ON sales.id = returns.id GROUP BY category""",
    )
    print(view.refresh())  # the first time everything

    write(data / "sales" / "2.parquet", id=[4], category=["books"], price=[40])
    write(data / "returns" / "2.parquet", id=[2], cost=[3], _change_type=["delete"])
    print(view.refresh())  # now only what changed
    view.read().orderBy("category").show()
    print(view.check())  # is it what Spark answers from scratch?
