"""Compare runs: paired differences, tests and sample sizes."""
