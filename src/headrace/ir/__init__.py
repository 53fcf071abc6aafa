"""What things are: expressions, relations, time, plans. Plain immutable data, no Spark."""
