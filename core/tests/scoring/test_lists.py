import random as python_random
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit import Metric, score
from evalkit.base.terms import MetricContext
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.scoring import lists as list_scoring
from evalkit.scoring.grouping import group_by_tag
from evalkit.scoring.measurement import score_metric
from evalkit.scoring.records import ScoringSettings
from evalkit.scoring.table import ScoringTable

TAGS = [["t"], ["t"], [], ["one"]]


def get_agreement(predictions: list[Any], targets: list[Any]) -> float:
    pairs = zip(predictions, targets, strict=True)
    return sum(p == t for p, t in pairs) / len(targets)


def test_a_function_sees_the_lists_of_the_whole_set_and_of_each_tag() -> None:
    seen: list[tuple[list[Any], list[Any]]] = []

    class Spy(Metric):
        interval = "none"

        def compute(self, predictions: list[Any], targets: list[Any]) -> float:
            seen.append((predictions, targets))
            return 0.0

    score(Spy, ["a", "b", "c", "d"], ["w", "x", "y", "z"], tags=TAGS)
    assert seen == [
        (["a", "b", "c", "d"], ["w", "x", "y", "z"]),
        (["d"], ["z"]),
        (["a", "b"], ["w", "x"]),
        (["c"], ["y"]),
    ]


def test_a_function_of_lists_sees_lists_of_acceptable_answers() -> None:
    def get_any(predictions: list[str], targets: list[list[str]]) -> float:
        pairs = zip(predictions, targets, strict=True)
        return sum(p in t for p, t in pairs) / len(targets)

    found = score(get_any, ["a", "b", "z"], [["a", "c"], "b", ["x"]])["any"]
    assert (found.value, found.n) == (2 / 3, 3)


def test_a_tag_without_a_scored_example_is_null() -> None:
    # in an evaluation, examples that are left out keep their tags
    frame = pl.DataFrame(
        {"position": [0, 1], "prediction": ["a", "a"], "target": ["a", "b"]},
        schema_overrides={"position": pl.UInt32},
    )
    groups = group_by_tag(pl.Series([["t"], [], ["gone"]]))
    table = ScoringTable(frame, ["0"] * 3, None, MetricContext(None, "one"))
    bound = Resolver(Registry()).bind("metrics", get_agreement)
    scored = score_metric(bound, table, groups, ScoringSettings())
    assert [(s.value, s.n, s.reason) for s in scored.scores] == [
        (0.5, 2, None),
        (None, 0, "no example was scored"),
        (1.0, 1, None),
        (0.0, 1, None),
    ]


def test_order_of_rows_does_not_change_the_interval() -> None:
    rows = [(f"p{i % 5}", f"p{i % 7}") for i in range(50)]
    shuffled = rows.copy()
    python_random.Random(1).shuffle(shuffled)
    first, second = (
        score(get_agreement, *map(list, zip(*order, strict=True)))["agreement"]
        for order in (rows, shuffled)
    )
    assert first == second
    assert first.ci is not None


@pytest.mark.parametrize("n", [12, 30])
def test_no_pair_is_torn_apart_in_a_replicate(n: int) -> None:
    sizes: set[int] = set()

    class Torn(Metric):
        def compute(self, predictions: list[str], targets: list[str]) -> float:
            sizes.add(len(targets))
            return float(
                all(p == t * 2 for p, t in zip(predictions, targets, strict=True))
            )

    targets = [str(i) for i in range(n)]
    found = score(Torn, [t * 2 for t in targets], targets)["torn"]
    # few are drawn n out of n, more by Poisson, whose total varies
    assert sizes == {12} if n == 12 else 10 < min(sizes) < 30 < max(sizes) < 60
    assert found.reason == "all bootstrap replicates are equal"


def test_large_groups_are_not_resampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_scoring, "MOST_LIST_EXAMPLES", 3)
    result = score(get_agreement, ["a"] * 4, ["a", "b", "a", "b"], tags=TAGS)
    whole, _, tag, _ = result.scores
    assert (whole.value, whole.ci) == (0.5, None)
    assert whole.reason == "a function of lists is not resampled beyond 3 examples"
    assert tag.ci == (0.0, 1.0)


def needs_two_labels(
    undefined: Callable[[], float | None],
) -> Callable[[list[str], list[str]], float | None]:
    def get_two_labels(predictions: list[str], targets: list[str]) -> float | None:
        if len(set(targets)) < 2:
            return undefined()
        return get_agreement(predictions, targets)

    return get_two_labels


def raise_value_error() -> float:
    raise ValueError("one class")


@pytest.mark.parametrize("undefined", [raise_value_error, lambda: None])
def test_replicates_for_which_a_function_is_undefined_are_left_out(
    undefined: Callable[[], float | None],
) -> None:
    targets = ["a", "b", "a", "a", "a"]
    metric = needs_two_labels(undefined)
    found = score(metric, ["a"] * 5, targets)["two-labels"]
    assert found.value == 0.8
    assert found.ci is not None
    # with all five hits in the replicate it would be one class
    assert found.ci.high == pytest.approx(0.8)


def test_a_function_that_is_undefined_for_most_replicates_has_no_interval() -> None:
    targets = ["a", "b", "c", "d", "e"]

    def get_all_labels(predictions: list[str], labels: list[str]) -> float:
        if len(set(labels)) < 5:
            raise_value_error()
        return 1.0

    metric = type(
        "AllLabels",
        (Metric,),
        {
            "compute": lambda self, predictions, targets: get_all_labels(
                predictions, targets
            )
        },
    )
    found = score(metric, targets, targets)["all-labels"]
    assert found.value == 1.0
    assert found.reason == "the score is undefined in most bootstrap replicates"


def test_the_decorator_says_what_the_number_means_and_leaves_the_function() -> None:
    @evalkit.metric(unit="%", bounds=(0, 1), higher_is_better=True, scale=100)
    def get_share(predictions: list[str], targets: list[str]) -> float:
        return get_agreement(predictions, targets)

    assert get_share(["a"], ["a"]) == 1.0
    found = score(get_share, ["a", "b"], ["a", "a"])["share"]
    assert (found.unit, found.scale, found.higher_is_better) == ("%", 100.0, True)
