"""The kind of plugins that are engines."""

from __future__ import annotations

from evalkit.catalog import Kind
from evalkit_engines_dask.engine import Engine
from evalkit_engines_dask.tasks import EngineAttributes, EngineSpec

ENGINES = Kind(
    "engines",
    EngineSpec,
    EngineAttributes,
    Engine,
    ways=(("submit", "gather", "cancel"),),
)
