"""Doing: what a run is and what it tells."""
