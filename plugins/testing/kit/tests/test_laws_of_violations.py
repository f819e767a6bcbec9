"""Laws that `benchmarks/violations` showed to be lacking."""

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import pytest
from pydantic import BaseModel

import evalkit
from evalkit_models_base import Model, Reply, Request, text_reply
from evalkit_testing import (
    check_annotator,
    check_dataset,
    check_metric,
    check_model,
    check_task,
)
from evalkit_testing.laws import LawError

FEW = 8


class FirstAnswer(evalkit.Metric):
    """Share that is the first acceptable answer."""

    bounds = (0, 1)
    higher_is_better = True
    answer_kinds = ("any-of",)
    interval = "wilson"
    worst_value = 0.0

    def score_example(self, prediction: Any, target: Any) -> float:
        return float(bool(target) and prediction == target[0])


@pytest.mark.slow
def test_the_order_of_acceptable_answers_changes_nothing() -> None:
    with pytest.raises(LawError, match="answers in reverse order") as caught:
        check_metric(FirstAnswer, laws=["answers"], max_examples=FEW)
    assert caught.value.law == "answers"

    class Every(FirstAnswer):
        """Share that is an acceptable answer."""

        def score_example(self, prediction: Any, target: Any) -> float:
            return float(prediction in target)

    check_metric(Every, laws=["answers"], max_examples=FEW)


@pytest.mark.slow
def test_the_direction_is_that_of_right_answers() -> None:
    class Distance(evalkit.Metric):
        """How many characters too many or too few."""

        bounds = (0, None)
        higher_is_better = True
        answer_kinds = ("one",)

        def score_example(self, prediction: Any, target: Any) -> float:
            return float(abs(len(prediction) - len(target)))

    with pytest.raises(LawError, match="calls better"):
        check_metric(Distance, laws=["perfect"], max_examples=FEW)
    Distance.higher_is_better = False
    check_metric(Distance, laws=["perfect"], max_examples=FEW)


@pytest.mark.slow
def test_nan_is_not_taken_for_a_number() -> None:
    class Distance(evalkit.Metric):
        """Mean distance, in which NaN is nothing."""

        bounds = (0, None)
        higher_is_better = False
        answer_kinds = ("number",)

        def score_example(self, prediction: Any, target: Any) -> float:
            return abs((0 if prediction != prediction else prediction) - target)

    with pytest.raises(LawError, match="as if that was 0"):
        check_metric(Distance, laws=["nan"], max_examples=25)
    for name in ("mae", "pearson", "accuracy"):
        check_metric(name, answer_kind="number", laws=["nan"], max_examples=FEW)


@pytest.mark.slow
def test_reasons_quote_nothing() -> None:
    class Quotes(evalkit.Metric):
        """Scores texts of plain letters."""

        bounds = (0, 1)
        answer_kinds = ("one",)

        def score_example(self, prediction: Any, target: Any) -> Any:
            if not target.isascii():
                return evalkit.NotScored(f"{target!r} is not plain")
            return float(prediction == target)

    with pytest.raises(LawError, match="quotes the data"):
        check_metric(Quotes, laws=["reasons"], max_examples=FEW)
    for name in ("rouge", "macro-f1", "precision"):
        check_metric(
            name, answer_kind="one", laws=["values", "reasons"], max_examples=FEW
        )


class Text(BaseModel):
    uid: str
    text: str


class Said(BaseModel):
    id: str
    mood: Literal["glad", "sad"]
    prob: dict[str, float] | None = None


class Mood(evalkit.TaskIO):
    """The mood of a text."""

    Input = Text
    Output = Said
    labels = ("glad", "sad")
    answer_field = "mood"
    perf_metric = "accuracy"
    example = {"uid": "1", "text": "Hooray"}

    def verify_response(self, response: Any) -> None:
        response.get("prob")


def test_a_task_only_looks_at_a_response() -> None:
    class Takes(Mood):
        """Takes the probabilities out of the response."""

        def verify_response(self, response: Any) -> None:
            response.pop("prob", None)

    check_task(Mood, laws=["inputs"])
    with pytest.raises(LawError, match="verify_response makes"):
        check_task(Takes, laws=["inputs"])


def test_a_task_works_with_labels_of_the_data() -> None:
    class FreeSaid(BaseModel):
        id: str
        mood: str

    class Free(Mood):
        """The labels are those of the data."""

        Output = FreeSaid
        labels = None

        def verify_response(self, response: Any, labels: Any) -> Any:
            if labels and response["mood"] not in labels:
                return ["it is no label"]
            return []

    with pytest.raises(LawError, match=re.escape("give a list of evalkit.Violation")):
        check_task(Free, responses=[{"mood": "glad"}], laws=["labels"])


class Films(evalkit.Dataset):
    """Looks at what is wanted."""

    task = "sentiment"

    def load(self, split: str, columns: Any, limit: int | None) -> list[Any]:
        rows = [
            {"uid": str(n), "statement": f"Film {n}", "label": "neutral", "tags": ["x"]}
            for n in range(4)
        ]
        return self.narrow(rows, columns, limit)

    def narrow(self, rows: list[Any], columns: Any, limit: int | None) -> list[Any]:
        wanted = [{name: row[name] for name in columns or row} for row in rows]
        return wanted[:limit]


class LastFilms(Films):
    """Gives the last ones."""

    def narrow(self, rows: list[Any], columns: Any, limit: int | None) -> list[Any]:
        return rows[-(limit or 0) :]


class FilmsWithoutTags(Films):
    """Leaves out what was asked for."""

    def narrow(self, rows: list[Any], columns: Any, limit: int | None) -> list[Any]:
        for row in rows if columns else ():
            del row["tags"]
        return rows


@pytest.mark.parametrize(
    ("dataset", "found"),
    [(LastFilms, "limit=2"), (FilmsWithoutTags, "no column 'tags'")],
)
def test_what_is_narrowed_is_as_in_the_whole(dataset: Any, found: str) -> None:
    check_dataset(Films, laws=["narrow"])
    with pytest.raises(LawError, match=found):
        check_dataset(dataset, laws=["narrow"])


class Thanks(evalkit.Annotator):
    """Whether somebody thanks."""

    version = "1"

    def annotate_example(self, prediction: str) -> Any:
        return "thank" in prediction.lower()


class ThanksOrText(Thanks):
    """Says something else of a blank response."""

    def annotate_example(self, prediction: str) -> Any:
        return super().annotate_example(prediction) if prediction.strip() else "empty"


def test_a_blank_response_has_a_value_of_the_same_kind() -> None:
    examples = [("Thanks!", ""), ("No.", "")]
    check_annotator(Thanks, examples)
    with pytest.raises(LawError, match="str") as caught:
        check_annotator(ThanksOrText, examples)
    assert caught.value.law == "blank"


def test_a_model_that_changes_its_inputs_the_same_way_each_time_is_found() -> None:
    class Marks(Model):
        """Marks what it has seen."""

        def predict(self, inputs: Sequence[Mapping[str, Any]]) -> list[str]:
            for row in inputs:
                row["seen"] = True  # type: ignore[index]
            return ["neutral" for _ in inputs]

    with pytest.raises(LawError, match="became") as caught:
        check_model(Marks, task="sentiment")
    assert caught.value.law == "inputs"


def test_empty_replies_to_all_chats_are_no_answers() -> None:
    class OnlyText(Model):
        """Forgets that there are chats."""

        abilities = ("text", "chat")

        def generate(self, requests: Sequence[Request]) -> list[Reply]:
            return [text_reply(each.prompt or "") for each in requests]

    with pytest.raises(LawError, match="all replies to chats are empty"):
        check_model(OnlyText)


class Longest(evalkit.Metric):
    """Share of the answer's length that the prediction has."""

    bounds = (0, None)
    higher_is_better = True
    answer_kinds = ("one",)

    def score_example(self, prediction: Any, target: Any) -> float:
        return float(len(str(prediction)))


@pytest.mark.slow
def test_a_missing_prediction_is_not_taken_for_a_text() -> None:
    class OfNone(Longest):
        """The same, of nothing too."""

        accepts_no_prediction = True

    with pytest.raises(LawError, match="as for the text 'None'") as caught:
        check_metric(OfNone, laws=["null"], max_examples=FEW)
    assert caught.value.law == "null"

    class OfNothing(OfNone):
        """The same, where nothing has no length."""

        def score_example(self, prediction: Any, target: Any) -> float:
            return float(len(prediction or ""))

    check_metric(OfNothing, laws=["null"], max_examples=FEW)


@pytest.mark.slow
def test_an_empty_prediction_is_not_left_out_without_a_word() -> None:
    class OfSome(Longest):
        """The same, of what is not empty."""

        def score_example(self, prediction: Any, target: Any) -> Any:
            return float(len(prediction)) if prediction else None

    with pytest.raises(LawError, match="is left out where the prediction is ''"):
        check_metric(OfSome, laws=["left-out"], max_examples=FEW)

    class WithReason(Longest):
        """The same, which says why."""

        def score_example(self, prediction: Any, target: Any) -> Any:
            return float(len(prediction)) or evalkit.NotScored("it is empty")

    check_metric(WithReason, laws=["left-out"], max_examples=FEW)
    check_metric(Longest, laws=["left-out"], max_examples=FEW)


@pytest.mark.slow
def test_which_acceptable_answer_is_given_changes_nothing() -> None:
    class AsText(FirstAnswer):
        """Share of the answers' words that the prediction has."""

        def score_example(self, prediction: Any, target: Any) -> float:
            words = {*str(target).split()}
            return len(words & {*str(prediction).split()}) / len(words or " ")

    with pytest.raises(LawError, match="for the prediction 'red car'") as caught:
        check_metric(AsText, laws=["each-answer"], max_examples=FEW)
    assert caught.value.law == "each-answer"

    class Best(FirstAnswer):
        """Share of the words of the answer that fits best."""

        def score_example(self, prediction: Any, target: Any) -> float:
            given = {*str(prediction).split()}
            return max((float({*text.split()} == given) for text in target), default=0)

    check_metric(Best, laws=["each-answer"], max_examples=FEW)


@pytest.mark.slow
def test_kept_values_have_no_order_that_counts() -> None:
    class Kept(evalkit.Metric):
        """The first of the numbers, or the middle one."""

        answer_kinds = ("number",)
        interval = "none"
        merges: ClassVar[Mapping[str, str]] = {"number": "values"}
        place = 0

        def example_statistics(self, prediction: Any) -> dict[str, float]:
            return {"number": float(prediction)}

        def finalize(self, sums: Any) -> float:
            return float(self.value([*sums["number"]]))

        def value(self, numbers: list[float]) -> float:
            return numbers[0]

    with pytest.raises(LawError, match="kept values in reverse order") as caught:
        check_metric(Kept, laws=["order"], max_examples=FEW)
    assert caught.value.law == "order"

    class Middle(Kept):
        """The middle one."""

        def value(self, numbers: list[float]) -> float:
            return sorted(numbers)[len(numbers) // 2]

    check_metric(Middle, laws=["order"], max_examples=FEW)


def test_a_mapping_names_fields_that_there_are() -> None:
    class Asked(BaseModel):
        uid: str
        text: str

    class Said(BaseModel):
        id: str
        label: Literal["a", "b"]

    class Mapped(evalkit.TaskIO):
        """Is it an a?"""

        Input = Asked
        Output = Said
        answer_field = "label"
        perf_metric = "accuracy"
        labels = ("a", "b")
        example: ClassVar[Mapping[str, Any]] = {"uid": "1", "text": "a"}
        pred_field_converter: ClassVar[Mapping[str, str]] = {
            "id": "uid",
            "pred": "label",
        }

    with pytest.raises(LawError, match="has 'id': 'uid', and the fields") as caught:
        check_task(Mapped, laws=["mappings"])
    assert caught.value.law == "mappings"

    class Right(Mapped):
        """Is it an a, and not a b?"""

        pred_field_converter: ClassVar[Mapping[str, str]] = {
            "id": "id",
            "pred": "label",
        }

    check_task(Right, laws=["mappings"])


def test_an_annotator_draws_from_no_shared_random_numbers() -> None:
    class Chance:
        """Is it polite, mostly?"""

        version = "1"
        kind = "value"

        def annotate_example(self, prediction: Any) -> bool:
            return random.random() < 1.5

    with pytest.raises(LawError, match="drew from the module random") as caught:
        check_annotator(Chance, examples=[("a", "b")], laws=["repeatable"])
    assert caught.value.law == "repeatable"
