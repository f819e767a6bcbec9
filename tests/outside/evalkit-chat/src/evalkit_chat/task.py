"""A conversation that a model goes on with."""

from typing import Literal

from pydantic import BaseModel

import evalkit


class Message(BaseModel):
    role: Literal["system", "user", "assistant"]
    content: str


class Conversation(BaseModel):
    uid: str
    messages: list[Message]


class Reply(BaseModel):
    id: str
    reply: str


class Chat(evalkit.TaskIO):
    """What does a model say next? There is no right answer."""

    Input = Conversation
    Output = Reply
    answer_field = "reply"
    answer_kind = "none"
    perf_metric = "refusal-rate"
    eval_metrics = ("reply-words",)
    perturb_fields = ("messages[].content",)
    example = {"uid": "1", "messages": [{"role": "user", "content": "Hello!"}]}
