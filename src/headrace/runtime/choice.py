"""Working changes in, or computing everything anew: which is expected to take less time, and surely so.

What was never tried is tried, unless its price is hopeless: nothing is known of it but its price. A run that scans does
the kind of work that computing anew does, so that both prices are wrong in the same way: what is priced as dearer is
not even tried. Where runs have shown how long each takes, a smaller difference decides; one that may be chance decides
nothing.
"""

from __future__ import annotations

from headrace.cost.correction import Correction

FULL = "full"
SCANNED = "scanned"
LEAST = 1.0  # seconds that must be won: less is not noticed


def incremental(looked_up: int) -> str:
    """The kind of incremental runs that look rows up in so many large tables, and scan the others."""
    return f"looked up in {looked_up}" if looked_up else SCANNED


def better_anew(known: Correction, kind: str, changes: float, anew: float) -> str | None:
    """Why to compute everything anew, at a price, instead of an incremental run of a kind at its price; None where that
    is not known to be better."""
    if known.at_least(kind, changes, like=FULL if kind == SCANNED else None) <= known.at_most(FULL, anew) + LEAST:
        return None
    by = "earlier runs" if known.tried(kind) and known.tried(FULL) else "its price"
    return f"about {known.expected(FULL, anew):.1f} s, by {by}, against {known.expected(kind, changes):.1f} s"


def words(kind: str) -> str:
    """A kind of runs in words."""
    if kind == FULL:
        return "from scratch"
    return f"changes worked in, {'tables scanned' if kind == SCANNED else f'rows {kind} large tables'}"
