"""Pages, pictures and notebook views of runs, and the command `evalkit report`."""
