"""The kind of plugins that are models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.catalog import Kind
from evalkit_models_base.hookspecs import ModelAttributes, ModelSpec
from evalkit_models_base.model import WAYS, BoundModel, Model


def _model_problems(
    attributes: Mapping[str, Any], implemented: Sequence[str]
) -> list[str]:
    problems = [
        f"its {name} must be 1 or more, is {attributes[name]}"
        for name in ("concurrency", "batch_requests", "context_length")
        if attributes[name] is not None and attributes[name] < 1
    ]
    if "predict" not in implemented and not attributes["abilities"]:
        problems.append(
            "its abilities are empty: say what it can be asked, such as "
            "abilities = ('chat',)"
        )
    return problems


MODELS = Kind(
    "models",
    ModelSpec,
    ModelAttributes,
    Model,
    ways=tuple((way,) for way in WAYS),
    has_one_way=True,
    awaited=("ask", "close"),
    bound=BoundModel,
    check=_model_problems,
)
