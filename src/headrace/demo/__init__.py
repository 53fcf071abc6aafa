"""The sales and returns report of Tempura (Example 1), kept up to date while its data arrives in batches.

`data` lands the batches as files, `report` maintains the view and compares it with Spark's own answer.
Both use Headrace's public API only; `headrace demo` shows them in a terminal.
"""

from headrace.demo.data import Batch, land_batches
from headrace.demo.report import QUERY, Comparison, compare, open_report

__all__ = ["QUERY", "Batch", "Comparison", "compare", "land_batches", "open_report"]
