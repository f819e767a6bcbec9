"""Two or more runs of the same data against each other."""
