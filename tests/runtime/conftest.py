"""A machine that is busy with something else fails no test: the laws here are not about how long they take to check."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
