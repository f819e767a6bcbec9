"""How it is told that a component, or a law, could not be checked."""

MARK = "not checked: "
"""What the reason of a test begins with of which nothing could be checked."""

PROPERTY = "evalkit-not-tried"
"""The property of a test that says of which law it had not what that needs."""
