"""Headrace's settings of a view: table properties named ``headrace.…``, which Spark passes over."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from headrace.errors import ConfigError
from headrace.pipelines.elements import Element
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
}


def view_settings(element: Element) -> dict[str, Any]:
    """The arguments of ``Warehouse.view`` that an element's properties give."""
    return {SETTINGS[key].argument: value for key, value in _settings(element, SETTINGS)}


def table_policy(element: Element) -> Policy | None:
    """When a service runs the flows of a streaming table."""
    return next((parse(value) for _, value in _settings(element, ("headrace.policy",))), None)


def _settings(element: Element, known: Collection[str]) -> list[tuple[str, str]]:
    found = [(key, value) for key, value in element.properties.items() if key.startswith(_PREFIX)]
    for key, _ in found:
        if key not in known:
            raise ConfigError(
                "SETTING_UNKNOWN",
                f'{element.kind} "{element.name}": there is no setting {key}',
                at=element.at,
                hint=f"there are: {', '.join(known)}",
            )
    return found
