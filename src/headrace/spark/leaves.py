"""The leaves of a plan of Spark's, parsed or analysed, and the same plan over others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.spark.jvm import java_class


def leaves(jvm: Any, plan: Any) -> list[Any]:
    """All leaves, those in subqueries and WITH included."""
    return list(java_class(jvm, "Leaves").newInstance().of(plan))


def over(jvm: Any, plan: Any, others: Sequence[tuple[Any, Any]]) -> Any:
    """The plan with leaves replaced: each pair is a leaf of it and the plan to put there."""
    if not others:
        return plan
    old, new = jvm.java.util.ArrayList(), jvm.java.util.ArrayList()
    for leaf, other in others:
        old.add(leaf)
        new.add(other)
    return java_class(jvm, "Leaves").newInstance().over(plan, old, new)


def kind(leaf: Any) -> str:
    """The name of a leaf's class."""
    return str(leaf.getClass().getSimpleName())
