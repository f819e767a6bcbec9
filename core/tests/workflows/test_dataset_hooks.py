from collections.abc import Iterator, Mapping
from typing import Any

import evalkit


class Reviews(evalkit.Dataset):
    """A set whose files and models both use numbers, and say `stars` for the label."""

    name = "reviews"
    task = "sentiment"

    def load(self, split: str) -> Iterator[dict[str, Any]]:
        for number, stars in enumerate([1, 5, 5, 3]):
            yield {"uid": f"r{number}", "statement": "…", "stars": stars}

    def label_field_converter(self, example: Mapping[str, Any]) -> dict[str, Any]:
        stars = example["stars"]
        return {
            "id": example["uid"],
            "answer": NAMES[stars],
            "tags": [f"stars:{stars}"],
        }

    def adapt_response(self, response: Mapping[str, Any]) -> dict[str, Any]:
        return {"id": response["id"], "label": NAMES[response["stars"]]}

    def pred_field_converter(self, response: Mapping[str, Any]) -> dict[str, Any]:
        # this set does not trust a model that says neutral
        label = response["label"]
        pred = "negative" if label == "neutral" else label
        return {"id": response["id"], "pred": pred}


def test_responses_that_an_adapter_refuses_are_counted_by_its_name() -> None:
    responses = [{"id": f"r{n}", "stars": s} for n, s in enumerate([1, 2, 4, 3])]
    result = evalkit.evaluate(
        Reviews, responses, metrics=["accuracy"], on_invalid="wrong"
    )
    assert result["accuracy"].value == 1 / 4
    assert result.notices[-2:] == (
        "adapt_response of datasets/reviews (given as an object) refused 2 rows",
        "2 invalid examples counted as wrong",
    )


NAMES = {1: "negative", 3: "neutral", 5: "positive"}


def test_a_response_is_adapted_then_checked_then_converted() -> None:
    responses = [{"id": f"r{n}", "stars": s} for n, s in enumerate([3, 5, 1, 3])]
    result = evalkit.evaluate(Reviews, responses, metrics=["accuracy"])
    # preds: negative, positive, negative, negative; r0 and r1 are right
    assert result["accuracy"].value == 2 / 4
    by_tag = dict(result.by_tag.select("tag", "value").iter_rows())
    assert by_tag == {"stars:1": 1.0, "stars:5": 0.5, "stars:3": 0.0}
    assert result.examples is not None
    assert result.examples["pred"].to_list() == [
        "negative",
        "positive",
        "negative",
        "negative",
    ]
