"""Dask: a cluster of this machine, or one that runs somewhere else."""

from __future__ import annotations

from evalkit_engines_dask.engine import Engine


class Dask(Engine):
    """Runs parts on Dask workers."""
