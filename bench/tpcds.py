"""TPC-DS for the benches: its data, of which sales, returns and stocks arrive in parts, and its queries.

The data comes from `tpcgen-cli`, the query texts from ibis's package data; neither is copied here. Every table but
those is whole from the beginning. What belongs to one purchase, its lines and what comes back of it, arrives together,
chosen by a hash of its number: by date, a query about one year would see nothing new.
"""

from __future__ import annotations

import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

import numpy as np
import pyarrow as pa
from cuts import Cut, Numbers, grown, hashed, once, split

# The tables that grow, by what arrives together.
ARRIVING = {
    "store_sales": ("ss_ticket_number",),
    "store_returns": ("sr_ticket_number",),
    "catalog_sales": ("cs_order_number",),
    "catalog_returns": ("cr_order_number",),
    "web_sales": ("ws_order_number",),
    "web_returns": ("wr_order_number",),
    "inventory": ("inv_date_sk", "inv_warehouse_sk"),
}
# A spread: joins of one and of several facts with dimensions, outer joins, semi joins, windows, ROLLUP, set operations.
SPREAD = (3, 7, 10, 19, 27, 35, 40, 42, 51, 55, 65, 69, 78, 80, 96, 98)


def queries() -> dict[str, str]:
    """All 99 queries by name, Q01 to Q99."""
    folder = resources.files("ibis.backends.tests") / "tpc" / "queries" / "duckdb" / "ds"
    texts = {f"Q{file.name[:-4]}": file.read_text().strip().rstrip(";") for file in folder.iterdir()}
    return dict(sorted(texts.items()))


def growing(folder: Path, scale: float, parts: Sequence[float], say: Callable[[str], None]) -> Cut:
    """The data at this scale, cut so that each delta brings its own part of what is there at first."""
    raw = folder / f"ds-sf{scale:g}" / "raw"
    if not raw.exists():
        say(f"generating TPC-DS at scale {scale:g}")
        once(raw, lambda unfinished: _generate(unfinished, scale))
    target = raw.parent / f"random-{'-'.join(f'{p:g}' for p in parts)}"
    if not target.exists():
        say(f"cutting off deltas of {', '.join(f'{p:.1%}' for p in parts)}")
        shares, tables = grown(parts), sorted(d.name for d in raw.iterdir())

        def numbered(rows: pa.Table, table: str) -> Numbers:
            if table not in ARRIVING:
                return np.zeros(rows.num_rows, dtype=np.intp)
            return np.searchsorted(shares, hashed(rows, ARRIVING[table]), side="right")

        once(target, lambda unfinished: split(raw, unfinished, len(parts), tables, numbered))
    return Cut(target, len(parts))


def _generate(folder: Path, scale: float) -> None:
    program = Path(sysconfig.get_path("scripts")) / "tpcgen-cli"
    options = [f"--scale-factor={scale:g}", f"--output-dir={folder}", "--quiet"]
    subprocess.run([str(program), "tpcds", "parquet", *options], check=True)
    for file in folder.glob("*.parquet"):  # one file for each table, beside each other
        (folder / file.stem).mkdir()
        file.rename(folder / file.stem / file.name)
