"""Scores that a data set gives itself."""

from typing import Any, ClassVar

import polars as pl
import pytest

import evalkit

ROWS = [
    {
        "uid": str(n),
        "statement": f"s{n}",
        "label": "positive",
        "tags": ["even"] if n % 2 == 0 else ["odd"],
    }
    for n in range(10)
]
PREDICTIONS = [{"id": str(n), "label": "positive"} for n in range(10)]


class Own(evalkit.Dataset):
    task = "sentiment"
    returned: ClassVar[Any] = None

    def load(self, split: str) -> list[dict[str, Any]]:
        return ROWS

    def evaluate(self, frame: pl.DataFrame) -> Any:
        return self.returned


def scored(returned: Any) -> evalkit.Result:
    dataset = Own()
    dataset.returned = returned  # type: ignore[misc]
    return evalkit.evaluate(dataset, PREDICTIONS, metrics=["accuracy"])


def test_a_bare_number_has_no_interval() -> None:
    result = scored({"share": 0.5, "none": None, "inf": float("inf")})
    score = result["own#share"]
    assert (score.value, score.n, score.ci, score.unit) == (0.5, 10, None, "")
    assert score.reason == "the data set computes no interval"
    for name, why in (("none", "it is not defined for "), ("inf", "it returned inf")):
        assert result[f"own#{name}"].value is None
        assert f"evaluate: '{name}': {why}" in str(result[f"own#{name}"].reason)


def test_a_score_may_have_all_that_others_have() -> None:
    """A dict was no number, and the run was partial."""
    result = scored(
        {
            "share": [
                {
                    "value": 0.5,
                    "n": 8,
                    "ci_low": 0.25,
                    "ci_high": 0.75,
                    "unit": "%",
                    "scale": 100,
                    "higher_is_better": True,
                },
                {"value": 0.25, "tag": "odd", "unit": "%", "scale": 100},
                {"value": None, "tag": "even", "reason": "too few"},
            ],
            "length": {"value": 3, "unit": "words", "reason": "it is a plain count"},
        }
    )
    assert result.status == "complete"
    share = result["own#share"]
    assert (share.value, share.n, share.ci) == (0.5, 8, (0.25, 0.75))
    assert (share.ci_method, share.unit, share.scale) == ("data-set", "%", 100)
    assert share.higher_is_better is True
    assert share.coverage == 0.8
    length = result["own#length"]
    assert (length.value, length.unit, length.higher_is_better) == (3.0, "words", None)
    assert length.reason == "it is a plain count"
    of_tags = {
        score.tag: (score.value, score.n, score.reason)
        for score in result.scores
        if score.metric == "own#share" and score.tag
    }
    assert of_tags == {
        "odd": (0.25, 5, "the data set computes no interval"),
        "even": (None, 5, "too few"),
    }
    assert result.to_dict()["scores"]


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        ([0.5], "must return a dict of values, returned"),
        ({}, "evaluate returned no score"),
        ({"a": "x"}, "'a': its value must be a number, is 'x'"),
        ({"a": {"n": 3}}, "'a': value: is required"),
        ({"a": {"value": 1, "ci": 3}}, "'a': ci: is not"),
        ({"a": {"value": 1, "n": -1}}, "'a': n: "),
        ({"a": {"value": 1, "ci_low": 0.5}}, "needs a value and both bounds in order"),
        ({"a": {"value": 1, "ci_low": 2, "ci_high": 1}}, "both bounds in order, found"),
        ({"a": {"value": None, "ci_low": 0, "ci_high": 1}}, "needs a value and both"),
        ({"a": {"value": 1, "tag": "add"}}, "no scored example has the tag 'add'"),
        ({"a": [{"value": 1}, {"value": 2}]}, "two scores are of the whole set"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_the_data_set(
    returned: Any, text: str
) -> None:
    result = scored(returned)
    assert result.status == "partial"
    (error,) = result.record.errors
    assert error.startswith("datasets/own (given as an object): ")
    assert text in error
    assert result["accuracy"].value == 1.0
