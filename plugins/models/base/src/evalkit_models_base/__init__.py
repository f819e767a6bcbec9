"""Ask models: the kind `models`, requests, replies, retries and the reply cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit_models_base.inputs import Answered as Answered
    from evalkit_models_base.inputs import ModelInputs as ModelInputs
    from evalkit_models_base.inputs import load_answered as load_answered
    from evalkit_models_base.inputs import load_inputs as load_inputs
    from evalkit_models_base.limits import Asked as Asked
    from evalkit_models_base.model import BoundModel as BoundModel
    from evalkit_models_base.model import Model as Model
    from evalkit_models_base.models import bind_model as bind_model
    from evalkit_models_base.models import identity_of as identity_of
    from evalkit_models_base.models import name_in_runs as name_in_runs
    from evalkit_models_base.models import without_keys as without_keys
    from evalkit_models_base.planning import plan_requests as plan_requests
    from evalkit_models_base.predicting import Predicted as Predicted
    from evalkit_models_base.predicting import predict as predict
    from evalkit_models_base.predicting import refuse_present as refuse_present
    from evalkit_models_base.prompts import Prompt as Prompt
    from evalkit_models_base.records import request_columns as request_columns
    from evalkit_models_base.requests import Completion as Completion
    from evalkit_models_base.requests import Continuation as Continuation
    from evalkit_models_base.requests import Message as Message
    from evalkit_models_base.requests import NotAnswered as NotAnswered
    from evalkit_models_base.requests import Reply as Reply
    from evalkit_models_base.requests import Request as Request
    from evalkit_models_base.requests import Sampling as Sampling
    from evalkit_models_base.requests import Token as Token
    from evalkit_models_base.requests import Usage as Usage
    from evalkit_models_base.requests import text_reply as text_reply
    from evalkit_models_base.sessions import Replies as Replies
    from evalkit_models_base.sessions import Session as Session
    from evalkit_models_base.sessions import ask as ask
    from evalkit_models_base.templates import fields_of as fields_of
    from evalkit_models_base.templates import fill as fill
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
