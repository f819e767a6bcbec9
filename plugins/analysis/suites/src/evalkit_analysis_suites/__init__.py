"""Suites of datasets: trees of means, ranks and ratings of models, for evalkit."""
