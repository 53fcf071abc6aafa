"""The net of a warehouse: which views there are, what each reads, and when each is due.

Views are the transitions, DataCell's factories; what they read are the places, its baskets: sources, and other views.
A net that cannot work cannot be built: views that read each other in a circle, a policy about an input that its view
does not read, a policy that nothing can ever make due.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from headrace.errors import ConfigError
from headrace.runtime.moment import Moment
from headrace.runtime.policy import Policy


@dataclass(frozen=True)
class Factory:
    """One view as the scheduler sees it: the names of what it reads, and its policy."""

    inputs: frozenset[str]
    policy: Policy

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", frozenset(self.inputs))


@dataclass(frozen=True)
class Net:
    """Factories by name. ``order`` has each view after those it reads; ``upstream`` are all views below each, by way
    of others too; ``sources`` is what is read and is no view."""

    factories: Mapping[str, Factory]
    order: tuple[str, ...] = field(init=False)
    upstream: Mapping[str, frozenset[str]] = field(init=False)
    sources: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        below = {name: f.inputs & self.factories.keys() for name, f in self.factories.items()}
        upstream: dict[str, frozenset[str]] = {}
        for name in _ordered(below):
            upstream[name] = below[name].union(*(upstream[b] for b in below[name]))
        read: frozenset[str] = frozenset().union(*(f.inputs for f in self.factories.values()))
        object.__setattr__(self, "order", tuple(upstream))
        object.__setattr__(self, "upstream", upstream)
        object.__setattr__(self, "sources", read - self.factories.keys())
        for name, factory in self.factories.items():
            _check(name, factory, below[name])

    def readers(self, place: str) -> tuple[str, ...]:
        return tuple(name for name, f in self.factories.items() if place in f.inputs)


def _ordered(below: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    try:
        return tuple(TopologicalSorter({n: sorted(b) for n, b in below.items()}).static_order())
    except CycleError as problem:
        raise ConfigError(
            "CYCLE",
            "views read each other in a circle: " + " → ".join(problem.args[1]),
            hint="define one of them over something else",
        ) from None


def _check(name: str, factory: Factory, views: frozenset[str]) -> None:
    unknown = factory.policy.inputs - factory.inputs
    if unknown:
        raise ConfigError(
            "POLICY_INPUT",
            f'view "{name}" does not read {", ".join(sorted(unknown))}, which its policy names: {factory.policy}',
            hint=f"it reads {', '.join(sorted(factory.inputs)) or 'nothing'}",
        )
    plenty = dict.fromkeys(factory.inputs, 1 << 62)
    best = Moment(0.0, unread=plenty, changed=factory.inputs, published=views, asked=True)
    if not factory.policy.due(best):
        raise ConfigError(
            "POLICY_NEVER",
            f'view "{name}" would never be due: {factory.policy}',
            hint=f"it reads {', '.join(sorted(factory.inputs)) or 'nothing'}; views among them: "
            f"{', '.join(sorted(views)) or 'none'}",
        )
