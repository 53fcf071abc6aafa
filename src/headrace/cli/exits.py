"""The exit codes of every command, in one place."""

from __future__ import annotations

FINE = 0
ERROR = 1  # an error that Headrace explains, with a code of its own
USAGE = 2  # an option or argument that is not right
DIFFERENT = 3  # a check found a difference
SOME_FAILED = 4  # some views could not be refreshed
INTERRUPTED = 130  # Ctrl-C

MEANING = {
    FINE: "all is well",
    ERROR: "an error, which says what, where and what to do, with a stable code",
    USAGE: "wrong usage: an option or an argument",
    DIFFERENT: "check: the view is not what Spark answers",
    SOME_FAILED: "run: some views could not be refreshed; the others were",
    INTERRUPTED: "interrupted (Ctrl-C); the warehouse is whole",
}
