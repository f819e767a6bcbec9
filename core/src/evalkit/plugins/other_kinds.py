"""Kinds whose distributions do not define them yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit import hookspecs
from evalkit.plugins.bound import BoundRecogniser
from evalkit.plugins.bound_adapters import BoundAdapter
from evalkit.plugins.bound_models import BoundModel
from evalkit.plugins.classes import Model
from evalkit.plugins.kinds import Kind


class _AdapterDefaults:
    """What an adapter need not say of itself."""

    needs = ()


def _model_problems(
    attributes: Mapping[str, Any], implemented: Sequence[str]
) -> list[str]:
    """Find attributes of a model that are out of their range, or say nothing."""
    numbers = ("concurrency", "batch_requests", "context_length")
    problems = [
        f"its {name} must be 1 or more, is {attributes[name]}"
        for name in numbers
        if attributes[name] is not None and attributes[name] < 1
    ]
    if "predict" not in implemented and not attributes["abilities"]:
        problems.append(
            "its abilities are empty: say what it can be asked, such as "
            "abilities = ('chat',)"
        )
    return problems


def _adapter_problems(
    attributes: Mapping[str, Any], implemented: Sequence[str]
) -> list[str]:
    """Find hooks of rows and of texts in one adapter, of which one would be ignored."""
    of_texts = {"extract_text", "extract_texts", "choose_answer"} & {*implemented}
    if "adapt_row" in implemented and of_texts:
        return [f"adapt_row is for rows and {min(of_texts)} for texts: implement one"]
    return []


MODELS = Kind(
    "models",
    hookspecs.ModelSpec,
    hookspecs.ModelAttributes,
    Model,
    ways=(("predict",), ("generate",), ("ask",)),
    has_one_way=True,
    awaited=("ask", "close"),
    bound=BoundModel,
    check=_model_problems,
)

ADAPTERS = Kind(
    "adapters",
    hookspecs.AdapterSpec,
    hookspecs.AdapterAttributes,
    _AdapterDefaults,
    ways=(("adapt_row",), ("extract_text",), ("extract_texts",), ("choose_answer",)),
    bound=BoundAdapter,
    check=_adapter_problems,
)

RECOGNISERS = Kind(
    "recognisers",
    hookspecs.RecogniserSpec,
    hookspecs.RecogniserAttributes,
    ways=(("find_entities",),),
    bound=BoundRecogniser,
)
