"""How much data there is: rows, changes and values of relations."""
