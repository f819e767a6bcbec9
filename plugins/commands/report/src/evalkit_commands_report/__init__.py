"""Pages, pictures and notebook views of runs, and the commands `evalkit report` and `leaderboard`."""
