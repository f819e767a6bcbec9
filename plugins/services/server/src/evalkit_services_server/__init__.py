"""The evaluation server: data sets, models, rounds and boards of tasks."""
