"""Plugins for the tests of scores under perturbation, and a registry that has them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel

import evalkit
from evalkit import Result, Score
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import Catalog
from evalkit.plugins.registry import Registry
from evalkit_analysis_robustness import evaluate_perturbed, find_effects

LABELS = ("a", "b", "c")


class Asked(BaseModel):
    uid: str
    text: str


class Said(BaseModel):
    id: str
    label: str | None = None
    conf: float | None = None


class Task(evalkit.TaskIO):
    Input = Asked
    Output = Said
    answer_field = "label"
    labels = LABELS
    example = {"uid": "1", "text": "x"}
    perf_metric = "right"
    scored_fields = ("conf",)
    verify_fields = ("text",)

    def verify_response(
        self, response: Mapping[str, Any], example: Mapping[str, Any]
    ) -> None:
        assert not (response["label"] == "c" and "no c" in example["text"])


class Data(evalkit.Dataset):
    """The rows that it is made with."""

    task = "letters"
    labels = {"A": "a", "B": "b", "C": "c"}

    def __init__(self, rows: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__()
        self.rows = list(rows)

    def load(self, split: str) -> list[Mapping[str, Any]]:
        return self.rows


class Clustered(Data):
    cluster = "page"


class SelfScored(Data):
    def evaluate(self, frame: pl.DataFrame) -> Mapping[str, float]:
        return {"rows": frame.height}


class Faceted(Data):
    """Its tags are made of a column."""

    def label_field_converter(self, example: Mapping[str, Any]) -> Mapping[str, Any]:
        return {
            "id": example["uid"],
            "answer": example["label"],
            "tags": [f"kind:{example['kind']}"],
        }


class Right(evalkit.Metric):
    """A share, as accuracy is."""

    unit = "%"
    scale = 100.0
    bounds = (0.0, 1.0)
    higher_is_better = True
    interval = "wilson"
    per_example = "right"
    accepts_no_prediction = True

    def statistics(self, batch: pl.DataFrame, context: Any) -> pl.DataFrame:
        if context.answer_kind == "any-of":
            right = batch["target"].list.contains(batch["prediction"])
        else:
            right = batch["prediction"] == batch["target"]
        right = right.fill_null(False).cast(pl.Float64).alias("right")
        return right.to_frame().with_row_index("row").with_columns(all=pl.lit(1.0))

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("right") / pl.col("all"))


class Distance(evalkit.Metric):
    """How far apart two letters are; lower is better, and c has no score."""

    higher_is_better = False
    worst_value = 2.0

    def score_example(self, prediction: str, target: str) -> float | None:
        return None if prediction == "c" else abs(ord(prediction) - ord(target)) / 3


class Undirected(evalkit.Metric):
    def score_example(self, prediction: str, target: str) -> float:
        return float(prediction < target)


class MacroRecall(evalkit.Metric):
    """The mean of the labels' recalls, and each of them."""

    bounds = (0.0, 1.0)
    higher_is_better = True
    interval = "multinomial"
    keys = ("gold", "predicted")
    accepts_no_prediction = True

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        return batch.select(
            gold="target", predicted=pl.col("prediction").fill_null("")
        ).with_columns(row=pl.int_range(pl.len()), count=pl.lit(1.0))

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        count = pl.col("count")
        is_right = pl.col("gold") == pl.col("predicted")
        recalls = sums.group_by("group", score="gold").agg(
            value=count.filter(is_right).sum() / count.sum()
        )
        mean = recalls.group_by("group").agg(value=pl.col("value").mean())
        return pl.concat(
            [mean.select("group", "value", score=pl.lit("")), recalls],
            how="diagonal_relaxed",
        )


class Furthest(evalkit.Metric):
    """A statistic that does not add up."""

    merges = {"distance": "max"}
    higher_is_better = False

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        pairs = zip(batch["prediction"], batch["target"], strict=True)
        distances = [abs(ord(one) - ord(other)) * 1.0 for one, other in pairs]
        return pl.DataFrame({"row": range(batch.height), "distance": distances})

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value="distance")


class RootMean(evalkit.Metric):
    """Has per-example scores, but is not their mean."""

    per_example = "square"
    higher_is_better = False

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        pairs = zip(batch["prediction"], batch["target"], strict=True)
        squares = [float(ord(one) - ord(other)) ** 2 for one, other in pairs]
        return pl.DataFrame(
            {"row": range(batch.height), "square": squares, "all": 1.0},
            schema_overrides={"all": pl.Float64},
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=(pl.col("square") / pl.col("all")).sqrt())


class FailsOnCopies(evalkit.Metric):
    higher_is_better = True
    columns = ("text",)

    def score_example(
        self, prediction: str, target: str, fields: Mapping[str, Any]
    ) -> float:
        if fields["text"].startswith("copy"):
            raise LookupError("no copies, please")
        return 1.0


@evalkit.metric(higher_is_better=True)
def get_share(predictions: list[str], targets: list[str]) -> float:
    """Share of right predictions, of two lists."""
    pairs = zip(predictions, targets, strict=True)
    return sum(one == other for one, other in pairs) / len(predictions)


class Invariant(evalkit.Perturbation):
    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}

    class Parameters(evalkit.Parameters):
        prob: float = 0.1

    def perturb(self, text: str) -> str:
        return text.upper()


class Swap(Invariant):
    families = {"fairness", "robustness"}
    label_effect = {"letters": "invariant", "*": "uncertain"}


class Contrast(Invariant):
    families = {"robustness"}
    label_effect = {"*": "transforms"}


class Doubtful(Invariant):
    label_effect = {"letters": "uncertain"}


class Directed(Contrast):
    """Expects that predictions never go down the alphabet."""

    def expect(
        self,
        original: Mapping[str, Any],
        perturbed: Mapping[str, Any],
        original_pred: str | None,
        perturbed_pred: str | None,
    ) -> str:
        if "skip" in perturbed["tags"] or "x" not in original["tags"]:
            return "not applicable"
        assert original["uid"] == str(perturbed["input_id"])
        return "pass" if (perturbed_pred or "") >= (original_pred or "") else "fail"


class Listed(Directed):
    """Reads a list of words."""

    class Parameters(evalkit.Parameters):
        words: list[Path] | None = None
        prob: float = 0.1

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters)
        for file in parameters.words or ():
            file.read_text(encoding="utf-8")


class Broken(Directed):
    def expect(self, original: Mapping[str, Any]) -> str:
        return ["maybe"][len(original["uid"]) - 1]


_PLUGINS = {
    "tasks": {"letters": "Task"},
    "metrics": {
        "right": "Right",
        "distance": "Distance",
        "macro-recall": "MacroRecall",
    },
    "perturbations": {
        "invariant": "Invariant",
        "swap": "Swap",
        "contrast": "Contrast",
        "doubtful": "Doubtful",
        "directed": "Directed",
        "broken": "Broken",
        "listed": "Listed",
    },
}

REGISTRY = Registry(
    Catalog(
        tuple(
            Component(kind, name, f"{__name__}:{value}", "letters", "1")
            for kind, names in _PLUGINS.items()
            for name, value in names.items()
        ),
        (),
    )
)


def example(uid: str, label: str, *tags: str, **fields: Any) -> dict[str, Any]:
    """Make a row of the data."""
    stored = {"uid": uid, "text": f"text {uid}", "label": label.upper()}
    return {**stored, "tags": list(tags), **fields}


def copy(
    uid: str,
    original: Mapping[str, Any],
    perturbation: str = "invariant",
    **changes: Any,
) -> dict[str, Any]:
    """Make a row of a perturbed file."""
    made = {"uid": uid, "input_id": original["uid"], "perturbation": perturbation}
    if "label" in changes:
        changes["label"] = changes["label"].upper()
    return {**original, "text": f"copy {uid}", **changes, **made}


def answers(**labels: str | None) -> list[dict[str, Any]]:
    """Make predictions by id."""
    return [{"id": uid, "label": label} for uid, label in labels.items()]


def evaluate(
    rows: Iterable[Mapping[str, Any]],
    predictions: Any,
    copies: Any,
    answers: Any,
    *,
    dataset: type[Data] = Data,
    **options: Any,
) -> Result:
    """Evaluate with one table of copies."""
    options = {"metrics": ["right"], "registry": REGISTRY, **options}
    return evaluate_perturbed(
        dataset(list(rows)),
        predictions,
        perturbed=[copies],
        perturbed_predictions=[answers],
        **options,
    )


def scores_of(result: Result) -> Sequence[Score]:
    """Return the scores under perturbation."""
    return find_effects(result).scores


def found(
    result: Result,
    computed_on: str,
    perturbation: str = "invariant",
    metric: str = "right",
    tag: str | None = None,
) -> Score:
    """Give the one score that is asked for."""
    [score] = [
        score
        for score in scores_of(result)
        if (score.metric, score.perturbation, score.computed_on, score.tag)
        == (metric, perturbation, computed_on, tag)
    ]
    return score
