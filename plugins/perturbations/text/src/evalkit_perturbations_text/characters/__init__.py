"""Characters that look alike, or that cannot be seen."""
