"""What converters and adapters see and may say, and in which order they are asked."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pytest

import evalkit
from evalkit.errors import AlignmentError, PluginContractError, PluginError

CODE = """
import evalkit
from pydantic import BaseModel


class Question(BaseModel):
    uid: str
    question: str
    choices: list[str]
    level: int = 1


class Answer(BaseModel):
    id: str
    label: str
    sure: float | None = None


class Task(evalkit.TaskIO):
    Input = Question
    Output = Answer
    answer_field = "label"
    scored_fields = ("sure",)
    perf_metric = "accuracy"
    example = {"uid": "1", "question": "?", "choices": ["a", "b"]}


class Adapting(Task):
    def adapt_response(self, response):
        return {**response, "label": response["label"].upper()}


class Strict(Task):
    def verify_response(self, response):
        assert response["label"].isalpha()
"""

ROWS: list[dict[str, Any]] = [
    {"id": "1", "question": "one?", "choices": ["x", "y"], "label": "y"},
    {"id": "2", "question": "two?", "choices": ["z", "w"], "label": "w", "level": 3},
]
ASKED = [
    {"uid": "1", "question": "one?", "choices": ["x", "y"], "level": 1},
    {"uid": "2", "question": "two?", "choices": ["z", "w"], "level": 3},
]


@pytest.fixture(autouse=True)
def _installed(fake_distribution: Callable[..., Any]) -> None:
    tasks = {"picking": "Task", "adapting": "Adapting", "strict": "Strict"}
    fake_distribution(CODE, {"evalkit.tasks": tasks}, name="picking", version="1.0")


class Picks(evalkit.Dataset):
    name = "picks"
    task = "picking"

    def load(self, split: str) -> list[dict[str, Any]]:
        return ROWS


def said(*labels: Any, **more: Any) -> list[dict[str, Any]]:
    return [
        {"id": str(place), "label": label, **more}
        for place, label in enumerate(labels, start=1)
    ]


def evaluate(dataset: type[evalkit.Dataset], responses: Any, **more: Any) -> Any:
    return evalkit.evaluate(dataset, responses, metrics=["accuracy"], **more)


def preds(result: Any) -> list[Any]:
    found: list[Any] = result.examples["pred"].to_list()
    return found


def test_a_converter_sees_what_the_model_was_asked_and_never_the_answer() -> None:
    class Letters(Picks):
        seen: ClassVar[list[Any]] = []

        def pred_field_converter(
            self, response: Mapping[str, Any], row: Mapping[str, Any]
        ) -> dict[str, Any]:
            self.seen.append(row)
            return {
                "id": response["id"],
                "pred": row["choices"]["AB".index(response["label"])],
            }

    result = evaluate(Letters, said("B", "A"))
    assert Letters.seen == ASKED
    assert preds(result) == ["y", "z"]
    assert result["accuracy"].value == 0.5


def test_example_is_the_response_also_where_the_data_has_the_key_id() -> None:
    """Dynabench's converter, as it is written there."""

    class Dynabench(Picks):
        def pred_field_converter(self, example: Mapping[str, Any]) -> dict[str, Any]:
            return {"id": example["id"], "pred": example["label"]}

    result = evaluate(Dynabench, said("y", "y"))
    assert preds(result) == ["y", "y"]
    assert result["accuracy"].value == 0.5


def test_an_adapter_sees_what_the_model_was_asked() -> None:
    class Numbers(Picks):
        seen: ClassVar[list[Any]] = []

        def adapt_response(
            self, row: Mapping[str, Any] | None, response: Mapping[str, Any]
        ) -> dict[str, Any]:
            self.seen.append(row)
            label = row["choices"][response["label"]] if row else "?"
            return {**response, "label": label}

    responses = [*said(1, 1), {"id": "strange", "label": 0}]
    result = evaluate(Numbers, responses)
    assert Numbers.seen == [*ASKED, None]
    assert preds(result) == ["y", "w"]


def test_the_data_set_adapts_before_the_task_and_both_before_the_check() -> None:
    class Both(Picks):
        task = "adapting"

        def adapt_response(self, response: Mapping[str, Any]) -> dict[str, Any]:
            return {"id": response["id"], "label": response["said"] + "!"}

        def pred_field_converter(self, response: Mapping[str, Any]) -> dict[str, Any]:
            return {"id": response["id"], "pred": response["label"] + "?"}

    responses = [{"id": "1", "said": "y"}, {"id": "2", "said": "w"}]
    assert preds(evaluate(Both, responses)) == ["Y!?", "W!?"]


def test_a_task_may_adapt_alone_and_its_failure_is_its_own() -> None:
    class OfTask(Picks):
        task = "adapting"

    assert preds(evaluate(OfTask, said("y", "w"))) == ["Y", "W"]
    with pytest.raises(PluginError, match=r"^tasks/adapting \(picking 1.0\): adapt_re"):
        evaluate(OfTask, said(1, 2))


UNPARSED: dict[str, Any] = {
    "a whole response": lambda label: evalkit.Unparsed("no letter"),
    "a value": lambda label: {"id": "1", "label": evalkit.Unparsed("no letter")},
    "null": lambda label: {"id": "1", "label": None},
}


@pytest.mark.parametrize("way", UNPARSED)
@pytest.mark.parametrize("of", ["picking", "strict"])
def test_an_adapter_may_say_that_there_is_no_answer(way: str, of: str) -> None:
    class Adapted(Picks):
        task = of

        def adapt_response(self, response: Mapping[str, Any]) -> Any:
            found = response["id"] == "2"
            return response if found else UNPARSED[way](response["label"])

    result = evaluate(Adapted, said("?", "w"))
    assert preds(result) == [None, "w"]
    counts = result.counts
    assert (counts["scored"], counts["unparsed"], counts["invalid"]) == (2, 1, 0)
    assert result["accuracy"].value == 0.5
    reasons = {} if way == "null" else {"no letter": 1}
    assert dict(result.record.unparsed) == reasons
    shown = "" if way == "null" else ": 'no letter' (1)"
    assert (
        "1 response counted as wrong, as no answer could be extracted" + shown
    ) in result.notices


def test_what_else_is_wrong_with_an_unparsed_response_makes_it_invalid() -> None:
    class Adapted(Picks):
        def adapt_response(self, response: Mapping[str, Any]) -> Any:
            return {**response, "label": evalkit.Unparsed("none")}

    with pytest.raises(AlignmentError, match=r"sure: must be a valid number"):
        evaluate(Adapted, said("y", "w", sure="very"))
    result = evaluate(Adapted, said("y", "w", sure=0.5))
    assert result.examples["sure"].to_list() == [0.5, 0.5]


@pytest.mark.parametrize("is_whole", [False, True])
def test_a_converter_may_say_that_there_is_no_answer(is_whole: bool) -> None:
    class Converted(Picks):
        def pred_field_converter(self, response: Mapping[str, Any]) -> Any:
            unparsed = evalkit.Unparsed(f"reason {response['label']}")
            return unparsed if is_whole else {"id": response["id"], "pred": unparsed}

    result = evaluate(Converted, said("b", "a"))
    assert preds(result) == [None, None]
    assert dict(result.record.unparsed) == {"reason a": 1, "reason b": 1}
    without = evaluate(Converted, said("b", "a"), include_examples=False)
    assert dict(without.record.unparsed) == {}
    assert not any("reason" in notice for notice in without.notices)


@pytest.mark.parametrize("reason", [5, "half \ud83d"])
def test_any_reason_is_a_text_that_a_run_can_hold(reason: Any, tmp_path: Any) -> None:
    class Converted(Picks):
        def pred_field_converter(self, response: Mapping[str, Any]) -> Any:
            return evalkit.Unparsed(reason)

    result = evaluate(Converted, said("b", "a"), out=tmp_path)
    text = str(reason).replace("\ud83d", r"\ud83d")
    assert dict(result.record.unparsed) == {text: 2}


def test_rare_reasons_of_many_are_counted_together() -> None:
    class Many(Picks):
        def load(self, split: str) -> list[dict[str, Any]]:
            return [{**ROWS[0], "id": str(place)} for place in range(1, 31)]

        def pred_field_converter(self, response: Mapping[str, Any]) -> Any:
            return evalkit.Unparsed(response["label"])

    found = evaluate(Many, said(*(f"{k:02}" for k in range(1, 30)), "01"))
    assert dict(found.record.unparsed) == {
        "01": 2,
        **{f"{k:02}": 1 for k in range(2, 21)},
        "other reasons": 9,
    }


def test_an_alternative_may_be_unparsed() -> None:
    class Adapted(Picks):
        def pred_field_converter(self, response: Mapping[str, Any]) -> Any:
            is_known = response["label"] != "?"
            pred = response["label"] if is_known else evalkit.Unparsed("mark")
            return {"id": response["id"], "pred": pred}

    responses = [
        {"id": "1", "responses": [{"label": "?"}, {"label": "y"}]},
        {"id": "2", "responses": [{"label": "w"}, {"label": "?"}]},
    ]
    result = evaluate(Adapted, responses)
    assert preds(result) == [None, "w"]
    assert result.examples["responses"].to_list() == [[None, "y"], ["w", None]]
    assert dict(result.record.unparsed) == {"mark": 1}


def test_an_unknown_key_of_a_converter_is_refused() -> None:
    class Extra(Picks):
        def pred_field_converter(self, response: Mapping[str, Any]) -> Any:
            return {"id": response["id"], "pred": "a", "cluster": 1}

    with pytest.raises(
        PluginContractError, match=r"returned the key 'cluster' for the"
    ):
        evaluate(Extra, said("a", "b"))
