"""How it is told that a component could not be checked."""

MARK = "not checked: "
"""What the reason of such a test begins with."""
