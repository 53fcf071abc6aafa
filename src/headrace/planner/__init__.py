"""Choosing: from a query's operators to the steps of a run."""
