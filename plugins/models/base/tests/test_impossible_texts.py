"""Texts to which a model gives the probability 0."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from model_servers import Cached

from evalkit_models_base import Continuation, Reply, Request, predict

NEVER = -math.inf
LABELS = ("positive", "negative", "neutral")


class Sure(Cached):
    """Knows the log-probability of each text, after a query and after the cue alone."""

    abilities = ("text", "continuations")

    def __init__(self, known: Mapping[str, float], alone: float = -1.0) -> None:
        self._known, self._alone = known, alone

    def describe(self) -> dict[str, Any]:
        return {"name": "sure", "known": str(self._known), "alone": str(self._alone)}

    def _of(self, request: Request, text: str) -> float:
        is_alone = request.prompt == "Sentiment:"
        return self._alone if is_alone else self._known.get(text.strip(), -1.0)

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        return [
            Reply(
                continuations=[
                    Continuation(logprob=self._of(request, text), tokens=1)
                    for text in request.continuations
                ]
            )
            for request in requests
        ]


def asked(model: Sure, method: str, **said: Any) -> Any:
    data = [{"uid": "1", "statement": "So good!", "label": "neutral"}]
    query = "{statement} {choice}" if method == "ranking" else "{statement}"
    prompt = {"method": method, "query": query, "cue": "Sentiment:", **said}
    return predict(data=data, task="sentiment", model=model, prompt=prompt)


@pytest.mark.parametrize("normalise", ["sum", "tokens", "characters"])
def test_an_impossible_option_is_the_last_one(normalise: str, tmp_path: Path) -> None:
    model = Sure({"positive": NEVER, "negative": -2.0})
    for _ in range(2):  # the second time from the cache
        found = asked(model, "separate", normalise=normalise)
        (row,) = found.rows
        assert [each["label"] for each in row["responses"]][-1] == "positive"
        assert [each.get("logprob") for each in row["responses"]] == [-1.0, -2.0, None]
        assert row["prob"]["positive"] == 0.0
        assert math.isclose(math.fsum(row["prob"].values()), 1.0)
        notice = "1 answer had options of probability 0, which have no logprob"
        assert notice in found.notices
    assert found.from_cache == 1
    assert "Infinity" not in found.save(tmp_path / "x.jsonl").read_text()


@pytest.mark.parametrize(
    ("model", "method", "reason"),
    [
        (Sure(dict.fromkeys(LABELS, NEVER)), "separate", ""),
        (Sure({"Yes": NEVER, "No": NEVER}), "ranking", ""),
        (Sure({"So good!": NEVER}), "language-modelling", ""),
        (Sure({}, alone=NEVER), "calibrated", "a text has the probability 0 where it"),
    ],
)
def test_what_says_nothing_is_an_error_of_its_row(
    model: Sure, method: str, reason: str
) -> None:
    found = asked(model, method)
    (error,) = found.errors
    assert error.startswith(reason or "all texts that were asked about have the prob")
    assert found.rows == [{"id": "1", "error": error}]


def test_what_is_no_probability_is_still_refused() -> None:
    for logprob in (math.nan, math.inf, 0.5):
        with pytest.raises(ValueError, match="logprob"):
            Continuation(logprob=logprob, tokens=1)
