"""`prob` of alternatives that have a `logprob`, through a whole run."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

import evalkit
from evalkit.errors import AlignmentError
from evalkit.predictions.alternative_probabilities import (
    AlternativeProbabilities,
    Made,
    made_notices,
    merged_made_notices,
)
from evalkit.predictions.alternatives import read_alternatives

LABELS = ("negative", "neutral", "positive")


class One(evalkit.Dataset):
    """One review."""

    name, task = "one-review", "sentiment"

    def load(self, split: str) -> list[dict[str, Any]]:
        """Return it."""
        return [{"uid": "1", "statement": "Good.", "label": "positive"}]


def response(*pairs: tuple[str, Any], **others: Any) -> dict[str, Any]:
    """Return a response of alternatives."""
    ranked = [{"label": label, "logprob": value} for label, value in pairs]
    return {"id": "1", "responses": ranked, **others}


def evaluated(said: Any, **options: Any) -> evalkit.EvaluationResult:
    """Score it."""
    return evalkit.evaluate(One, said, metrics=["brier", "log-loss"], **options)


def prob_of(said: dict[str, Any]) -> dict[str, float] | None:
    """Return the probabilities that are scored."""
    result = evaluated([said])
    assert result.examples is not None
    return result.examples["prob"][0] if "prob" in result.examples.columns else None


logprobs = st.one_of(
    st.floats(-1e4, 0), st.just(-math.inf), st.integers(-(10**400), 0), st.just(-0.0)
)


@given(st.lists(st.tuples(st.sampled_from(LABELS), logprobs), min_size=1, max_size=8))
def test_it_is_a_softmax_of_sums_over_the_labels(pairs: list[tuple[str, Any]]) -> None:
    known = [(label, float(max(value, -1e300))) for label, value in pairs]
    known = [(label, value if value > -1e300 else -math.inf) for label, value in known]
    ranked = read_alternatives(response(*pairs))
    assert ranked is not None
    outcome = (None, {"responses": [label for label, _ in pairs]}, ())
    made = AlternativeProbabilities(["prob"], LABELS)
    _, fields, violations = made.added(ranked, outcome)
    whole = logsumexp([value for _, value in known])
    if whole == -math.inf:
        assert [each.field for each in violations] == ["responses"]
        return
    found = fields["prob"]
    for label in LABELS:
        own = [value for said, value in known if said == label]
        expected = math.exp(logsumexp(own) - whole) if own else 0.0
        assert found[label] == pytest.approx(expected, abs=1e-12)
    assert math.fsum(found.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", ["rows", "p.jsonl", "p.json", "p.parquet"])
def test_files_are_read_alike(name: str, tmp_path: Path) -> None:
    said = response(("positive", math.log(0.5)), ("neutral", math.log(0.3)))
    said_with_zero = json.loads(json.dumps(said))
    path = tmp_path / name
    if name == "p.parquet":
        pl.DataFrame([said]).write_parquet(path)
    elif name != "rows":
        text = json.dumps(said_with_zero) + "\n"
        path.write_text(f"[{text}]" if name == "p.json" else text, encoding="utf-8")
    result = evaluated([said] if name == "rows" else path)
    shares = np.array([0, 3 / 8, 5 / 8])
    expected = ((shares - [0, 0, 1]) ** 2).sum()
    assert result["brier"].value == pytest.approx(expected, abs=1e-12)
    assert result["log-loss"].value == pytest.approx(-math.log(5 / 8), abs=1e-12)
    [notice] = result.notices
    assert notice == (
        "the probabilities (`prob`) of 1 response were computed from the `logprob` of "
        "their alternatives; in 1 response labels without an alternative got the "
        "probability 0"
    )
    assert notice in result.to_dict()["notices"]


OWN = {"negative": 0.2, "neutral": 0.2, "positive": 0.6}


@pytest.mark.parametrize("place", ["response", "alternative", "columns"])
@pytest.mark.slow
def test_its_own_probabilities_win(place: str) -> None:
    said = response(("positive", -3.0), ("neutral", -0.1))
    if place == "response":
        said["prob"] = OWN
    elif place == "alternative":
        said["responses"][0]["prob"] = OWN
    else:
        said |= {f"prob_{label}": value for label, value in OWN.items()}
    assert prob_of(said) == OWN
    assert not [n for n in evaluated([said]).notices if "computed from" in n]


def test_alternatives_without_any_give_none() -> None:
    said = response(("positive", None), ("neutral", None))
    assert prob_of(said) is None
    assert evaluated([said])["brier"].value is None
    assert prob_of({"id": "1", "responses": []}) is None
    assert prob_of({"id": "1", "label": "positive", "logprob": -1.0}) is None


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (0.1, "must be the logarithm of a probability"),
        (math.inf, "must be the logarithm of a probability"),
        (math.nan, "must be the logarithm of a probability"),
        (None, "is required, as other alternatives have it"),
        ("-1", "must be a number"),
        (True, "must be a number"),
        ([-1.0], "must be a number"),
    ],
)
def test_other_values_are_refused(value: Any, rule: str) -> None:
    said = response(("positive", -1.0), ("neutral", value))
    with pytest.raises(AlignmentError, match=f"responses.1.logprob: {rule}"):
        evaluated([said])


def test_an_alternative_without_an_answer_is_left_out() -> None:
    said = response(("neutral", -5.0), ("I do not know", -0.1), ("positive", -5.0))
    # the extractor makes nothing of the second one
    result = evaluated([said], extract="labels")
    assert result.examples is not None
    [found] = result.examples["prob"]
    assert found == {"negative": 0.0, "neutral": 0.5, "positive": 0.5}
    assert any("1 alternative without a declared label" in n for n in result.notices)


def test_a_prediction_need_not_be_the_likeliest() -> None:
    said = response(("neutral", -3.0), ("positive", -0.1))
    result = evalkit.evaluate(One, [said], metrics=["accuracy", "ece"])
    assert result["accuracy"].value == 0
    expected = 1 / (1 + math.exp(2.9))
    assert result["ece"].value == pytest.approx(expected, abs=1e-12)


def test_nothing_is_made_without_declared_labels_or_where_nobody_reads_it() -> None:
    assert AlternativeProbabilities(["prob"], None).keys == set()
    assert AlternativeProbabilities(["label"], LABELS).keys == set()
    assert AlternativeProbabilities(["prob"], LABELS).keys == {"logprob"}


def test_only_responses_that_are_used_are_counted() -> None:
    ids = [str(number) for number in range(4)]
    pair = (("positive", -1.0), ("neutral", -2.0))
    said = [{**response(*pair), "id": each} for each in ids]

    class Some(One):
        def load(self, split: str) -> list[dict[str, Any]]:
            return [{**One().load(split)[0], "uid": each} for each in ids]

    def noticed(rows: Any, **options: Any) -> str:
        found = evalkit.evaluate(Some, rows, metrics=["brier"], **options)
        [text] = [text for text in found.notices if "computed from" in text]
        return text

    assert "of 4 responses were" in noticed(said)
    assert "of 3 responses were" in noticed(said, limit=3)
    twice = [*said, said[0]]
    assert "of 4 responses were" in noticed(twice, on_duplicate="first")


made = st.builds(Made, st.integers(1, 20), st.integers(0, 20), st.integers(0, 20))


@given(st.lists(made, min_size=1, max_size=4))
def test_notices_of_parts_add_up(parts: list[Made]) -> None:
    notices = [text for part in parts for text in made_notices([part])]
    assert merged_made_notices(["of 3 responses", *notices]) == made_notices(parts)
    assert merged_made_notices(["2 missing examples counted as wrong"]) == ()
