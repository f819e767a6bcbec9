"""The kind of plugins that are adapters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.catalog import Kind
from evalkit_adapters_rows.bound import BoundAdapter
from evalkit_adapters_rows.hookspecs import AdapterAttributes, AdapterSpec


class _AdapterDefaults:
    """What an adapter need not say of itself."""

    needs = ()


def _adapter_problems(
    attributes: Mapping[str, Any], implemented: Sequence[str]
) -> list[str]:
    """Find hooks of rows and of texts in one adapter, of which one would be ignored."""
    of_texts = {"extract_text", "extract_texts", "choose_answer"} & {*implemented}
    if "adapt_row" in implemented and of_texts:
        return [f"adapt_row is for rows and {min(of_texts)} for texts: implement one"]
    return []


ADAPTERS = Kind(
    "adapters",
    AdapterSpec,
    AdapterAttributes,
    _AdapterDefaults,
    ways=(("adapt_row",), ("extract_text",), ("extract_texts",), ("choose_answer",)),
    bound=BoundAdapter,
    check=_adapter_problems,
)
