"""What work costs, in seconds."""
