"""Rules inside one Tvr: between its snapshots and its delta."""
