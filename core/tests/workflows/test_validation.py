"""`evalkit.validate`."""

from typing import Any

import pytest

import evalkit
from evalkit import DataError, EvalkitError

pytestmark = pytest.mark.usefixtures("mini")

BAD = [
    {"id": "1", "label": "yes", "note": 1},
    {"id": "1", "label": "no"},
    {"id": "2", "label": 5},
    {"id": "9", "label": "yes"},
    None,
]


def test_it_counts_and_explains_as_an_evaluation_would() -> None:
    found = evalkit.validate("mini", BAD, model="m")
    with pytest.raises(evalkit.AlignmentError) as caught:
        evalkit.evaluate("mini", BAD, model="m")
    assert caught.value.result is not None
    refused = caught.value.result
    assert found.counts == refused.counts
    assert list(found.problems) == list(refused.problems)
    assert (*found.notices,) == refused.notices
    for reason in found.refusals:
        assert reason in str(caught.value)
    assert (found.dataset, found.task, found.split) == ("mini", "mini", "test")
    assert found.model == "m"
    assert len(found.refusals) == 3


def test_nothing_is_scored() -> None:
    class Never(evalkit.Dataset):
        task = "mini"
        perf_metric = "no-such-metric"

        def load(self, split: str) -> list[Any]:
            return [{"uid": "1", "text": "x", "label": "yes"}]

    rows = [{"id": "1", "label": "yes"}]
    assert evalkit.validate(Never, rows).refusals == []
    with pytest.raises(evalkit.UnknownPluginError):
        evalkit.evaluate(Never, rows)


def test_policies_decide_what_is_ok() -> None:
    lenient: dict[str, Any] = {"on_missing": "skip", "on_invalid": "skip"}
    assert not evalkit.validate("mini", BAD, **lenient).to_dict()["ok"]
    found = evalkit.validate("mini", BAD, **lenient, on_duplicate="last")
    assert found.to_dict()["ok"]
    assert len(found.problems) == 5
    with pytest.raises(EvalkitError, match="on_missing must be one of error, wrong"):
        evalkit.validate("mini", BAD, on_missing="first")  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", ["skip", "wrong"])
def test_it_is_not_ok_where_no_example_would_be_scored(policy: Any) -> None:
    found = evalkit.validate("mini", [], on_missing=policy)
    assert found.refusals == ["no example would be scored"]
    assert evalkit.evaluate("mini", [], on_missing=policy).status != "complete"


def test_data_alone_is_checked() -> None:
    found = evalkit.validate("mini")
    assert (found.counts, found.model, list(found.problems)) == (
        {"examples": 3},
        None,
        [],
    )
    assert found.to_dict()["ok"]
    with pytest.raises(DataError, match="has no split 'train'"):
        evalkit.validate("mini", split="train")
