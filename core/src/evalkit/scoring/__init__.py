"""A table of answers and predictions to scores; reads and writes nothing."""
