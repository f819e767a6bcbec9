"""The evalkit command line: the only place that prints."""

_hands_on_calls = True  # what fails is in a plugin
