"""Why a view is computed from scratch: a stable code, and words."""

from __future__ import annotations

from dataclasses import dataclass

CODES = {
    "FIRST_RUN": "there is no result yet",
    "REQUESTED": "refresh(full=True) was asked for",
    "TIMELINE_BEGINS": "the timeline begins again",
    "POLICY_FULL": "the refresh policy is FULL",
    "DEFINITION_CHANGED": "the definition of the view has changed",
    "REPLANNED": "what is kept has changed, for other data came than was expected",
    "CLOCK": "the query reads the clock, and its value has changed",
    "SETTINGS_CHANGED": "a setting that changes what the query means has changed",
    "SOURCE_CHANGED": "a source is of another kind than before",
    "HISTORY_CUT": "the changes of a source can no longer be read",
    "STATE_LOST": "files of a state are gone",
    "RESULT_LOST": "files of the result are gone",
    "RESULT_CHANGED": "somebody else changed the view's table",
    "CHEAPER": "computing it anew takes less time than working the changes in",
    "RUN_FAILED": "the incremental run failed in Spark",
}


@dataclass(frozen=True)
class Reason:
    """A code of ``CODES``, and what is particular to this case."""

    code: str
    detail: str = ""

    def __str__(self) -> str:
        return CODES[self.code] + (f": {self.detail}" if self.detail else "")
