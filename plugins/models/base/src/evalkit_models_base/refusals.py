"""Refuses what a model cannot do, before anything is asked."""

from __future__ import annotations

from evalkit.errors import EvalkitError
from evalkit_models_base.bound import BoundModel
from evalkit_models_base.preparing import Wording
from evalkit_models_base.settings import Asked


def refuse_wording(model: BoundModel, wording: Wording) -> None:
    """Refuse what only a prompt can take."""
    if wording.is_said:
        raise EvalkitError(
            f"{model.component.id} answers inputs without a prompt: it takes neither a "
            "prompt nor shots, nor how to generate"
        )


def refuse_what_needs_tokens(model: BoundModel, asked: Asked) -> None:
    """Refuse limits that cannot be kept of a model that answers inputs."""
    for name in ("tokens_per_minute", "token_limit", "cost_limit"):
        if getattr(asked, name) is not None:
            raise EvalkitError(
                f"{model.component.id} answers inputs and says nothing of tokens, so "
                f"that --{name.replace('_', '-')} means nothing: leave it out, or ask "
                "it in a command of its own"
            )
