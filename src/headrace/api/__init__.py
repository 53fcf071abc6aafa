"""What people touch: a warehouse, its sources and its views."""

from headrace.api.view import View
from headrace.api.warehouse import Warehouse

__all__ = ["View", "Warehouse"]
