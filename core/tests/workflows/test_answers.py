"""Tasks without answers, and examples with options of their own."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit.errors import AlignmentError, PluginContractError, SchemaError
from evalkit_analysis_compare import compare
from evalkit_analysis_robustness import evaluate_perturbed, find_effects
from evalkit_commands_perturb import perturb

CODE = """
import evalkit
from pydantic import BaseModel


class Prompt(BaseModel):
    uid: str
    prompt: str


class Question(BaseModel):
    uid: str
    question: str
    choices: list[str]


class Answer(BaseModel):
    id: str
    text: str


class Chat(evalkit.TaskIO):
    Input = Prompt
    Output = Answer
    answer_field = "text"
    answer_kind = "none"
    perf_metric = "size"
    example = {"uid": "1", "prompt": "?"}
    perturb_fields = ("prompt",)


class Choosing(evalkit.TaskIO):
    Input = Question
    Output = Answer
    answer_field = "text"
    choices_field = "choices"
    perf_metric = "accuracy"
    example = {"uid": "1", "question": "?", "choices": ["a"]}


class Strict(Choosing):
    only_choices = True


class Size(evalkit.Metric):
    answer_kinds = ("none", "one")
    bounds = (0, None)
    worst_value = 0.0

    def score_example(self, prediction):
        return float(len(prediction))
"""


@pytest.fixture(autouse=True)
def _installed(fake_distribution: Callable[..., Any]) -> None:
    tasks = {"chat": "Chat", "choosing": "Choosing", "strict": "Strict"}
    groups = {"evalkit.tasks": tasks, "evalkit.metrics": {"size": "Size"}}
    fake_distribution(CODE, groups, name="open", version="1.0")


class Prompts(evalkit.Dataset):
    name = "prompts"
    task = "chat"

    def load(self, split: str) -> Any:
        return [
            {"uid": "1", "prompt": "Hi!", "tags": ["short"]},
            {"uid": "2", "prompt": "How are you?", "tags": []},
        ]


SAID = [{"id": "1", "text": "Hello."}, {"id": "2", "text": "Well"}]


class TestWithoutAnswers:
    def test_a_metric_of_predictions_alone_scores_them(self, tmp_path: Path) -> None:
        result = evalkit.evaluate(Prompts, SAID, out=tmp_path)
        assert (result["size"].value, result["size"].n) == (5.0, 2)
        assert result["size"].ci_low is not None
        assert result.record.answer_kind == "none"
        assert result.record.baselines is None
        assert result.path is not None
        read = evalkit.read_run(result.path)
        assert read.examples is not None
        assert read.examples["answer"].null_count() == 2
        assert not evalkit.verify(read).differences
        other = [{**row, "text": "Well"} for row in SAID]
        second = evalkit.evaluate(Prompts, other, model="other", out=tmp_path)
        assert compare(read, second).rows[0].difference == 1.0

    def test_a_metric_that_needs_answers_is_refused_by_name(self) -> None:
        result = evalkit.evaluate(Prompts, SAID, metrics=["size", "accuracy"])
        assert result["accuracy"].value is None
        assert result["accuracy"].reason == (
            "the task has no answers, and the metric needs them"
        )
        assert result["size"].value == 5.0

    def test_a_file_needs_no_answers(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.csv"
        path.write_text("uid,prompt\n1,Hi!\n2,How?\n")
        result = evalkit.evaluate(path, SAID, task="chat")
        assert result["size"].value == 5.0

    def test_an_answer_is_refused(self) -> None:
        class ByMethod(Prompts):
            def label_field_converter(
                self, example: Mapping[str, Any]
            ) -> dict[str, Any]:
                return {"id": example["uid"], "answer": "x"}

        class ByColumn(Prompts):
            label_field_converter = {"id": "uid", "answer": "prompt"}

        with pytest.raises(
            PluginContractError, match=r"returned the answer 'x' for th"
        ):
            evalkit.evaluate(ByMethod, SAID)
        with pytest.raises(
            PluginContractError, match=r"declares a column for 'answer'"
        ):
            evalkit.evaluate(ByColumn, SAID)

    def test_a_converter_may_give_tags_alone(self) -> None:
        class Tagged(Prompts):
            def label_field_converter(
                self, example: Mapping[str, Any]
            ) -> dict[str, Any]:
                return {"id": example["uid"], "tags": ["t"]}

        result = evalkit.evaluate(Tagged, SAID)
        assert result.by_tag["tag"].to_list() == ["t"]

    def test_copies_of_its_examples_are_scored(self) -> None:
        class Shout(evalkit.Perturbation):
            families = ("robustness",)
            version = "1"
            label_effect = {"*": "invariant"}

            def perturb(self, text: str) -> str:
                return text.upper()

        rows = list(perturb(Prompts().load("test"), Shout, task="chat"))
        copies = [{"id": row["uid"], "text": "YES"} for row in rows]
        result = evaluate_perturbed(
            Prompts, SAID, perturbed=rows, perturbed_predictions=copies
        )
        assert result.status == "complete"
        under = [s for s in find_effects(result).scores if s.computed_on == "perturbed"]
        assert under[0].value == 3.0


OPTIONS = [
    (["a", "b", "c"], "b"),
    (["d", "e"], "e"),
    (["f", "g", "h", "i"], "i"),
    (["j"], "j"),
]


def choosing(of: str = "choosing", options: Any = None) -> type[evalkit.Dataset]:
    class Choices(evalkit.Dataset):
        name = "choices"
        task = of

        def load(self, split: str) -> Any:
            return [
                {"uid": str(place), "question": "?", "choices": own, "text": answer}
                for place, (own, answer) in enumerate(options or OPTIONS)
            ]

    return Choices


def said(*texts: Any) -> list[dict[str, Any]]:
    return [{"id": str(place), "text": text} for place, text in enumerate(texts)]


class TestChoices:
    def test_an_answer_must_be_among_them(self) -> None:
        wrong = [(["a", "b"], "c")]
        with pytest.raises(
            SchemaError,
            match=r"text: must be one of the example's choices \(choices\) a, b, found",
        ):
            evalkit.evaluate(choosing(options=wrong), said("a"))

    def test_another_prediction_is_wrong_or_invalid_as_the_task_says(self) -> None:
        predictions = said("b", "e", "?", "j")
        result = evalkit.evaluate(choosing(), predictions)
        assert result["accuracy"].value == 0.75
        with pytest.raises(
            AlignmentError, match=r"text: must be one of the example's c"
        ):
            evalkit.evaluate(choosing("strict"), predictions)
        strict = evalkit.evaluate(choosing("strict"), predictions, on_invalid="wrong")
        assert (strict["accuracy"].value, strict.counts["invalid"]) == (0.75, 1)

    def test_chance_and_majority_are_of_them(self, tmp_path: Path) -> None:
        result = evalkit.evaluate(choosing(), said("b", "e", "f", "j"), out=tmp_path)
        found = result.record.baselines
        assert found is not None
        # the second option, or the last where there are fewer: b, e, g, j
        assert (found.majority_label, found.majority) == ("choice 2", 3 / 4)
        assert found.chance == pytest.approx((1 / 3 + 1 / 2 + 1 / 4 + 1) / 4, abs=1e-12)
        rest = [([text, "z"], text) for text in "klmn"]
        data = choosing(options=[*OPTIONS, *rest])
        whole = evalkit.evaluate(data, said("b", "e", "f", "j", *"klmn"))
        assert whole.record.baselines is not None
        assert whole.record.baselines.majority_label == "choice 1"

    def test_a_run_keeps_them(self, tmp_path: Path) -> None:
        result = evalkit.evaluate(choosing(), said("b", "e", "f", "j"), out=tmp_path)
        assert result.path is not None
        stored = pl.read_parquet(result.path / "examples.parquet")
        assert stored["input/choices"].to_list() == [own for own, _ in OPTIONS]
        verified = evalkit.verify(evalkit.read_run(result.path))
        assert not verified.differences
        without = evalkit.evaluate(
            choosing(), said("b", "e", "f", "j"), include_examples=False
        )
        assert without.examples is not None
        assert "input/choices" not in without.examples.columns

    @pytest.mark.parametrize(
        ("members", "problem"),
        [
            ({"choices_field": "options"}, "no field 'options' \\(choices_field\\)"),
            ({"choices_field": "question"}, "'question' of its Input .* is no list"),
            (
                {"choices_field": None, "only_choices": True},
                "only_choices, and no choices_field",
            ),
        ],
    )
    def test_a_wrong_declaration_is_refused_at_load(
        self, members: dict[str, Any], problem: str
    ) -> None:
        from evalkit.errors import PluginError
        from evalkit.plugins.resolver import Resolver

        base = type(Resolver(evalkit.Registry()).bind("tasks", "choosing", None).plugin)
        wrong = type("Wrong", (base,), members)
        with pytest.raises(PluginError, match=problem):
            evalkit.evaluate("x.jsonl", [], task=wrong)
