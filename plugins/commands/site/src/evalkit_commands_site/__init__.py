"""A static site of a folder of runs, for evalkit."""
