"""Classical rewrites: the same Tvr, written in another way."""
