"""Plugins and predictions for the tests of what is done with runs later."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from evalkit import Result, Score

SIZE = 120
LABELS = ("hateful", "neutral", "other")

CODE = '''
"""A data set like HateCheck in small, and metrics of every kind."""

import math

import evalkit
import numpy as np
import polars as pl
from evalkit import Parameters
from pydantic import BaseModel


class Post(BaseModel):
    uid: str
    text: str
    part: str
    number: int


class Said(BaseModel):
    id: str
    label: str | None = None
    conf: float | None = None


class Task(evalkit.TaskIO):
    Input = Post
    Output = Said
    answer_field = "label"
    labels = ("hateful", "neutral", "other")
    example = {"uid": "1", "text": "x", "part": "0", "number": 1}
    scored_fields = ("conf",)
    perf_metric = "accuracy"


class Data(evalkit.Dataset):
    task = "posts"
    version = "1.0"
    aggregate = "macro:functionality"

    def load(self, split):
        return [self.row(i) for i in range(120)]

    def row(self, i):
        target = ("women", "people", None)[i % 7 % 3]
        tags = [f"functionality:{'abcde'[i // 3 % 5]}", *(["long"] if i % 4 else [])]
        return {
            "uid": f"e{i:03}",
            "text": "word " * (1 + i * 7 % 11),
            "part": str(i * 13 % 10),
            "number": i,
            "template": f"t{i * i % 17}",
            "label": ("hateful", "neutral", "other")[i * 11 % 5 // 2],
            "tags": tags + ([f"target:{target}"] if target else []),
        }


class Clustered(Data):
    cluster = "template"


class AnyOf(Data):
    def row(self, i):
        row = super().row(i)
        if row["part"] == "3":
            row["label"] = [row["label"], "other"] if i % 2 else [row["label"]]
        return row


class Own(Data):
    def evaluate(self, frame):
        return {"rows": frame.height}


class Closeness(evalkit.Metric):
    """Real scores of examples, some of them None."""

    bounds = (0.0, 1.0)
    higher_is_better = True

    def score_example(self, prediction, target):
        if prediction == "other" and target == "other":
            return None
        return 1.0 if prediction == target else len(prediction) / (10 + len(target))


class Resampled(evalkit.Metric):
    """A ratio that is resampled."""

    higher_is_better = True
    columns = ("conf",)

    def statistics(self, batch):
        right = batch["prediction"] == batch["target"]
        conf = batch["conf"].fill_null(0.5)
        columns = {"above": right * conf, "below": conf}
        return pl.DataFrame({"row": range(batch.height), **columns})

    def finalize(self, sums):
        return sums.select("group", value=pl.col("above") / pl.col("below"))


class Delta(Resampled):
    interval = "delta"
    columns = ("conf",)


class Letters(evalkit.Metric):
    """Several rows an example."""

    keys = ("letter",)

    def statistics(self, batch):
        letters = batch.select(letter=pl.col("prediction").str.split(""))
        rows = letters.with_row_index("row").explode("letter")
        return rows.filter(pl.col("letter") != "").with_columns(n=pl.lit(1.0))

    def finalize(self, sums):
        vowel = pl.col("letter").is_in(list("aeiou"))
        totals = sums.group_by("group").agg(
            value=pl.col("n").filter(vowel).sum() / pl.col("n").sum()
        )
        return totals.select("group", "value")


class Extremes(evalkit.Metric):
    """Every other way to merge."""

    columns = ("conf",)
    merges = {"least": "min", "most": "max", "spread": "moments", "kept": "values"}

    def statistics(self, batch):
        conf = batch["conf"].fill_null(0.5)
        columns = {name: conf for name in self.merges}
        return pl.DataFrame({"row": range(batch.height), **columns})

    def finalize(self, sums):
        spread = (pl.col("spread_m2") / pl.col("spread_count")).sqrt()
        parts = {
            "": pl.col("kept").list.median(),
            "range": pl.col("most") - pl.col("least"),
            "spread": spread,
        }
        return pl.concat(
            sums.select("group", value=value, score=pl.lit(name))
            for name, value in parts.items()
        )


class Words(evalkit.Metric):
    """Needs a field of the input."""

    columns = ("text",)
    bounds = (0.0, None)

    def score_example(self, prediction, fields):
        return float(len(fields["text"].split()))


class Scaled(Closeness):
    class Parameters(Parameters):
        weight: float = 1.0
        name: str = "plain"

    def score_example(self, prediction, target):
        return self.parameters.weight * (prediction == target)


@evalkit.metric(unit="%", bounds=(0, 1), higher_is_better=True, scale=100)
def get_agreement(predictions, targets):
    return sum(p == t for p, t in zip(predictions, targets)) / len(targets)


class Nan(evalkit.Metric):
    def score_example(self, prediction, target):
        return math.nan if prediction == "other" else 1.0


class Raises(evalkit.Metric):
    def score_example(self, prediction, target):
        if prediction == "other":
            raise LookupError("no such word")
        return 1.0


class Absent(evalkit.Metric):
    columns = ("colour",)

    def score_example(self, prediction, fields):
        return 1.0


class Undeclared(evalkit.Metric):
    def statistics(self, batch):
        return batch.select(x=pl.col("part").len()).with_row_index("row")

    def finalize(self, sums):
        return sums.select("group", value="x")
'''

ENTRY_POINTS = {
    "evalkit.tasks": {"posts": "Task"},
    "evalkit.datasets": {
        "posts": "Data",
        "clustered": "Clustered",
        "any-of": "AnyOf",
        "own": "Own",
    },
    "evalkit.metrics": {
        "closeness": "Closeness",
        "resampled": "Resampled",
        "delta": "Delta",
        "letters": "Letters",
        "extremes": "Extremes",
        "words": "Words",
        "scaled": "Scaled",
        "agreement": "get_agreement",
        "nan": "Nan",
        "raises": "Raises",
        "absent": "Absent",
        "undeclared": "Undeclared",
    },
}

EVERY_KIND = [
    "accuracy",
    "closeness",
    "macro-f1",
    "resampled",
    "delta",
    "letters",
    "extremes",
    "agreement",
]


def predictions(replications: int = 0, seed: int = 0) -> list[dict[str, Any]]:
    """Predict every example, several times each where asked for."""
    random = np.random.default_rng(seed)
    rows = []
    for i in range(SIZE):
        for number in range(max(1, replications)):
            is_right = random.random() < 0.7
            label = LABELS[i * 11 % 5 // 2 if is_right else random.integers(3)]
            conf = round(float(random.random()), 3)
            row: dict[str, Any] = {"id": f"e{i:03}", "label": label, "conf": conf}
            if replications:
                row["_replication_"] = number
            rows.append(row)
    return rows


def write_predictions(path: Path, rows: Iterable[Any]) -> Path:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def install(fake_distribution: Callable[..., Any], version: str = "1.0") -> Any:
    """Install the plugins above as the distribution `posts`."""
    return fake_distribution(CODE, ENTRY_POINTS, name="posts", version=version)


def scores_of(result: Result, *metrics: str) -> list[Score]:
    """Give the scores of some metrics, all by default."""
    return [
        score
        for score in result.scores
        if not metrics or score.metric.partition("#")[0] in metrics
    ]
