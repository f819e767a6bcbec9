"""Pages, pictures and notebook views of runs, and the commands that show them."""
