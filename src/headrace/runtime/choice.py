"""Working changes in, or computing everything anew: which is expected to take less time, and surely so.

What was never tried is judged by prices alone: those of both ways are wrong in the same way, and what is priced as
clearly dearer is not even tried. Where runs have shown how long each takes, that decides, but for a little that is
chance. Changes that are far more than runs have seen are left where either says so, and those that are far fewer only
where both do.
"""

from __future__ import annotations

from headrace.cost.correction import Correction

FULL = "full"
SCANNED = "scanned"
LEAST = 0.1  # seconds that must be won: less is not noticed
_AGAIN = 0.5  # how often what is lost is made again: where small changes come next
_DEARER = 1.35  # times the other price: of 22 first refreshes of TPC-H all that were priced so were slower
_SURE = 1.1  # the same of a kind that runs have shown, where changes are far more


def incremental(looked_up: int) -> str:
    """The kind of incremental runs that look rows up in so many large tables, and scan the others."""
    return f"looked up in {looked_up}" if looked_up else SCANNED


def better_anew(known: Correction, kind: str, changes: float, anew: float, lost: float = 0.0) -> str | None:
    """Why to compute everything anew, at a price, instead of an incremental run of a kind at its price; None where that
    is not known to be better. ``lost`` is what it would cost to have in memory again what is there now."""
    again = _AGAIN * lost
    by_runs = known.at_least(kind, changes) > known.at_most(FULL, anew + again) + LEAST
    dearer = _SURE if known.compared(kind, changes) > 0 else _DEARER
    by_price = changes > max(dearer * anew, anew + again + LEAST)
    if not known.tried(kind):
        worse = by_price
    else:
        judged = {-1: by_runs and by_price, 0: by_runs, 1: by_runs or by_price}
        worse = judged[known.compared(kind, changes)]
    if not worse:
        return None
    shown = kind if by_runs and known.tried(kind) else FULL
    by = "earlier runs" if shown == kind and known.tried(FULL) else "its price"
    return f"about {known.expected(FULL, anew):.1f} s, by {by}, against {known.expected(shown, changes):.1f} s"


def words(kind: str) -> str:
    """A kind of runs in words."""
    if kind == FULL:
        return "from scratch"
    return f"changes worked in, {'tables scanned' if kind == SCANNED else f'rows {kind} large tables'}"
