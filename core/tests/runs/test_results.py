import json
from typing import Any

import pytest

from evalkit import Result, Score

BASE: dict[str, Any] = {
    "split": "test",
    "perturbation": None,
    "computed_on": "all",
    "se": 0.1,
    "ci_low": 0.2,
    "ci_high": 0.6,
    "ci_method": "t",
    "n": 3,
    "n_clusters": None,
    "coverage": 1.0,
    "unit": "%",
    "scale": 100.0,
    "higher_is_better": True,
    "reason": None,
    "flag": None,
    "bound_low": None,
    "bound_high": None,
    "mean": None,
    "stddev": None,
    "min": None,
    "max": None,
}


def one(metric: str, tag: str | None, value: float | None, **changes: Any) -> Score:
    return Score(metric=metric, tag=tag, value=value, **{**BASE, **changes})


SCORES = [
    one("good", None, 0.5),
    one("good", "x", 0.9),
    one("good", "y", 0.1),
    one("good", "z", None, reason="no example was scored"),
    one("good", "w", 0.1),
    one("cost", None, 3.0, higher_is_better=False),
    one("cost", "x", 9.0, higher_is_better=False),
    one("cost", "y", 1.0, higher_is_better=False),
    one("odd", "x", 2.0, higher_is_better=None),
    one("odd", "y", 1.0, higher_is_better=None),
    one("odd", None, 2.0, higher_is_better=None),
]

RECORD: dict[str, Any] = {
    "fingerprint": "0123456789abcdef",
    "status": "complete",
    "model": "m",
    "dataset": "d",
    "headline": "cost",
    "counts": {"examples": 3},
    "notices": ["look"],
    "warnings": ["oh"],
}


@pytest.fixture
def result() -> Result:
    return Result(RECORD, SCORES, [], None)


def test_a_score_of_the_whole_set_is_found_by_name(result: Result) -> None:
    assert result["good"].value == 0.5
    assert list(result) == result.metrics == ["good", "cost", "odd"]
    assert "good" in result
    assert "bad" not in result


def test_an_unknown_score_names_those_there_are(result: Result) -> None:
    with pytest.raises(KeyError, match="no score 'bad'; there are: good, cost, odd"):
        result["bad"]
    with pytest.raises(KeyError, match="there are: none"):
        Result(RECORD, [], [], None)["good"]


def test_tags_are_sorted_by_metric_and_then_worst_first(result: Result) -> None:
    rows = result.by_tag.select("metric", "tag").rows()
    assert rows == [
        ("cost", "x"),
        ("cost", "y"),
        ("good", "w"),
        ("good", "y"),
        ("good", "x"),
        ("good", "z"),
        ("odd", "y"),
        ("odd", "x"),
    ]
    names = result.by_tag.columns
    assert sorted(names) == sorted(Score._fields)
    assert names[:4] + names[-2:] == [
        *("metric", "tag", "value", "n"),
        *("ci_low", "ci_high"),
    ]


def test_the_record_is_read_through_properties(result: Result) -> None:
    assert (result.fingerprint, result.status, result.model, result.dataset) == (
        "0123456789abcdef",
        "complete",
        "m",
        "d",
    )
    assert result.counts == {"examples": 3}
    assert (result.notices, result.warnings) == (("look",), ("oh",))
    assert repr(result) == "<Result d m complete 01234567: cost 3>"
    nameless = Result({"status": "complete", "counts": {}}, [], [], None)
    assert repr(nameless) == "<Result None None complete no run id>"


def test_the_dict_can_be_written_as_json(result: Result) -> None:
    result.record_time(started=0.0, seconds=1.23456)
    written = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert written["timings"] == {
        "started": "1970-01-01T00:00:00.000000+00:00",
        "seconds": 1.235,
    }
    assert [Score(**row) for row in written["scores"]] == SCORES
    assert "timings" not in RECORD
