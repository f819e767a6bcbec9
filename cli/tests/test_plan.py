"""`evalkit plan`: how many examples find a difference."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

Invoke = Callable[..., Result]
Write = Callable[..., str]


@pytest.fixture
def runs(invoke: Invoke, plugins: Any, write_rows: Write, predict: Write) -> Invoke:
    """Evaluate two models on two hundred examples in forty texts."""
    labels = ("positive", "negative")
    rows = [
        {"uid": n, "statement": f"text {n}", "label": labels[n % 2], "text_id": n // 5}
        for n in range(1, 201)
    ]
    file = write_rows("set.jsonl", rows)
    for model, wrong in (("base", 3), ("new", 5)):
        said = [
            row["label"] if n % wrong and n % 7 else labels[n % 2]
            for n, row in enumerate(rows)
        ]
        arguments = ("--task", "sentiment", "-p", predict(f"{model}.jsonl", said))
        for folder, options in (("runs", ()), ("texts", ("--cluster", "text_id"))):
            arguments += ("-m", "accuracy", "-m", "macro-f1", "-q")
            done = invoke("eval", file, *arguments, *options, "-o", folder)
            assert done.exit_code == 0, done.stderr
    return invoke


@pytest.mark.slow
def test_one_run_gives_a_table(runs: Invoke) -> None:
    done = runs("plan", "base", "--detect", "2pt", "-m", "accuracy", "--tags", "10")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("accuracy: base, 200 examples; now 57.")
    assert lines[1] == (
        "To find a difference of 2.0 points on each of 10 tags with 80 % power at the "
        "level 0.005:"
    )
    header = "correlation  one alone right  examples  interval of one model  a tag of "
    assert lines[3] == f"{header}200 would find"
    rows = [line.split() for line in lines[4:9]]
    assert [row[0] for row in rows] == ["0.00", "0.25", "0.50", "0.75", "0.90"]
    assert [row[-1] for row in rows] == ["points"] * 5
    assert "It holds if:" in lines
    assert [line for line in lines if "Bonferroni" in line]


@pytest.mark.slow
def test_the_same_is_given_as_json(runs: Invoke) -> None:
    arguments = ("plan", "base", "new", "-m", "accuracy", "--detect")
    by_points = json.loads(runs(*arguments, "2pt", "--json").stdout)
    assert by_points == json.loads(runs(*arguments, "0.02", "--json").stdout)
    [row] = by_points["rows"]
    assert (row["correlation"], row["clusters"]) == (None, None)
    assert row["examples"] > 1000
    assert by_points["models"] == ["base", "new"]
    by_variable = runs(*arguments[:-1], "--json", EVALKIT_DETECT="2pt").stdout
    assert json.loads(by_variable) == by_points
    more = json.loads(runs(*arguments, "2pt", "--power", "0.95", "--json").stdout)
    assert more["rows"][0]["examples"] > row["examples"]


def test_the_score_now_says_of_how_many_examples_it_is(
    invoke: Invoke, plugins: Any, predict: Write
) -> None:
    labels = ("positive", "negative", "neutral", "positive")
    said = {"full": labels[:3], "few": ("neutral", "negative")}
    for model, answers in said.items():
        arguments = ("-p", predict(f"{model}.jsonl", answers), "-m", "accuracy", "-q")
        done = invoke("eval", "tiny", *arguments, "--on-missing", "skip")
        assert done.exit_code == 0, done.stderr
    title = invoke("plan", "full", "few", "--detect", "60pt").stdout.splitlines()[0]
    assert title.startswith("accuracy: full and few, 2 examples scored in both runs; ")
    assert title.endswith(" of full on its 3 examples")


@pytest.mark.parametrize("size", ["2%", "pt", "two", "-1pt", "0", "nan", "1e999"])
def test_another_size_is_wrong_usage(invoke: Invoke, size: str) -> None:
    done = invoke("plan", "base", f"--detect={size}")  # before any run is looked for
    assert done.exit_code == 2
    said = " ".join(done.stderr.split())
    assert "is not of the form 2pt (percentage points) or 0.02 (as stored)." in said
    assert ("2pt are points" in said) == (size == "2%")


@pytest.mark.slow
def test_what_cannot_be_planned_is_an_error(
    runs: Invoke, predict: Write, plugins: Any
) -> None:
    done = runs("plan", "base", "--detect", "99pt", "-m", "accuracy")
    assert done.exit_code == 1
    assert "must be at most 0.57, got 0.99" in done.stderr
    assert runs("plan", "base", "new", "base", "--detect", "2pt").exit_code == 2
    assert runs("plan", "--detect", "2pt").exit_code == 2
    file = predict("lengths.jsonl", ("positive", "negative", "neutral", "positive"))
    runs("eval", "tiny", "-p", file, "-m", "label-length", "-q", "-o", "lengths")
    done = runs("plan", "latest", "--detect", "2pt", "-o", "lengths")
    assert done.exit_code == 1
    assert "label-length is no proportion: give the difference in" in done.stderr
    done = runs("plan", "latest", "--detect", "0.25", "-o", "lengths")
    assert done.exit_code == 0, done.stderr
    assert "To find a difference of 0.25 chars with 80 % power" in done.stdout
