"""The kind of the plugins that reach places."""

from __future__ import annotations

from evalkit.places.access import STORAGE as NAME
from evalkit.places.access import Place, load_place
from evalkit.plugins.kinds import Kind

STORAGE = Kind(NAME, Place, word="store", load=load_place)
