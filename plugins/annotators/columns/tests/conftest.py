"""A distribution with annotators, and metrics that read what they say."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit_analysis_robustness import evaluate_perturbed

CODE = '''
import json
import os
from decimal import Decimal
from pathlib import Path

import evalkit
from evalkit_analysis_robustness import evaluate_perturbed


def note(name):
    with Path(os.environ["ASKED"]).open("a") as stream:
        stream.write(name + "\\n")


class Length(evalkit.Annotator):
    """Counts the words of a text."""

    version = "1"
    reads = ("statement",)

    class Parameters(evalkit.Parameters):
        factor: int = 1

    def annotate_example(self, fields):
        note("length")
        return len(fields["statement"].split()) * self.parameters.factor


class Judge(evalkit.Annotator):
    version = "1"
    columns = ("score", "why")
    reads = ("statement",)
    batch_rows = 2
    pause = 0

    def annotate_batch(self, predictions, targets, fields):
        note("judge " + ",".join(fields["statement"]))
        if "bug" in fields["statement"]:
            raise LookupError("no such word")
        if "odd" in fields["statement"] and len(predictions) == 1:
            return [evalkit.NotScored("odd")]
        if "down" in fields["statement"]:
            raise ConnectionError("hung up")
        return [
            evalkit.NotScored("odd") if text == "odd" else
            evalkit.Annotation({"score": float(said == gold), "why": text}, cost=1)
            for said, gold, text in zip(predictions, targets, fields["statement"])
        ]


class Agrees(evalkit.Annotator):
    """Needs nothing that a run does not hold."""

    version = "1"

    def annotate_example(self, prediction, target):
        note(f"agrees {prediction} {target}")
        return prediction == target


class Agreed(evalkit.Metric):
    columns = ("agrees",)
    bounds = (0, 1)

    def score_example(self, fields):
        return float(fields["agrees"])


class Says(evalkit.Annotator):
    """Says what a text is in Python."""

    version = "1"
    reads = ("statement",)
    pause = 0
    retries = 1

    def annotate_example(self, fields):
        text = fields.pop("statement")
        note("says " + ascii(text))
        return eval(text)


def stop(error):
    raise error


def handled(first, second):
    try:
        raise first
    except ConnectionError:
        raise second


class Words(evalkit.Metric):
    columns = ("length",)

    def score_example(self, fields):
        return fields["length"]


class Said(evalkit.Metric):
    columns = ("says",)
    most_not_scored = 1.0

    def score_example(self, fields):
        return float(isinstance(fields["says"], float) and fields["says"])


class Times(evalkit.Metric):
    columns = ("length:factor=10",)

    def score_example(self, fields):
        return fields["length:factor=10"]


class Judged(evalkit.Metric):
    columns = ("judge.score",)
    bounds = (0, 1)
    most_not_scored = 0.6

    def score_example(self, prediction, fields):
        return fields["judge.score"]


class Explained(evalkit.Metric):
    columns = ("judge.why",)
    most_not_scored = 0.6

    def score_example(self, prediction, fields):
        return float(len(fields["judge.why"]))


class Listed(evalkit.Metric):
    columns = ("judge.score",)
    most_not_scored = 0.6

    def statistics(self, batch):
        import polars as pl
        return batch.select(row=pl.int_range(pl.len()), total="judge.score")

    def finalize(self, sums):
        return sums.rename({"total": "value"})


class Wrong(evalkit.Metric):
    columns = ("judge.nothing",)

    def score_example(self, fields):
        return 1.0


class Elsewhere(Wrong):
    columns = ("toxicity",)
'''

ENTRY_POINTS: Mapping[str, Mapping[str, str]] = {
    "evalkit.annotators": {
        "length": "Length",
        "judge": "Judge",
        "says": "Says",
        "agrees": "Agrees",
    },
    "evalkit.metrics": {
        **{"words": "Words", "times": "Times", "judged": "Judged", "agreed": "Agreed"},
        **{
            "said": "Said",
            "explained": "Explained",
            "listed": "Listed",
            "wrong": "Wrong",
            "elsewhere": "Elsewhere",
        },
    },
    "evalkit.known": {"annotators/toxicity": "evalkit_annotators_toxicity"},
}


class Bench:
    """Evaluates texts with the annotators above, and says what they were asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "asked.txt"

    def asked(self) -> list[str]:
        """Return what annotators were asked since this was last called."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines

    def evaluate(
        self, texts: list[str], metrics: list[str], **options: Any
    ) -> evalkit.Result:
        rows = options.pop("rows", None) or [
            {"uid": str(n), "statement": text, "label": "positive"}
            for n, text in enumerate(texts)
        ]
        said = [{"id": row["uid"], "label": "positive"} for row in rows]
        given = options.pop("said", said)
        path = self.folder / "data.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        call = evaluate_perturbed if "perturbed" in options else evalkit.evaluate
        return call(str(path), given, task="sentiment", metrics=metrics, **options)


@pytest.fixture
def bench(
    fake_distribution: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Bench:
    """Install the plugins above as the distribution `judges` 2.0."""
    fake_distribution(CODE, ENTRY_POINTS, name="judges", version="2.0")
    found = Bench(tmp_path)
    monkeypatch.setenv("ASKED", str(found.log))
    return found
