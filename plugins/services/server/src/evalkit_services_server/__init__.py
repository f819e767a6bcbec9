"""The evaluation server: datasets, models, rounds and leaderboards."""
