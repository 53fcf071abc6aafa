"""Frames: logical plans with known attributes and, where rows can leave, a weight column.

A frame without a weight column holds each row once for every time it occurs. ``unit`` says that every
weight is +1 or −1, ``consolidated`` that no two rows are equal, ``exact`` that the plan's columns are
just ``columns``, in that order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from headrace.ir.expr import Attr
from headrace.spark.catalyst import Catalyst, name_of


@dataclass(frozen=True)
class Frame:
    catalyst: Catalyst
    plan: Any
    attrs: tuple[Attr, ...]
    weight: Attr | None = None
    unit: bool = True
    consolidated: bool = False
    exact: bool = False

    @property
    def w(self) -> str:
        """The weight as SQL."""
        return name_of(self.weight) if self.weight is not None else "1L"

    @property
    def columns(self) -> list[Any]:
        """The attributes, and the weight last where there is one."""
        found = [self.catalyst.attr(a) for a in self.attrs]
        return found if self.weight is None else [*found, self.catalyst.attr(self.weight)]

    def over(self, plan: Any) -> Frame:
        """The same columns and facts over another plan with the same output."""
        return replace(self, plan=plan)

    def select(self, attrs: tuple[Attr, ...]) -> Frame:
        """Just these columns, in this order."""
        if self.exact and attrs == self.attrs:
            return self
        chosen = replace(self, attrs=attrs, consolidated=self.consolidated and set(attrs) == set(self.attrs))
        return replace(chosen, plan=self.catalyst.project(chosen.columns, self.plan), exact=True)

    def weighed(self, weight: Any, made: Attr | None = None) -> Frame:
        """The same rows with a weight computed by an expression, under a new name or that of ``made``."""
        c, made = self.catalyst, made or self.catalyst.weight()
        columns = [*(c.attr(a) for a in self.attrs), c.named(made, weight)]
        return replace(self, plan=c.project(columns, self.plan), weight=made, exact=True)

    def with_weight(self) -> Frame:
        return self.weighed(self.catalyst.one) if self.weight is None else self

    def negated(self) -> Frame:
        return self.weighed(self.catalyst.minus(self.weight))

    def consolidate(self) -> Frame:
        """Each row once with the sum of its weights, zeros gone."""
        if self.consolidated:
            return self
        c, made = self.catalyst, self.catalyst.weight()
        keys = [c.attr(a) for a in self.attrs]
        summed = c.aggregate(keys, [*keys, c.named(made, c.total(self.weight))], self.plan)
        plan = c.filter(c.not_zero(made), summed)
        return replace(self, plan=plan, weight=made, unit=False, consolidated=True, exact=True)

    def rows(self) -> Frame:
        """The bag as plain rows, each as often as its weight says. A snapshot has no negative weight."""
        if self.weight is None:
            return self
        c, frame = self.catalyst, self.consolidate()
        check = f"{frame.w} > 0 OR isnotnull(raise_error('Headrace: a snapshot has a row of negative weight'))"
        checked = frame.over(c.filter(check, frame.plan))
        return checked._replicated(c.attr(checked.weight), keep_weight=False)  # type: ignore[arg-type]

    def units(self) -> Frame:
        """The same bag with weights of +1 and −1 only."""
        if self.weight is None or self.unit:
            return self
        c = self.catalyst
        many, sign = c.weight(), c.weight()
        kept = [c.attr(a) for a in self.attrs]
        size = c.named(many, f"abs({self.w})")
        plan = c.project([*kept, c.named(sign, f"cast(sign({self.w}) as bigint)"), size], self.plan)
        return replace(self, plan=plan, weight=sign)._replicated(c.attr(many), keep_weight=True)

    def _replicated(self, count: Any, *, keep_weight: bool) -> Frame:
        """Each row as often as ``count`` says; ``count`` is the last column below."""
        c = self.catalyst
        weight = self.weight if keep_weight else None
        kept = self.attrs if weight is None else (*self.attrs, weight)
        made = [c.twin(a, "copy") for a in kept]
        generator = c.replicate(count, [c.attr(a) for a in kept])
        plan = c.generate(generator, list(range(len(kept) + 1)), [c.attr(m) for m in made], self.plan)
        plan = c.project([c.named(a, c.attr(m)) for a, m in zip(kept, made, strict=True)], plan)
        return replace(self, plan=plan, weight=weight, unit=True, consolidated=False, exact=True)
