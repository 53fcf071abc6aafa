"""Projects for tests: their files, and a session to read them in."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from headrace.pipelines import Project

SPEC = """\
name: shop
storage: file://{storage}
configuration:
  spark.sql.shuffle.partitions: "2"
libraries:
  - glob:
      include: transformations/**
"""


def project(folder: Path, files: dict[str, str], spec: str = SPEC) -> Path:
    """Write a project; returns its spec."""
    for name, text in files.items():
        file = folder / "transformations" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    path = folder / "spark-pipeline.yml"
    path.write_text(spec.format(storage=folder / "storage"))
    return path


def opened(spark: SparkSession, folder: Path, files: dict[str, str], spec: str = SPEC) -> Project:
    return Project.open(project(folder, files, spec), spark=spark)


class Shop:
    """Four tables that grow, and a project with twelve views over them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._random = random.Random(5)
        self._batch = 0
        self._order = 0
        self._customer = 0
        self._product = 0
        texts = Path(__file__).parent / "shop"
        self.spec = project(
            folder,
            {
                "tables.py": (texts / "tables.py.txt").read_text().replace("@DATA@", str(self.data)),
                "views.sql": (texts / "views.sql").read_text().replace("@DATA@", str(self.data)),
            },
        )

    def grow(self, orders: int, customers: int, products: int) -> None:
        draw = self._random
        new_customers = [(self._customer + i, f"name {i}", draw.choice(["CH", "DE", "FR"])) for i in range(customers)]
        self._customer += customers
        new_products = [
            {"product": self._product + i, "title": f"title {i % 7}", "price": i % 9 + 0.25} for i in range(products)
        ]
        self._product += products
        first, self._order = self._order, self._order + orders
        numbers = list(range(first, self._order))
        lines = [(n, draw.randrange(self._product + 3), draw.randint(1, 9)) for n in numbers for _ in range(2)]
        self._csv("customers", "customer,name,country", new_customers)
        self._text("products", "json", "\n".join(map(json.dumps, new_products)))
        self._parquet(
            "orders",
            {
                "order_id": pa.array(numbers, pa.int32()),
                "customer": pa.array([draw.randrange(self._customer + 2) for _ in numbers], pa.int32()),
                "day": pa.array([f"2024-01-0{n % 5 + 1}" for n in numbers]),
            },
        )
        columns = zip(*lines, strict=True)
        names = ("order_id", "product", "quantity")
        self._parquet("lines", {n: pa.array(c, pa.int32()) for n, c in zip(names, columns, strict=True)})
        self._batch += 1

    def _parquet(self, table: str, columns: dict[str, pa.Array]) -> None:
        pq.write_table(pa.table(columns), self._file(table, "parquet"))

    def _csv(self, table: str, header: str, rows: list[tuple[object, ...]]) -> None:
        if rows:
            self._text(table, "csv", "\n".join([header, *(",".join(map(str, row)) for row in rows)]))

    def _text(self, table: str, kind: str, text: str) -> None:
        if text:
            self._file(table, kind).write_text(text + "\n")

    def _file(self, table: str, kind: str) -> Path:
        file = self.data / table / f"{self._batch}.{kind}"
        file.parent.mkdir(parents=True, exist_ok=True)
        return file
