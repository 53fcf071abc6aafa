"""Doing: when a run is due, what it is and what it tells."""
