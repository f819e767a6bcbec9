"""Responses whose items are spans are scored by span metrics."""

from typing import Any

import pytest
from pydantic import BaseModel

from evalkit import AdapterError, TaskIO, evaluate
from evalkit_adapters_rows import Rows, pipeline

GATHER = [{"kind": "GatherResponses"}]


class Text(BaseModel):
    uid: str
    text: str


class Span(BaseModel):
    start: int
    end: int
    tag: str


class Spans(BaseModel):
    id: str
    spans: list[Span]


class Names(TaskIO):
    """Which parts of the text are names?"""

    Input = Text
    Output = Spans
    answer_kind = "spans"
    answer_field = "spans"
    perf_metric = "span-f1:label=tag"
    example = {"uid": "1", "text": "Ada"}


def span(start: int, end: int, **more: Any) -> dict[str, Any]:
    return {**more, "start": start, "end": end, "tag": "name"}


def test_spans_of_the_first_answer_are_scored() -> None:
    data = [
        {"uid": "0", "text": "Ada met Bo", "spans": [span(0, 3), span(8, 10)]},
        {"uid": "1", "text": "nobody", "spans": []},
        {"uid": "2", "text": "Cy", "spans": [span(0, 2)]},
    ]
    said = [
        span(0, 3, _response_index_=0),
        span(4, 7, _response_index_=0),
        span(8, 10, _response_index_=1),
    ]
    rows = [
        {"_index_": 0, "responses": said},
        {"_index_": 1, "responses": []},
        {"_index_": 2, "responses": [span(0, 2, _response_index_=0)]},
    ]
    source = Rows(adapters={"predictions": GATHER})
    found = evaluate(data, task=Names, predictions=rows, rows=source)
    scores = {score.metric: score.value for score in found.scores if score.tag is None}
    assert scores["span-f1:label=tag"] == pytest.approx(2 * 2 / (3 + 3))


def test_a_response_without_its_index_is_named() -> None:
    with pytest.raises(AdapterError, match="response 1 must be an object with '_resp"):
        list(pipeline(GATHER)([{"responses": [span(0, 1)]}]))
