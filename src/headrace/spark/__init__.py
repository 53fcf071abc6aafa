"""All contact with Spark: reading its plans, running ours, keeping rows."""
