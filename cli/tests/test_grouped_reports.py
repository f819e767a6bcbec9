"""`--by`, `--min-n`, and what reports say about groups, facets and intervals."""

import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from share_intervals import share_interval as interval_of_share

from .test_snapshots import PLUGINS

Invoke = Callable[..., Result]
Write = Callable[..., str]

SHAPES = (
    PLUGINS
    + '''

class Off(evalkit.Metric):
    """One where the label is right and 0 elsewhere, of a delta interval."""

    unit = "%"
    scale = 100
    bounds = (0, 1)
    higher_is_better = True
    interval = "delta"

    def score_example(self, prediction, target):
        return float(prediction == target)
'''
)


@pytest.fixture(autouse=True)
def _shapes(fake_distribution: Callable[..., Any]) -> None:
    """All tests here use the data sets above."""
    fake_distribution(
        SHAPES,
        {"evalkit.datasets": {"shapes": "Shapes"}, "evalkit.metrics": {"off": "Off"}},
        name="shapes",
    )


def is_right(number: int) -> bool:
    """Tell which rows the model gets right: one of topic a, and most others."""
    return number == 0 if number % 5 == 0 else number % 7 != 0


ROWS = range(60)


@pytest.fixture
def file(write_rows: Write) -> str:
    """Write a model's predictions."""
    labels = ("positive", "negative")
    return write_rows(
        "m.jsonl",
        [
            {"id": str(n), "label": labels[n % 2 if is_right(n) else 1 - n % 2]}
            for n in ROWS
        ],
    )


@pytest.fixture
def show(invoke: Invoke, file: str) -> Callable[..., list[str]]:
    """Give the lines of a report."""

    def run(*options: str, dataset: str = "shapes") -> list[str]:
        done = invoke("eval", dataset, "-p", file, "-m", "accuracy", *options)
        assert done.exit_code == 0, done.stderr
        return done.stdout.splitlines()

    return run


def table(lines: Sequence[str], title: str) -> list[list[str]]:
    """Give the cells of the table below a title, which may name a further order."""
    titles = [re.sub(r" first \(.*?\)", " first", line) for line in lines]
    start = titles.index(title) + 2
    rows = []
    for line in lines[start:]:
        if "  " not in line:
            break
        rows.append(re.split(r"\s{2,}", line))
    return rows


def share_interval(rows: Sequence[int]) -> str:
    low, high = interval_of_share(sum(map(is_right, rows)), len(rows), 0.95)
    return f"[{100 * low:.0f}, {100 * high:.0f}]"


def test_an_unknown_name_is_an_error_that_lists_the_known_ones(
    invoke: Invoke, file: str
) -> None:
    done = invoke("eval", "shapes", "-p", file, "--by", "colour")
    assert done.exit_code == 1
    assert done.stderr.startswith(
        "evalkit: error: --by colour: 'colour' is no facet of the tags and no column"
    )


@pytest.mark.slow
def test_a_run_is_shown_by_other_groups(
    invoke: Invoke, show: Callable[..., Any], tmp_path: Path
) -> None:
    expected = show("--by", "topic,answer", "--min-n", "2")
    [made] = tmp_path.glob("runs/shapes/*")
    shutil.rmtree(made)
    show("--min-n", "2")
    shown = invoke("show", "latest", "--by", "topic,answer").stdout.splitlines()
    title = "By topic,answer, worst accuracy first, in %:"
    assert table(shown, title) == table(expected, title)
    assert len(table(shown, title)) == 13
    assert not any(line.startswith("By tag") for line in shown)
    kinds = [line for line in expected if line.startswith("topic,answer: ")]
    assert [line for line in shown if line.startswith("topic,answer: ")] == kinds
    record = json.loads(
        invoke("show", "latest", "--by", "topic", "--by", "pred", "--json").stdout
    )
    assert record["by"] == ["topic", "pred"]
    assert invoke("show", "latest", "--by", "topic", "--format", "csv").exit_code == 0
