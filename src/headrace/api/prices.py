"""Where calibrated prices are: beside the views of a warehouse, or in the user's own folder for all of them."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from headrace.cost.prices import Prices
from headrace.errors import ConfigError

_NAME = "prices.json"


def own_folder() -> Path:
    """The user's folder for settings of Headrace."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "headrace"


def known_prices(warehouse: Path, cores: int) -> Prices:
    """The warehouse's prices, else the user's, else those that are shipped, for as many cores as there are."""
    for file in (warehouse / _NAME, own_folder() / _NAME):
        if file.exists():
            try:
                return Prices.of(json.loads(file.read_text())["prices"])
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
                raise ConfigError(
                    "BAD_PRICES",
                    f"the prices in {file} cannot be read: {problem}",
                    hint="remove the file, and run `headrace calibrate` for a new one",
                ) from problem
    return replace(Prices(), cores=float(max(cores, 1)))


def store_prices(folder: Path, prices: Prices) -> Path:
    """Put prices where later runs find them."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / _NAME
    unfinished = file.with_suffix(".unfinished")
    unfinished.write_text(json.dumps({"prices": prices.record()}, indent=2) + "\n")
    unfinished.replace(file)
    return file
