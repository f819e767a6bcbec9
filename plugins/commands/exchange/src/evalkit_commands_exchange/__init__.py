"""Import runs of other evaluation tools, and export runs to their formats."""
