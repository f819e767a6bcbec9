"""Intervals hold the truth as often as the published page says.

The worlds, and the code that draws and counts, are those of `benchmarks/coverage.py`.
"""

import datetime
import importlib.util
import math
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
BENCHMARKS = ROOT / "benchmarks"
PAGE = ROOT / "docs" / "coverage.md"

# scenario, size, sets; only worlds that are scored in seconds: the others are the
# business of the benchmark, which writes no page with a miss that it cannot explain
CASES = [
    ("share of .5", 200, 1_000),
    ("share of .9", 200, 1_000),
    ("share of .99", 1_000, 1_000),
    ("macro-F1, 3 classes at .72", 200, 300),
    ("mean of a score, 40 % zeros and 30 % ones", 200, 1_000),
    ("ratio of two sums", 200, 1_000),
    ("ratio of two sums, as in large groups", 1_000, 500),
    ("share of .5 in clusters, ICC .3", 30, 1_000),
    ("share of .9 in clusters, ICC .3", 30, 1_000),
    ("paired difference of shares, .75 - .70", 200, 1_000),
]


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    """Load the benchmark under a name of its own: `coverage` is another package."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        path = BENCHMARKS / "coverage.py"
        spec = importlib.util.spec_from_file_location("interval_coverage", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "size", "sets"), CASES)
def test_intervals_hold_the_truth(
    simulation: ModuleType, scenario: str, size: int, sets: int
) -> None:
    tasks = simulation.tasks_of(scenario, size, sets)
    assert sum(task.sets for task in tasks) == sets
    parts = [simulation.run_task(task) for task in tasks]
    slack = 3.5 * math.sqrt(0.95 * 0.05 / sets)
    for row in simulation.count_outcomes(scenario, size, parts):
        assert row.sets == sets
        assert row.none < 0.05, row
        assert 0.93 - slack <= row.coverage <= 0.97 + slack, row
        assert row.coverage + row.below + row.above == pytest.approx(1)


@pytest.mark.slow
def test_every_world_can_be_drawn_and_scored(simulation: ModuleType) -> None:
    for name, scenario in sys.modules["coverage_scenarios"].SCENARIOS.items():
        size = min(scenario.sizes)
        parts = [
            simulation.run_task(task) for task in simulation.tasks_of(name, size, 2)
        ]
        rows = simulation.count_outcomes(name, size, parts)
        assert rows, name
        assert all(row.sets >= 1 for row in rows), name


def test_every_world_has_a_true_value_that_fits_it(simulation: ModuleType) -> None:
    """Drawn by hand, without evalkit, for the one world that is not plain."""
    import numpy as np

    scenarios = sys.modules["coverage_scenarios"]
    random = np.random.default_rng(8)
    has_tag = random.random((400_000, scenarios.OVERLAPPING)) < 0.3
    none = np.flatnonzero(~has_tag.any(axis=1))
    has_tag[none, random.integers(0, scenarios.OVERLAPPING, len(none))] = True
    rates = 0.7 + has_tag @ scenarios.TAG_EFFECTS
    assert rates.min() >= 0
    assert rates.max() <= 1
    for tag, truth in enumerate(scenarios._overlapping_truths()):
        drawn = rates[has_tag[:, tag]]
        error = drawn.std() / math.sqrt(len(drawn))
        assert truth == pytest.approx(drawn.mean(), abs=4.5 * error)


def test_macro_f1_of_the_worlds_is_as_named(simulation: ModuleType) -> None:
    scenarios = sys.modules["coverage_scenarios"]
    for classes, right in ((3, 0.72), (2, 0.99), (10, 0.8)):
        table = scenarios.equal_classes(classes, right)
        assert table.sum() == pytest.approx(1)
        assert scenarios.macro_f1_of(table) == pytest.approx(right)
    table = scenarios.two_classes(0.1, 0.6)
    assert table.sum(axis=1)[1] == pytest.approx(0.1)
    assert table[1, 1] / table[1].sum() == pytest.approx(0.6)
    assert table[1, 1] / table[:, 1].sum() == pytest.approx(0.6)


def test_a_miss_without_an_explanation_is_not_published(simulation: ModuleType) -> None:
    page = sys.modules["coverage_page"]
    row = simulation.Row(
        *("share of .5", "", 200, 4_000, "wilson", 0.95),
        **{"error": 0.003, "below": 0.02, "above": 0.03, "width": 0.1, "none": 0.0},
    )
    date = datetime.date(2026, 1, 1)
    made = page.make_page([row], date)
    assert (
        "| share of .5 | n = 200 | `wilson` | 95.0 % | 0.3 % | 2.0 % | 3.0 % |" in made
    )
    assert "1 of 1 rows" in made
    with pytest.raises(ValueError, match=r"share of \.5.*: 0\.9000"):
        page.make_page([row._replace(coverage=0.9, method="new")], date)


def test_the_published_page_has_every_world_and_explains_what_misses(
    simulation: ModuleType,
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    explained = text.partition("## Exceptions")[2]
    scenarios = sys.modules["coverage_scenarios"]
    for name, scenario in scenarios.SCENARIOS.items():
        rows = [line for line in text.splitlines() if line.startswith(f"| {name} |")]
        rows += [line for line in text.splitlines() if line.startswith(f"| {name}: ")]
        assert len(rows) % len(scenario.sizes) == 0
        assert rows
    for line in re.findall(r"^\| .*\*\*.*$", text, re.MULTILINE):
        world, size, _, coverage, *_ = (cell.strip() for cell in line[2:].split("|"))
        expected = f"- **{world}, {size}: {coverage.strip('*')}.** "
        assert expected in explained
