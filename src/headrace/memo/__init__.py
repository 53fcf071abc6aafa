"""Equivalence: which relations are the same rows, and what is known about them."""
