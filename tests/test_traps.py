"""Cases in which a number could be wrong, or lost, without anybody noticing."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import BaseModel, Field, field_validator, model_validator

import evalkit
from evalkit.catalog import kind_named, read_attributes

ROWS = [
    {"uid": "a", "statement": "Good.", "label": "positive"},
    {"uid": "b", "statement": "Bad.", "label": "negative"},
]


class Data(evalkit.Dataset):
    name = "traps"
    task = "sentiment"

    def load(self, split: str) -> list[dict[str, Any]]:
        return ROWS


RIGHT = [{"id": row["uid"], "label": row["label"]} for row in ROWS]


def test_a_response_that_the_adapter_refuses_is_invalid_and_not_missing() -> None:
    class Adapting(Data):
        def adapt_response(self, response: Mapping[str, Any]) -> Mapping[str, Any]:
            return {"id": response["id"], "label": response["said"]["label"]}

    good = {"id": "a", "said": {"label": "positive"}}
    result = evalkit.evaluate(Adapting, [good, {"id": "b"}], on_invalid="wrong")
    assert result.counts["invalid"] == 1
    assert result.counts["missing"] == result.counts["unreadable"] == 0
    [problem] = result.problems
    assert (problem.status, problem.id) == ("invalid", "b")
    assert "adapt_response of datasets/traps" in problem.violations[0].rule
    said = "adapt_response of datasets/traps (given as an object) refused 1 row"
    assert said in result.notices
    assert result["accuracy"].value == 0.5


def test_labels_that_the_task_does_not_have_are_refused() -> None:
    class Misspelt(Data):
        labels = {"positive": "positiv", "negative": "negative"}

    with pytest.raises(
        evalkit.PluginContractError, match="its label 'positiv' is none"
    ):
        evalkit.evaluate(Misspelt, RIGHT)


def test_a_metric_called_like_a_fixed_column_does_not_overwrite_it() -> None:
    class Status(evalkit.Metric):
        def score_example(self, prediction: str, target: str) -> float:
            return float(prediction == target)

    result = evalkit.evaluate(Data, RIGHT, metrics=[Status])
    assert result.examples is not None
    assert result.examples["status"].to_list() == ["scored", "scored"]
    assert result.examples["metrics/status"].to_list() == [1.0, 1.0]


def test_an_output_may_have_a_field_called_error() -> None:
    class Row(BaseModel):
        uid: str

    class Found(BaseModel):
        id: str
        error: str

    class FindError(evalkit.TaskIO):
        Input = Row
        Output = Found
        answer_field = "error"
        perf_metric = "accuracy"
        example = {"uid": "1"}

    class Errors(evalkit.Dataset):
        task = "find-error"

        def load(self, split: str) -> list[dict[str, Any]]:
            return [{"uid": "1", "error": "E1"}, {"uid": "2", "error": "E2"}]

    said = [{"id": "1", "error": "E1"}, {"id": "2", "error": "E1"}]
    result = evalkit.evaluate(Errors, said, registry=task_of(FindError))
    assert result["accuracy"].value == 0.5
    assert result.counts["scored"] == 2


def test_a_function_says_which_answers_it_takes() -> None:
    @evalkit.metric(answer_kinds=("one",))
    def get_same(predictions: list[str], targets: list[str]) -> float:
        return float(all(p == t for p, t in zip(predictions, targets, strict=True)))

    several = evalkit.score(get_same, ["a", "b"], [["a", "c"], ["b"]])["same"]
    assert several.value is None
    assert str(several.reason).startswith("examples have several acceptable answers;")
    assert evalkit.score(get_same, ["a", "b"], ["a", "b"])["same"].value == 1.0


def test_the_core_is_part_of_the_run_id(tmp_path: Path) -> None:
    from evalkit.plugins.provenance import describe_core

    record = evalkit.evaluate(Data, RIGHT, out=tmp_path).to_dict()
    assert record["core"] == describe_core()
    assert len(record["core"]["source_sha256"]) == 64


@pytest.mark.slow
def test_one_unreadable_file_does_not_lose_the_other_models_scores(
    run_evalkit: Callable[..., Any], tmp_path: Path
) -> None:
    rows = [{"id": f"sent-{n:03}", "label": "positive"} for n in range(1, 136)]
    good = tmp_path / "good.jsonl"
    good.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = run_evalkit(
        "eval", "sample-sentiment", "-p", "good.jsonl", "-p", "absent.jsonl", "--json"
    )
    assert done.returncode == 1
    assert [run["model"] for run in json.loads(done.stdout)] == ["good"]
    assert "absent.jsonl: there is no such file" in done.stderr


def test_saved_columns_are_those_of_the_result(tmp_path: Path) -> None:
    result = evalkit.evaluate(Data, RIGHT, out=tmp_path)
    assert result.path is not None
    assert pl.read_parquet(result.path / "scores.parquet").equals(result.frame)


def task_of(registry_of: type[evalkit.TaskIO]) -> Any:
    """Give a registry in which every task is this one."""
    from evalkit.plugins.components import Component
    from evalkit.plugins.registry import Registry, bind

    class Only(Registry):
        def load(self, kind: str, name: str, *others: Any) -> Any:
            if kind != "tasks":
                return super().load(kind, name, *others)
            return bind(Component("tasks", name, "m:T", "here", "1"), registry_of)

    return Only()


class Statement(BaseModel):
    uid: str
    statement: str


class LabelTask(evalkit.TaskIO):
    Input = Statement
    answer_field = "label"
    perf_metric = "accuracy"
    example = {"uid": "1", "statement": "x"}


def test_the_validated_values_are_scored() -> None:
    class Tolerant(BaseModel):
        id: str
        label: str = Field("positive", alias="said")

        @field_validator("label")
        @classmethod
        def lower(cls, label: str) -> str:
            return label.lower()

    class Tolerating(LabelTask):
        Output = Tolerant

    said = [{"id": "a"}, {"id": "b", "said": "NEGATIVE"}]
    result = evalkit.evaluate(Data, said, registry=task_of(Tolerating))
    assert result["accuracy"].value == 1.0
    assert result.notices == ()


class Plain(BaseModel):
    id: str
    label: str


def test_a_check_cannot_change_a_response() -> None:
    class Meddling(LabelTask):
        Output = Plain

        def verify_response(self, response: dict[str, Any]) -> None:
            response["label"] = "positive"

    result = evalkit.evaluate(Data, RIGHT, registry=task_of(Meddling))
    assert result["accuracy"].value == 1.0


def test_an_adapter_cannot_change_what_the_caller_gave() -> None:
    class Meddling(Data):
        def adapt_response(self, response: dict[str, Any]) -> dict[str, Any]:
            response["label"] = "positive"
            return response

    given = [dict(row) for row in RIGHT]
    result = evalkit.evaluate(Meddling, given)
    assert given == RIGHT
    assert result["accuracy"].value == 0.5
    unchanged = evalkit.evaluate(Data, RIGHT).to_dict()["predictions"]
    assert result.to_dict()["predictions"] == unchanged


class RootMeanSquare(evalkit.Metric):
    per_example = "square"
    interval = "bootstrap"

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        error = pl.col("prediction") - pl.col("target")
        return batch.select(square=error**2, n=pl.lit(1.0)).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        root = (pl.col("square") / pl.col("n")).sqrt()
        main = sums.select("group", score=pl.lit(""), value=root)
        other = sums.select("group", score=pl.lit("plus-100"), value=root + 100)
        return pl.concat([main, other])


def test_an_interval_is_that_of_the_value_it_stands_beside() -> None:
    predictions = [float(number % 7) for number in range(60)]
    result = evalkit.score(RootMeanSquare, predictions, [0.0] * 60)
    for name in ("root-mean-square", "root-mean-square#plus-100"):
        score = result[name]
        assert score.ci_method == "bootstrap"
        assert score.value is not None
        assert score.ci is not None
        assert score.ci.low < score.value < score.ci.high
    assert result["root-mean-square#plus-100"].mean is None


def test_what_is_no_mean_gets_the_interval_of_its_influences() -> None:
    class Wrong(RootMeanSquare):
        name = "wrong"
        interval = "t"

    squares = np.array([1.0, 4.0, 16.0])
    score = evalkit.score(Wrong, np.sqrt(squares).tolist(), [0.0] * 3)["wrong"]
    # the derivative of sqrt(m) is 1 / (2 sqrt(m))
    expected = squares.std(ddof=1) / np.sqrt(3) / (2 * np.sqrt(squares.mean()))
    assert score.ci_method == "delta"
    assert score.se == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"interval": "wilson"}, "interval 'wilson' is for the mean"),
        ({"bounds": (1.0, 0.0)}, "bounds 1.0 to 0.0 are not in order"),
        ({"columns": ("target",)}, "columns holds 'target'"),
        ({"keys": ("row",)}, "keys holds 'row'"),
        ({"interval": "multinomial", "keys": ("gold",)}, "needs two keys"),
        ({"interval": "delta"}, "'delta' is not for a function of lists"),
    ],
)
def test_attributes_that_do_not_fit_are_refused(
    members: dict[str, Any], words: str
) -> None:
    def compute(self: Any, predictions: list[Any], targets: list[Any]) -> float:
        return 0.5

    metric = type("Unfit", (evalkit.Metric,), {**members, "compute": compute})
    with pytest.raises(evalkit.PluginContractError, match=words):
        evalkit.score(metric, ["a"], ["a"])


class Unreadable(BaseModel):
    uid: str

    @model_validator(mode="before")
    @classmethod
    def fail(cls, data: Any) -> Any:
        raise LookupError("no such row")


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"scored_fields": ("status",)}, "scored field 'status'"),
        ({"answer_field": "lable"}, "no field 'lable'"),
        ({"example": {"uid": "1"}}, "its example is not a valid Input: statement"),
        ({"Input": Unreadable}, "its Input failed for its example with LookupError"),
    ],
)
def test_a_task_whose_attributes_do_not_fit_is_refused(
    members: dict[str, Any], words: str
) -> None:
    unfit = type("Unfit", (LabelTask,), {"Output": Plain, **members})
    with pytest.raises(evalkit.PluginContractError, match=words):
        evalkit.evaluate(Data, RIGHT, registry=task_of(unfit))


@pytest.mark.parametrize("aggregate", ["mean", "macro:", "worst:part"])
def test_a_data_set_with_another_aggregate_is_refused(aggregate: str) -> None:
    unfit = type("Unfit", (evalkit.Dataset,), {"task": "t", "aggregate": aggregate})
    values, problems = read_attributes("datasets", unfit())
    check = kind_named("datasets").check
    assert check is not None
    assert (problems or check(values, ["load"])) == [
        f"its aggregate must be 'macro:FACET', is {aggregate!r}"
    ]


def test_values_too_large_to_sum_give_null_and_the_reason() -> None:
    class Huge(evalkit.Metric):
        def score_example(self, prediction: float, target: float) -> float:
            return prediction

    overflown = evalkit.score(Huge, [1e308] * 5, [0.0] * 5)["huge"]
    assert overflown.value is None
    assert overflown.reason == "the sum of the scores is too large for a number"
    wide = evalkit.score(Huge, [1e200, -1e200], [0.0] * 2)["huge"]
    assert (wide.value, wide.ci) == (0.0, None)


def test_a_failing_replicate_does_not_lose_the_value() -> None:
    class Fragile(RootMeanSquare):
        name = "fragile"

        def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
            if sums["group"].n_unique() > 1:
                raise ValueError("too many")
            return super().finalize(sums)

    score = evalkit.score(Fragile, [1.0, 2.0], [0.0, 0.0])["fragile"]
    assert score.value == pytest.approx(2.5**0.5)
    assert score.reason is not None
    assert "the bootstrap failed" in score.reason


def test_a_run_is_not_passed_off_as_another_of_the_same_id(tmp_path: Path) -> None:
    class Threshold(evalkit.Metric):
        def __init__(self, value: float) -> None:
            super().__init__()
            self.value = value

        def score_example(self, prediction: str, target: str) -> float:
            return self.value

    first, other = (
        evalkit.evaluate(Data, RIGHT, metrics=[Threshold(value)], out=tmp_path)
        for value in (0.1, 0.9)
    )
    assert other.path != first.path
    stored = [evalkit.read_run(run.path or "")["threshold"] for run in (first, other)]
    assert [score.value for score in stored] == [0.1, 0.9]


def test_a_run_without_examples_does_not_quote_the_data(tmp_path: Path) -> None:
    def get_failing(predictions: list[str], targets: list[str]) -> float:
        raise ValueError(f"SECRET {predictions}")

    class Quoting(LabelTask):
        Output = Plain

        def verify_response(self, response: dict[str, Any]) -> None:
            assert response["label"] != "negative", f"SECRET {response}"

    said = [{**RIGHT[0], "SECRET": 1}, RIGHT[1]]
    result = evalkit.evaluate(
        Data,
        said,
        metrics=["accuracy", get_failing],
        on_invalid="skip",
        include_examples=False,
        registry=task_of(Quoting),
        out=tmp_path,
    )
    assert result.status == "partial"
    assert result.path is not None
    files = [path for path in result.path.rglob("*") if path.is_file()]
    assert len(files) > 3
    for path in files:
        assert b"SECRET" not in path.read_bytes()


def test_nothing_scored_is_not_complete() -> None:
    result = evalkit.evaluate(Data, [], on_missing="skip")
    assert result.status == "partial"
    assert result.to_dict()["errors"] == ["no example was scored"]


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_predictions_may_be_a_table(library: str) -> None:
    import pandas as pd
    import pyarrow as pa

    make: dict[str, Any] = {
        "polars": pl.DataFrame,
        "pandas": pd.DataFrame,
        "pyarrow": pa.Table.from_pylist,
    }
    assert evalkit.evaluate(Data, make[library](RIGHT))["accuracy"].value == 1.0


def test_a_pipe_is_refused_rather_than_read_in_part(tmp_path: Path) -> None:
    import os

    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(evalkit.DataError, match="is a pipe or a device"):
        evalkit.evaluate(Data, pipe)


def test_refusals_say_what_is_really_wrong() -> None:
    with pytest.raises(evalkit.AlignmentError, match="there are no predictions"):
        evalkit.evaluate(Data, [])
    strange = [{"id": "x", "label": "positive"}]
    with pytest.raises(
        evalkit.AlignmentError, match="none of their ids is in the data"
    ):
        evalkit.evaluate(Data, strange)


def test_a_model_is_called_after_its_whole_file_name() -> None:
    from evalkit.reading.formats import model_name

    names = ("llama-3.1-8b.jsonl", "a.jsonl.out", "plain.txt", "b", ".jsonl")
    found = [model_name(Path(name)) for name in names]
    assert found == ["llama-3.1-8b", "a", "plain", "b", ".jsonl"]


def test_one_metric_may_be_named_without_a_list() -> None:
    assert evalkit.evaluate(Data, RIGHT, metrics="accuracy").metrics == ["accuracy"]


def test_undeclared_keys_are_not_listed_without_end() -> None:
    said = [{**RIGHT[0], **{f"key{n:02}": n for n in range(12)}}, RIGHT[1]]
    notices = evalkit.evaluate(Data, said).notices
    assert len(notices) == 11
    assert notices[0].startswith("1 row with the key 'key00'")
    assert notices[-1] == "2 other undeclared keys left out"


def test_a_score_of_an_example_must_be_finite() -> None:
    def statistics(self: Any, batch: pl.DataFrame) -> pl.DataFrame:
        return batch.select(square=pl.lit(float("nan")), n=1.0).with_row_index("row")

    metric = type("Nan", (RootMeanSquare,), {"name": "nan", "statistics": statistics})
    with pytest.raises(
        evalkit.MetricError, match="'square' of an example is not finite"
    ):
        evalkit.score(metric, [1.0, 2.0], [0.0, 0.0])


def test_parameters_must_be_finite() -> None:
    from evalkit.plugins.components import Component
    from evalkit.plugins.registry import bind

    class Threshold(evalkit.Metric):
        class Parameters(evalkit.Parameters):
            value: float = 0.5

        def score_example(self, prediction: str, target: str) -> float:
            return 0.0

    component = Component("metrics", "threshold", "m:T", "here", "1")
    with pytest.raises(evalkit.PluginContractError, match="must be finite"):
        bind(component, Threshold, {"value": "inf"})


def test_a_bootstrap_is_not_for_the_mean_of_examples() -> None:
    def score_example(self: Any, prediction: str, target: str) -> float:
        return 0.0

    members = {"interval": "bootstrap", "score_example": score_example}
    metric = type("Unfit", (evalkit.Metric,), members)
    with pytest.raises(evalkit.PluginContractError, match="is not for score_example"):
        evalkit.score(metric, ["a"], ["a"])
