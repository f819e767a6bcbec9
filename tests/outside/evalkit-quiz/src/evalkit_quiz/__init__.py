"""Multiple choice for evalkit: a task, a data set and a metric of log-probabilities."""
