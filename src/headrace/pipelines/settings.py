"""Headrace's settings of a view: table properties named ``headrace.…``, which Spark passes over."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from headrace.errors import ConfigError
from headrace.pipelines.elements import Element
from headrace.runtime.policy import Policy
from headrace.runtime.policy_text import parse

_PREFIX = "headrace."
_KNOWN = {"headrace.policy": "policy", "headrace.refresh_policy": "refresh_policy"}


def view_settings(element: Element) -> dict[str, Any]:
    """The arguments of ``Warehouse.view`` that an element's properties give."""
    return {_KNOWN[key]: value for key, value in _settings(element, _KNOWN)}


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
