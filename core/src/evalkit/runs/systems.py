"""What a run records of what made its predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.runs.fields import Part, Sha256, Text


class System(Part):
    """What made predictions, and how it was asked."""

    sha256: Sha256
    """Of the rest, but for the names of the prompt and of the file of its shots."""
    model: Mapping[Text, Any]
    """The model: its id, parameters and version, and what it says of itself."""
    prompt: Mapping[Text, Any] | None = None
    """How it was asked; null where it answers inputs as they are."""
    extract: Text | tuple[Any, ...] | None = None
    """What was meant to take the answer out of a reply; see `extraction` for what
    did."""
