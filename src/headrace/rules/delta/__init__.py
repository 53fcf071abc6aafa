"""The delta of an operator from the deltas and snapshots of its inputs."""
