"""Headrace's settings of a view: table properties named ``headrace.…``, which Spark passes over."""

from __future__ import annotations

from typing import Any

from headrace.errors import ConfigError
from headrace.pipelines.elements import Element

_PREFIX = "headrace."
_KNOWN = {"headrace.refresh_policy": "refresh_policy"}


def view_settings(element: Element) -> dict[str, Any]:
    """The arguments of ``Warehouse.view`` that an element's properties give."""
    found = {key: value for key, value in element.properties.items() if key.startswith(_PREFIX)}
    for key in found:
        if key not in _KNOWN:
            raise ConfigError(
                "SETTING_UNKNOWN",
                f'materialized view "{element.name}": there is no setting {key}',
                at=element.at,
                hint=f"there are: {', '.join(_KNOWN)}",
            )
    return {_KNOWN[key]: value for key, value in found.items()}
