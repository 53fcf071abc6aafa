"""How names in a project become names of elements.

An element in the project's own catalog and database has its last part as name, any other one has all parts that
differ, with dots between. So ``sales``, ``default.sales`` and ``spark_catalog.default.sales`` are one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Naming:
    """``home`` is the project's catalog and database, ``here`` those in which names are looked up now."""

    home: tuple[str, str]
    here: tuple[str, str]

    @classmethod
    def of(cls, spark: SparkSession, catalog: str | None, database: str | None) -> Naming:
        home = (catalog or spark.catalog.currentCatalog(), database or spark.catalog.currentDatabase())
        return cls(home, home)

    def within(self, namespace: tuple[str, ...]) -> Naming:
        catalog, database = namespace if len(namespace) > 1 else (self.here[0], namespace[0])
        return replace(self, here=(catalog, database))

    def within_catalog(self, catalog: str) -> Naming:
        return replace(self, here=(catalog, "default"))

    def name(self, parts: tuple[str, ...]) -> str:
        """The name of the element that these parts mean."""
        full = (*self.here[: 3 - len(parts)], *parts) if len(parts) < 3 else parts
        if full[:2] == self.home:
            return full[-1]
        return ".".join(full[1:] if full[0] == self.home[0] else full)

    def elsewhere(self, parts: tuple[str, ...]) -> tuple[str, ...] | None:
        """The parts to look a table of the catalog up by that is no element; None where they can stay."""
        return None if self.here == self.home or len(parts) > 2 else (*self.here[: 3 - len(parts)], *parts)
