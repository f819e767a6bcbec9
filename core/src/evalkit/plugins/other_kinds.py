"""Kinds whose distributions do not define them yet."""

from __future__ import annotations

from evalkit import hookspecs
from evalkit.plugins.bound import BoundRecogniser
from evalkit.plugins.kinds import Kind

RECOGNISERS = Kind(
    "recognisers",
    hookspecs.RecogniserSpec,
    hookspecs.RecogniserAttributes,
    ways=(("find_entities",),),
    bound=BoundRecogniser,
)
