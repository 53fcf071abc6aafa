"""Policies as settings have them: ``every 10 min | after_rows 100000``, and ``parse(str(policy)) == policy``.

    policy  =  all | all | …          all  =  one & one & …          one  =  ( policy )  or
    on_demand
    every 10 min
    cron */5 * * * *                  cron 0 6 * * MON-FRI in Europe/Berlin
    after_rows 1000                   after_rows 1000 of sales
    on_change
    deadline 08:00                    deadline 08:00 in Europe/Berlin margin 10 min
    downstream_of                     downstream_of daily, "the other view"

A name that is no plain word stands in double quotes, which are doubled inside. Nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from operator import and_, or_

from headrace.errors import ConfigError
from headrace.runtime.by_clock import MARGIN, cron, deadline, every
from headrace.runtime.by_event import after_rows, downstream_of, on_change, on_demand
from headrace.runtime.policy import Policy

_NAME = r'(?:"(?:[^"]|"")*"|[^\W\d]\w*)'
_TOKEN = re.compile(r'[|&()]|(?:"(?:[^"]|"")*"|[^|&()"])+')
_FORMS: dict[str, tuple[str, Callable[[re.Match[str]], Policy]]] = {
    "on_demand": ("", lambda _: on_demand()),
    "every": (r"(.+)", lambda m: every(m[1])),
    "cron": (r"(.+?)(?:\s+in\s+(\S+))?", lambda m: cron(m[1], zone=m[2] or "UTC")),
    "after_rows": (
        rf"(\d[\d_]*)(?:\s+of\s+({_NAME}))?",
        lambda m: after_rows(int(m[1].replace("_", "")), m[2] and _unquoted(m[2])),
    ),
    "on_change": ("", lambda _: on_change()),
    "deadline": (
        r"(\S+)(?:\s+in\s+(\S+))?(?:\s+margin\s+(.+))?",
        lambda m: deadline(m[1], zone=m[2] or "UTC", margin=m[3] or MARGIN),
    ),
    "downstream_of": (
        rf"(?:{_NAME}(?:\s*,\s*{_NAME})*)?",
        lambda m: downstream_of(*(_unquoted(n) for n in re.findall(_NAME, m[0]))),
    ),
}


def parse(text: str) -> Policy:
    """The policy that a text describes."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.rest = [t.strip() for t in _TOKEN.findall(text) if t.strip()]
        if "".join("".join(self.rest).split()) != "".join(text.split()):  # the tokeniser left something out
            raise self._refused("a quotation mark has no partner")

    def read(self) -> Policy:
        found = self._either()
        if self.rest:
            raise self._refused(f"{self.rest[0]!r} does not belong there")
        return found

    def _either(self) -> Policy:
        return reduce(or_, self._chain("|", self._both))

    def _both(self) -> Policy:
        return reduce(and_, self._chain("&", self._one))

    def _chain(self, sign: str, part: Callable[[], Policy]) -> list[Policy]:
        found = [part()]
        while self.rest and self.rest[0] == sign:
            self.rest.pop(0)
            found.append(part())
        return found

    def _one(self) -> Policy:
        token = self.rest.pop(0) if self.rest else ""
        if token == "(":
            found = self._either()
            if not self.rest or self.rest.pop(0) != ")":
                raise self._refused("a parenthesis is not closed")
            return found
        word, given = (*token.split(None, 1), "", "")[:2]
        if word.lower() not in _FORMS:
            raise self._refused(f"there is no policy {word!r}" if word else "a policy is missing")
        form, build = _FORMS[word.lower()]
        match = re.fullmatch(form, given, re.ASCII)
        if match is None:
            raise self._refused(f"{word} does not go with {given!r}")
        return build(match)

    def _refused(self, problem: str) -> ConfigError:
        return ConfigError(
            "POLICY",
            f"{self.text!r} is no policy: {problem}",
            hint='write such as "every 10 min | after_rows 100000", of ' + ", ".join(_FORMS),
        )


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
