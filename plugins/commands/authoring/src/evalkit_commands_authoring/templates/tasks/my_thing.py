"""The task `my-thing`."""

from __future__ import annotations

from typing import Literal

import evalkit
from pydantic import BaseModel

TOPICS = ("sports", "politics", "science")


class Headline(BaseModel):
    """An example.

    Attributes:
        uid: Its id.
        headline: The text.
    """

    uid: str
    headline: str


class Response(BaseModel):
    """What a model must answer.

    Attributes:
        id: The `uid` of the example.
        topic: The topic.
    """

    id: str
    topic: Literal["sports", "politics", "science"]


class MyThing(evalkit.TaskIO):
    """Which of three topics a headline has."""

    Input = Headline
    Output = Response
    labels = TOPICS
    answer_field = "topic"
    perf_metric = "macro-f1"
    eval_metrics = ("accuracy",)
    perturb_fields = ("headline",)
    example = {"uid": "1", "headline": "Probe lands on Mars"}
    prompts = {
        "default": {
            "instructions": "Which topic does a headline have? Answer with one word: "
            "sports, politics or science.",
            "query": "Headline: {headline}",
            "cue": "Topic:",
            "generate": {"max_tokens": 16},
        }
    }
