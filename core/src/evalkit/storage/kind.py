"""The kind of plugins that keep objects."""

from __future__ import annotations

from evalkit.plugins.kinds import Kind
from evalkit.storage.finding import STORAGE as NAME
from evalkit.storage.finding import load_store
from evalkit.storage.stores import Store

STORAGE = Kind(NAME, Store, word="store", load=load_store)
