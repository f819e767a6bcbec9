"""The two pluggy markers of the project `evalkit`."""

import pluggy

hookspec = pluggy.HookspecMarker("evalkit")
"""Marks a method of a spec class in `evalkit.hookspecs`."""

hookimpl = pluggy.HookimplMarker("evalkit")
"""Marks a method of a plugin; needed only to give options, as names suffice."""
