"""Asks models, so that it can be repeated; public as `evalkit.asking`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalkit_commands_predict.estimating import plan_requests as plan_requests
    from evalkit_commands_predict.models import bind_model as bind_model
    from evalkit_commands_predict.models import identity_of as identity_of
    from evalkit_commands_predict.models import name_in_runs as name_in_runs
    from evalkit_commands_predict.predicting import Predicted as Predicted
    from evalkit_commands_predict.predicting import predict as predict
    from evalkit_commands_predict.prompts import Prompt as Prompt
    from evalkit_commands_predict.requests import ask as ask
    from evalkit_commands_predict.sessions import Replies as Replies
    from evalkit_commands_predict.sessions import Session as Session
    from evalkit_commands_predict.settings import Asked as Asked
    from evalkit_commands_predict.templates import fields_of as fields_of
    from evalkit_commands_predict.templates import fill as fill

_HOMES = {
    "Asked": "settings",
    "Predicted": "predicting",
    "Prompt": "prompts",
    "Replies": "sessions",
    "Session": "sessions",
    "ask": "requests",
    "bind_model": "models",
    "fields_of": "templates",
    "fill": "templates",
    "identity_of": "models",
    "name_in_runs": "models",
    "plan_requests": "estimating",
    "predict": "predicting",
}

__all__ = [
    "Asked",
    "Predicted",
    "Prompt",
    "Replies",
    "Session",
    "ask",
    "bind_model",
    "fields_of",
    "fill",
    "identity_of",
    "name_in_runs",
    "plan_requests",
    "predict",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
