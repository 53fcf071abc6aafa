"""Frames: logical plans with known attributes and, where rows can leave, a weight column.

A frame without a weight column holds each row once for every time it occurs. ``unit`` says that every
weight is +1 or −1, ``consolidated`` that no two rows are equal.
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
        """The same columns and facts over another plan."""
        return replace(self, plan=plan)

    def select(self, attrs: tuple[Attr, ...]) -> Frame:
        """Just these columns, in this order."""
        chosen = replace(self, attrs=attrs, consolidated=self.consolidated and set(attrs) == set(self.attrs))
        return replace(chosen, plan=self.catalyst.project(chosen.columns, self.plan))

    def weighed(self, weight: str) -> Frame:
        """The same rows with a weight computed by SQL."""
        c, made = self.catalyst, self.catalyst.weight()
        columns = [*(c.attr(a) for a in self.attrs), c.named(made, weight)]
        return replace(self, plan=c.project(columns, self.plan), weight=made)

    def with_weight(self) -> Frame:
        return self.weighed("1L") if self.weight is None else self

    def negated(self) -> Frame:
        return self.weighed(f"-{self.w}" if self.weight is not None else "-1L")

    def consolidate(self) -> Frame:
        """Each row once with the sum of its weights, zeros gone."""
        if self.consolidated:
            return self
        c, made = self.catalyst, self.catalyst.weight()
        keys = [c.attr(a) for a in self.attrs]
        summed = c.aggregate(keys, [*keys, c.named(made, f"coalesce(sum({self.w}), 0L)")], self.plan)
        plan = c.filter(f"{name_of(made)} <> 0", summed)
        return replace(self, plan=plan, weight=made, unit=False, consolidated=True)

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
        c, many = self.catalyst, self.catalyst.weight()
        signed = self.weighed(f"cast(sign({self.w}) as bigint)")
        columns = [*(c.attr(a) for a in self.attrs), c.attr(self.weight)]
        counted = c.project([*columns, c.named(many, f"abs({self.w})")], self.plan)
        sign = c.named(signed.weight, f"cast(sign({self.w}) as bigint)")  # type: ignore[arg-type]
        plan = c.project([*columns[:-1], sign, c.attr(many)], counted)
        return replace(signed, plan=plan)._replicated(c.attr(many), keep_weight=True)

    def _replicated(self, count: Any, *, keep_weight: bool) -> Frame:
        """Each row as often as ``count`` says; ``count`` is the last column below."""
        c = self.catalyst
        weight = self.weight if keep_weight else None
        kept = self.attrs if weight is None else (*self.attrs, weight)
        made = [c.twin(a, "copy") for a in kept]
        generator = c.replicate(count, [c.attr(a) for a in kept])
        plan = c.generate(generator, list(range(len(kept) + 1)), [c.attr(m) for m in made], self.plan)
        plan = c.project([c.named(a, c.attr(m)) for a, m in zip(kept, made, strict=True)], plan)
        return replace(self, plan=plan, weight=weight, unit=True, consolidated=False)
