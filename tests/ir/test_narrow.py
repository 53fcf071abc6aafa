"""Sources have only the columns that a query uses, whatever passes them on in between."""

from __future__ import annotations

from rules import examples as e

from headrace.ir.expr import Column, ref
from headrace.ir.narrow import narrow
from headrace.ir.rel import Aggregate, Filter, Join, Node, Project, Source, prune
from headrace.ir.walk import nodes


def columns(query: Node) -> dict[str, tuple[str, ...]]:
    return {n.name: n.fields for n in nodes(narrow(query)) if isinstance(n, Source)}


def test_a_projection_uses_what_is_used_of_it() -> None:
    """The filter looks at y, which goes through two projections; of x nobody asks."""
    passed = prune(Filter(prune(e.PAIR, (e.K, e.X, e.Y)), (e.expr("y > 0", "y", lambda r: r["y"]),)), (e.K, e.X))
    assert columns(prune(passed, (e.K,))) == {"s": ("k",), "t": ("j", "y")}
    assert columns(passed) == {"s": ("k", "x"), "t": ("j", "y")}


def test_a_name_that_is_passed_on_under_another_is_used() -> None:
    renamed = Project(Project(e.S, (Column(e.U, ref(e.K)), Column(e.V, ref(e.X)))), (Column(e.Z, ref(e.V)),))
    assert columns(renamed) == {"s": ("x",)}


def test_what_is_counted_has_a_column_left() -> None:
    counted = Aggregate(prune(e.S, (e.K, e.X)), (), (e.call("count", None),))
    (source,) = [n for n in nodes(narrow(counted)) if isinstance(n, Source)]
    assert len(source.fields) == 1


def test_an_input_of_two_operators_has_what_either_uses() -> None:
    shared = prune(e.S, (e.K, e.X))
    other = Project(shared, (Column(e.U, ref(e.X)),))
    assert columns(prune(Join((prune(shared, (e.K,)), other), (), ()), (e.K, e.U))) == {"s": ("k", "x")}
