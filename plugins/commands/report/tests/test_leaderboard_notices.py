"""What `evalkit leaderboard` says of runs that are not alike."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import evalkit

Invoke = Callable[..., Result]

LABELS = ("positive", "negative")


@pytest.fixture
def evaluate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., evalkit.Result]:
    """Return a function that evaluates a model on one of two data sets."""
    monkeypatch.chdir(tmp_path)
    for name in ("film", "food"):
        rows = [
            {
                "uid": str(n),
                "statement": name,
                "label": LABELS[n % 2],
                "tags": ["few:yes"] if n < 4 else [],
            }
            for n in range(60)
        ]
        Path(f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def run(
        name: str, model: str, wrong: int, skipped: int = 0, **options: Any
    ) -> evalkit.Result:
        said = [
            {"id": str(n), "label": LABELS[(n + (n < wrong)) % 2]}
            for n in range(skipped, 60)
        ]
        return evalkit.evaluate(
            f"{name}.jsonl",
            said,
            task="sentiment",
            model=model,
            out="runs",
            **{"metrics": ["accuracy"], **options},
        )

    return run


def notices(invoke: Invoke, *arguments: str) -> Sequence[str]:
    found: list[str] = board(invoke, *arguments)["notices"]
    return found


def board(invoke: Invoke, *arguments: str) -> Any:
    done = invoke("leaderboard", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_ranks_of_means_do_not_depend_on_when_models_were_evaluated(
    invoke: Invoke, evaluate: Callable[..., evalkit.Result]
) -> None:
    evaluate("film", "good", 5)
    evaluate("film", "poor", 40)
    evaluate("food", "poor", 40)
    evaluate("food", "good", 5)
    found = board(invoke)
    assert found["notices"] == []
    ranks = {row["model"]: row["mean"]["rank_best"] for row in found["models"]}
    assert ranks == {"good": 1, "poor": 2}


def test_scores_of_some_examples_are_named(
    invoke: Invoke, evaluate: Callable[..., evalkit.Result]
) -> None:
    for name in ("film", "food"):
        evaluate(name, "whole", 12)
        evaluate(name, "some", 12, skipped=15, on_missing="skip")
    assert notices(invoke) == [
        f"some on {name}: 75.0% of the examples scored; with the rest wrong to right: "
        "75.0 to 100.0"
        for name in ("film", "food")
    ]
    rows = list(
        csv.DictReader(
            io.StringIO(invoke("leaderboard", "-q", "--format", "csv").stdout)
        )
    )
    shares = {(row["model"], row["kind"]): row["coverage"] for row in rows}
    assert shares["some", "score"] == "0.75"
    assert shares["whole", "score"] == "1.0"
    assert shares["some", "mean"] == ""


def test_intervals_have_the_probabilities_of_their_runs(
    invoke: Invoke, evaluate: Callable[..., evalkit.Result]
) -> None:
    evaluate("film", "good", 5, confidence=0.9)
    evaluate("film", "poor", 40)
    lines = invoke("leaderboard").stdout.splitlines()
    assert "accuracy in %, with 90 % and 95 % intervals; sorted by film" in lines
    assert (
        "notice: intervals of runs are of 90 % and 95 %; models are compared at 95 %"
        in lines
    )


def test_a_tag_of_few_examples_has_no_ranks(
    invoke: Invoke, evaluate: Callable[..., evalkit.Result]
) -> None:
    evaluate("film", "good", 5)
    evaluate("film", "poor", 40)
    assert notices(invoke, "--tag", "few:yes")[0] == (
        "film: no ranks: fewer than 10 examples with the tag few:yes"
    )


class Distance(evalkit.Metric):
    """Counts letters."""

    name = "distance"
    unit = "letters"
    higher_is_better = False

    def score_example(self, prediction: str, target: str) -> float:
        return float(len(prediction) + (prediction != target))


def test_each_unit_is_named_with_its_metrics(
    invoke: Invoke, evaluate: Callable[..., evalkit.Result]
) -> None:
    for model in ("good", "poor"):
        evaluate("film", model, 5)
        evaluate("food", model, 5, metrics=[Distance])
    lines = invoke("leaderboard", "--no-ranks").stdout.splitlines()
    assert (
        "accuracy in %, distance (lower is better) in letters, with 95 % intervals; "
        "sorted by win-rate" in lines
    )


class FirstLetters(evalkit.Metric):
    """Share of the letters of answers that are said, of all at once."""

    unit = "%"
    scale = 100
    bounds = (0, 1)
    higher_is_better = None

    def score_example(self, prediction: str, target: str) -> float:
        return float(prediction[0] == target[0])


def test_what_is_left_out_or_counts_as_wrong_is_named(
    invoke: Invoke, evaluate: Callable[..., evalkit.Result]
) -> None:
    evaluate("film", "sums", 12, 15, on_missing="skip", metrics=["macro-f1"])
    evaluate("film", "wrong", 12, 15, on_missing="wrong", metrics=["macro-f1"])
    found = notices(invoke, "--no-ranks")
    # macro-f1 may fall further by a wrong answer than by none
    assert found[0].endswith("policies on_missing: wrong and skip")
    assert found[1].startswith(
        "sums on film [2]: 75.0% of the examples scored; with the rest without a "
        "prediction to right: "
    )
    assert found[2] == (
        "wrong on film: missing or invalid predictions count as wrong: 15 of 60"
    )


def test_a_range_that_is_not_known_is_left_out(
    invoke: Invoke, evaluate: Callable[..., evalkit.Result]
) -> None:
    evaluate("film", "some", 12, 15, on_missing="skip", metrics=["f1:label=positive"])
    assert notices(invoke)[0] == "some on film: 75.0% of the examples scored"


def test_without_a_direction_this_is_why_there_are_no_ranks(
    invoke: Invoke, evaluate: Callable[..., evalkit.Result]
) -> None:
    for model in ("good", "same"):
        evaluate("film", model, 5, metrics=[FirstLetters])
    assert (
        "film: no ranks: no two models could be tested: it is not known whether "
        "higher is better" in notices(invoke)
    )
