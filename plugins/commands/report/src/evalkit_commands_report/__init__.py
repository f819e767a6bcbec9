"""Pages, pictures and tables of runs: `evalkit report` and `evalkit leaderboard`."""
