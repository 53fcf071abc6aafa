"""Headrace's settings of a view: table properties named ``headrace.…``, which Spark passes over."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import ConfigError
from headrace.pipelines.elements import Element
from headrace.runtime.goal import least_latency
from headrace.runtime.policy import Policy
from headrace.runtime.policy_text import parse

_PREFIX = "headrace."


@dataclass(frozen=True)
class Setting:
    """``argument`` is the one of ``Warehouse.view`` that it gives."""

    argument: str
    meaning: str
    example: str


SETTINGS = {
    "headrace.policy": Setting(
        "policy",
        "when `headrace run --watch` refreshes it; without it a view is due when anything it reads has changed, and a"
        " streaming table every 10 seconds",
        "every 10 min | after_rows 100000",
    ),
    "headrace.refresh_policy": Setting(
        "refresh_policy",
        "how it is refreshed: AUTO, INCREMENTAL (refused where it never can be), INCREMENTAL STRICT (fails instead of"
        " computing from scratch) or FULL",
        "INCREMENTAL STRICT",
    ),
    "headrace.goal": Setting(
        "goal",
        "what it is refreshed for: the shortest refreshes, with at most so much memory for rows that are looked up, or"
        " with `least_cost` the least work (`least_cost(methods=IM-1+HOV)`: by these methods alone)",
        "least_latency(memory=2g)",
    ),
    "headrace.memory": Setting("memory", "the memory of that goal alone; not beside a goal", "2g"),
    "headrace.timeline": Setting(
        "timeline",
        "runs that work ahead, each a time and what a second of it costs beside the others, for a result that is due"
        " after the last",
        "14:00 x0.25, 19:00 x0.3, 24:00",
    ),
}

PROJECT_SETTINGS = {
    "headrace.memory": Setting(
        "memory",
        "what all views together may take in memory to look rows up between refreshes; 0 for none",
        "2g",
    ),
    "headrace.retain": Setting("retain", "how many versions of each view's table stay readable", "10"),
}


def project_settings(configuration: Mapping[str, str], at: str) -> dict[str, Any]:
    """The arguments of ``Warehouse`` that the configuration of a spec gives."""
    found: dict[str, Any] = {}
    for key, value in configuration.items():
        if key not in PROJECT_SETTINGS:
            if key.startswith(_PREFIX):
                raise _unknown("the spec", key, at, PROJECT_SETTINGS)
            continue
        if key == "headrace.retain" and not (value.isdigit() and int(value) > 0):
            raise ConfigError("RETAIN", f"{value!r} is no number of versions", at=at, hint="give 1 or more")
        found[PROJECT_SETTINGS[key].argument] = int(value) if key == "headrace.retain" else value
    return found


def view_settings(element: Element) -> dict[str, Any]:
    """The arguments of ``Warehouse.view`` that an element's properties give."""
    found: dict[str, Any] = {SETTINGS[key].argument: value for key, value in _settings(element, SETTINGS)}
    if "memory" in found:
        if "goal" in found:
            raise ConfigError(
                "GOAL",
                f'{element.kind} "{element.name}" has a goal and an amount of memory beside it',
                at=element.at,
                hint="write it into the goal: least_latency(memory=2g)",
            )
        found["goal"] = least_latency(memory=found.pop("memory"))
    return found


def table_policy(element: Element) -> Policy | None:
    """When a service runs the flows of a streaming table."""
    return next((parse(value) for _, value in _settings(element, ("headrace.policy",))), None)


def _settings(element: Element, known: Collection[str]) -> list[tuple[str, str]]:
    found = [(key, value) for key, value in element.properties.items() if key.startswith(_PREFIX)]
    for key, _ in found:
        if key not in known:
            raise _unknown(f'{element.kind} "{element.name}"', key, element.at, known)
    return found


def _unknown(what: str, key: str, at: str, known: Collection[str]) -> ConfigError:
    return ConfigError(
        "SETTING_UNKNOWN",
        f"{what}: there is no setting {key}",
        at=at,
        hint=f"there are: {', '.join(known)}",
    )
