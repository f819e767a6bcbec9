import math
import random
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from itertools import count
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st
from pydantic import BaseModel

import evalkit
from evalkit import EvalkitError, Metric, MetricContext, TaskIO, UnknownPluginError
from evalkit.catalog import Registry, Resolver
from evalkit.scoring import Interval
from evalkit_testing import LAWS, MetricLawError, check_metric, checking
from evalkit_testing.metrics import subjects

FEW = 4


def equal(batch: pl.DataFrame) -> pl.Series:
    right = (batch["prediction"] == batch["target"]).fill_null(False)
    return right.cast(pl.Float64).alias("hits")


class Share(Metric):
    """Keeps all laws: the base of those below, which break one each."""

    bounds = (0.0, 1.0)
    higher_is_better = True
    answer_kinds = ("one",)
    interval = "t"
    per_example = "hits"
    accepts_no_prediction = True

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        return (
            pl.DataFrame([equal(batch)])
            .with_row_index("row")
            .with_columns(examples=pl.lit(1.0))
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("hits") / pl.col("examples"))


class ShareOfSums(Share):
    per_example = None
    interval = "bootstrap"


class ScoreOfOne(Metric):
    answer_kinds = ("one", "any-of")
    bounds = (0, 1)
    higher_is_better = True
    worst_value = 0.0

    def score_example(self, prediction: str, target: str | list[str]) -> float:
        answers = target if isinstance(target, list) else [target]
        return float(prediction in answers)


@evalkit.metric(bounds=(0, 1), higher_is_better=True)
def get_share(predictions: list[str], targets: list[str]) -> float:
    return sum(map(str.__eq__, predictions, targets)) / len(targets)


class Deviation(Metric):
    """Uses every way to merge, on numbers."""

    answer_kinds = ("number",)
    merges = {"error": "moments", "least": "min", "most": "max", "kept": "values"}
    accepts_no_prediction = True

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        error = (batch["prediction"] - batch["target"]).cast(pl.Float64).fill_null(0.0)
        return pl.DataFrame(
            {"error": error, "least": error, "most": error, "kept": error}
        ).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        median = pl.col("kept").list.median()
        spread = pl.col("most") - pl.col("least")
        deviation = (pl.col("error_m2") / pl.col("error_count")).sqrt()
        parts = {"": deviation, "median": median, "range": spread}
        return pl.concat(
            sums.select("group", score=pl.lit(score), value=value)
            for score, value in parts.items()
        )


def shown(metric: Any) -> str:
    return getattr(metric, "__name__", "instance")


@pytest.mark.parametrize(
    "metric", [Share, ShareOfSums, ScoreOfOne, get_share, Deviation, Share()], ids=shown
)
@pytest.mark.slow
def test_metrics_that_keep_the_laws_pass(metric: Any) -> None:
    check_metric(metric, max_examples=FEW)


@pytest.mark.slow
def test_an_installed_metric_is_checked_by_its_name_or_as_bound(letters: Any) -> None:
    few = {"answer_kind": "one", "max_examples": 2}
    check_metric("hits", **few)
    bound = Resolver(Registry()).bind("metrics", "hits:weight=0.5")
    check_metric(bound, perfect=None, **few)
    with pytest.raises(MetricLawError, match=r"metrics/hits:weight=0\.5 \(letters\)"):
        check_metric("hits:weight=0.5", **few)
    with pytest.raises(MetricLawError, match=r"'perfect'.*\n.*\n  answers: 'any-of'"):
        check_metric("hits", max_examples=2)


def test_an_unknown_metric_is_named() -> None:
    with pytest.raises(UnknownPluginError, match="no-such-metric"):
        check_metric("no-such-metric")


# one broken metric for each law ---------------------------------------------------


def get_nan(predictions: list[str], targets: list[str]) -> float:
    return math.nan if len(targets) > 2 else 0.0


def get_text(predictions: list[str], targets: list[str]) -> Any:
    return "high"


@evalkit.metric(bounds=(0, None))
def get_negative(predictions: list[str], targets: list[str]) -> float:
    return -len(set(targets))


class Unbounded(Share):
    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("hits"))


class InfiniteValue(ShareOfSums):
    bounds = None

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("examples") / pl.col("hits"))


class Raises(ScoreOfOne):
    def score_example(self, prediction: str, target: str | list[str]) -> float:
        return 1 / len(target)


_calls = count()


def get_call_number(predictions: list[str], targets: list[str]) -> float:
    return next(_calls)


class RemembersLabels(Share):
    """Counts only the labels of the first set that it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.labels: set[str] | None = None

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        if self.labels is None:
            self.labels = set(batch["target"])
        known = batch["target"].is_in(list(self.labels)).cast(pl.Float64)
        return super().statistics(batch).with_columns(hits=pl.col("hits") * known)


def get_first(predictions: list[str], targets: list[str]) -> float:
    return float(predictions[0] == targets[0])


class RowScores(Share):
    """The mean does not depend on the order, the scores of the examples do."""

    bounds = None

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        row = pl.int_range(pl.len()).cast(pl.Float64)
        return super().statistics(batch).with_columns(hits=row)


class FirstKept(Share):
    """Finalizes the first of the values that were kept, as if they had an order."""

    per_example = None
    interval = "none"
    merges = {"hits": "values"}

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("hits").list.first())


class CannotBeMerged(ShareOfSums):
    """Makes scores only of statistics that it computed itself."""

    interval = "none"

    def __init__(self) -> None:
        super().__init__()
        self.has_computed = False

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        self.has_computed = True
        return super().statistics(batch)

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        found = super().finalize(sums)
        return found if self.has_computed else found.with_columns(value=pl.lit(0.0))


class MeanOfMeans(ShareOfSums):
    """Divides by the size of the batch."""

    interval = "none"

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        hits = pl.col("hits") / batch.height
        return super().statistics(batch).with_columns(hits=hits)

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("hits"))


class NamesColumnsByBatch(ShareOfSums):
    """Names a statistic after an answer of the batch."""

    interval = "none"

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        extra = pl.lit(1.0).alias(f"seen {batch['target'].max()}")
        return super().statistics(batch).with_columns(extra)


class RelativeToLargest(Share):
    """Divides by the size of the largest group, not of the group."""

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("hits") / sums["examples"].max())


class LeavesOut(ScoreOfOne):
    """Leaves examples without a prediction out."""

    accepts_no_prediction = True
    worst_value = None

    def score_example(self, prediction: str | None, target: Any) -> Any:
        return None if prediction is None else super().score_example(prediction, target)


class HalfForNothing(ScoreOfOne):
    accepts_no_prediction = True
    worst_value = None

    def score_example(self, prediction: str | None, target: Any) -> float:
        return 0.5 if prediction is None else super().score_example(prediction, target)


class OtherWorst(Share):
    worst_value = -1.0


@evalkit.metric(bounds=(0, 1), higher_is_better=True)
def get_difference(predictions: list[str], targets: list[str]) -> float:
    return 1 - get_share(predictions, targets)


@evalkit.metric(bounds=(0, 1), higher_is_better=False)
def get_agreement(predictions: list[str], targets: list[str]) -> float:
    return get_share(predictions, targets)


class ClassRecalls(ShareOfSums):
    """Scores only classes, each worse than it should be."""

    interval = "none"
    keys = ("gold",)

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        return super().statistics(batch).with_columns(gold=batch["target"])

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        value = pl.col("hits") / (pl.col("examples") + 1)
        return sums.select("group", value=value, score="=" + pl.col("gold"))


class OtherArrays(evalkit.Metric):
    """Takes all counts of an array for those of right answers."""

    bounds = (0, 1)
    higher_is_better = True
    answer_kinds = ("one",)
    keys = ("gold", "said")
    interval = "multinomial"
    accepts_no_prediction = True

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        labels = batch.select(pl.col("target", "prediction").cast(pl.String))
        counted = labels.select(gold="target", said="prediction", n=pl.lit(1.0))
        return counted.with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        n = pl.col("n")
        right = n.filter(pl.col("gold") == pl.col("said")).sum()
        return sums.group_by("group").agg(value=right / n.sum())

    def finalize_counts(self, counts: Any) -> Any:
        return {"": np.ones(len(counts))}


BROKEN = [
    (get_nan, "values", "is nan; give None"),
    (get_text, "values", "is no number: 'high'"),
    (get_negative, "values", r"is -1\.0, outside of the bounds 0.0 to None"),
    (Unbounded, "values", r"is \d+\.0, outside of the bounds"),
    (InfiniteValue, "values", "is inf; give None"),
    (Raises, "values", "it failed: .* ZeroDivisionError"),
    (OtherArrays, "counts", r"is 1\.0 by finalize_counts, and 0\.\d+ by finalize"),
    (get_call_number, "repeatable", "when it is computed again"),
    (RemembersLabels, "stateless", "after these examples were scored: "),
    (FirstKept, "order", "the same kept values in reverse order"),
    (get_first, "order", r"the whole set is .* in the order \["),
    (RowScores, "order", r"the (score of the example \d|.* of the whole set) is"),
    (MeanOfMeans, "batches", r"'hits' of group 0 .* in batches of \d+, \d+"),
    (NamesColumnsByBatch, "batches", "two batches differ in columns or types"),
    (CannotBeMerged, "split", "merged from the parts"),
    (RelativeToLargest, "tags", "in a file that holds only its examples"),
    (LeavesOut, "missing", "left out, instead of counted as worst"),
    (HalfForNothing, "missing", "better than the example"),
    (OtherWorst, "missing", r"the worst value declared is -1\.0"),
    (get_difference, "perfect", r"is 0\.0, not 1"),
    (get_agreement, "perfect", r"is 1\.0, not 0"),
    (ClassRecalls, "perfect", r"\(score '=.*'\) is 0\.5, not 1"),
]


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not shrink what is found, which takes a second."""
    monkeypatch.setattr(checking, "MOST_SHRINKS", 0)


@pytest.mark.parametrize(
    ("metric", "law", "found"),
    BROKEN,
    ids=[f"{law}-{metric.__name__}" for metric, law, _ in BROKEN],
)
@pytest.mark.usefixtures("hurried")
@pytest.mark.slow
def test_the_law_that_a_metric_breaks_is_told(
    metric: Any, law: str, found: str
) -> None:
    with pytest.raises(MetricLawError, match=found) as caught:
        check_metric(metric, laws=[law])
    assert f"breaks the law '{law}'" in str(caught.value)


@pytest.mark.parametrize("law", [law.name for law in LAWS])
def test_a_law_that_is_kept_can_be_checked_alone(law: str) -> None:
    check_metric(ShareOfSums, laws=[law], max_examples=FEW)


# laws of the engine, which no metric can break by itself --------------------------


@pytest.fixture
def tamper(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Change what the engine gives for every group of at most some examples."""

    def change(most: int, **fields: Any) -> None:
        genuine = subjects.score_metric

        def score_metric(*arguments: Any) -> Any:
            found = genuine(*arguments)
            scores = [
                one._replace(**fields) if one.n <= most else one for one in found.scores
            ]
            return found._replace(scores=scores)

        monkeypatch.setattr(subjects, "score_metric", score_metric)

    return change


@pytest.mark.parametrize(
    ("law", "most", "fields", "found"),
    [
        ("nothing", 0, {"value": 0.0}, r"nothing was scored, has the value 0\.0"),
        ("nothing", 0, {"n": 1}, "and n = 1"),
        ("nothing", 0, {"reason": None}, "has no value, and no reason why"),
        ("single", 1, {"value": None}, "the whole set has no value, and no reason"),
        ("single", 1, {"interval": Interval(0, 1)}, "one example and the interval 0"),
        ("width", 99, {"interval": Interval(1, 1)}, "has the interval 1 to 1"),
        ("width", 99, {"interval": Interval(0, math.inf)}, "the interval 0 to inf"),
        ("width", 99, {"interval": Interval()}, "no interval and no reason why"),
        ("missing", 99, {"value": None}, "no value and no reason where the pred"),
    ],
)
@pytest.mark.usefixtures("hurried")
@pytest.mark.slow
def test_what_the_engine_does_wrong_is_found_too(
    tamper: Callable[..., None],
    law: str,
    most: int,
    fields: Mapping[str, Any],
    found: str,
) -> None:
    tamper(most, **fields)
    with pytest.raises(MetricLawError, match=found):
        check_metric(Share, laws=[law])


# what is told ---------------------------------------------------------------------


@pytest.mark.slow
def test_the_message_has_metric_law_and_the_smallest_data() -> None:
    with pytest.raises(AssertionError) as caught:
        check_metric(get_first, laws=["values", "order"])
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "metrics/first (given as an object) breaks the law 'order': "
        "the order of the examples changes nothing"
    )
    found = re.fullmatch(
        r"  found: the value of the whole set is (.\.0), "
        r"and (.\.0) in the order \[1, 0\]",
        lines[1],
    )
    assert found is not None
    assert {found[1], found[2]} == {"0.0", "1.0"}
    assert lines[2].startswith("  mend: score each example by itself")
    assert lines[3:5] == ["  answers: 'one'", "  examples (prediction, target):"]
    assert lines[5].startswith("    0: ('")
    assert len(lines) <= 8
    assert not hasattr(caught.value, "__notes__")


# what is drawn --------------------------------------------------------------------


class Needs(Metric):
    """The mean confidence in what was predicted right."""

    columns = ("confidence",)
    answer_kinds = ("one",)
    worst_value = 0.0

    def score_example(
        self, prediction: str, target: str, fields: Mapping[str, Any]
    ) -> float:
        return float(fields["confidence"]) * (prediction == target)


def test_a_metric_that_needs_columns_needs_examples() -> None:
    with pytest.raises(
        EvalkitError, match=r"needs the columns confidence.*give .*examples="
    ):
        check_metric(Needs)


@pytest.mark.parametrize(
    "examples",
    [
        [("a", "a", {"confidence": 0.5}), ("a", "b", {"confidence": 0.25})],
        st.tuples(
            st.sampled_from("ab"),
            st.sampled_from("ab"),
            st.fixed_dictionaries({"confidence": st.floats(0, 1)}),
        ),
    ],
    ids=["list", "strategy"],
)
@pytest.mark.slow
def test_fields_come_from_the_examples_given(examples: Any) -> None:
    check_metric(Needs, examples=examples, max_examples=FEW)


@pytest.mark.parametrize("examples", [[], "ab", 3, {"a": 1}, ["ab"], [("a",)], [3]])
def test_examples_of_another_form_are_refused(examples: Any) -> None:
    with pytest.raises(EvalkitError, match=r"must be .*\(prediction, target\)"):
        check_metric(Share, examples=examples)


def kinds_seen(metric: type[Metric], **options: Any) -> set[str]:
    """Tell which kinds of answers a metric is called with."""
    seen: set[str] = set()

    class Watching(metric):  # type: ignore[valid-type, misc]
        def statistics(
            self, batch: pl.DataFrame, context: MetricContext
        ) -> pl.DataFrame:
            seen.add(context.answer_kind)
            hits = pl.DataFrame({"hits": [1.0] * batch.height, "examples": 1.0})
            return hits.with_row_index("row")

    check_metric(Watching, max_examples=2, laws=["values"], **options)
    return seen


class AnyKind(Share):
    answer_kinds = ("spans", "number", "any-of", "one")


class NotOne(Share):
    answer_kinds = ("any-of", "number")


@pytest.mark.parametrize(
    ("metric", "options", "expected"),
    [
        (Share, {}, {"one"}),
        (AnyKind, {}, {"one", "any-of", "number"}),
        (AnyKind, {"answer_kind": "any-of"}, {"any-of"}),
        (AnyKind, {"examples": [("a", "a")]}, {"one"}),
        (NotOne, {"examples": [("a", ["a"])]}, {"any-of"}),
        (AnyKind, {"examples": [("a", ["a"])], "answer_kind": "spans"}, {"spans"}),
        (AnyKind, {"examples": [(1, [[1]])], "answer_kind": "spans"}, {"spans"}),
    ],
)
def test_each_kind_of_answers_that_the_metric_takes_is_drawn(
    metric: type[Metric], options: Mapping[str, Any], expected: set[str]
) -> None:
    assert kinds_seen(metric, **options) == expected


def test_kinds_that_are_not_taken_or_cannot_be_drawn_are_refused() -> None:
    with pytest.raises(EvalkitError, match="not take answers of the kind 'number', bu"):
        check_metric(Share, answer_kind="number")
    with pytest.raises(EvalkitError, match="the kind 'spans' cannot be drawn; give"):
        check_metric(AnyKind, answer_kind="spans")


class OnlySpans(Metric):
    """Share of texts of which all entities are found, and no others."""

    answer_kinds = ("spans",)
    bounds = (0, 1)
    worst_value = 0.0

    def score_example(self, prediction: Any, target: Any) -> float:
        return float({span["start"] for span in prediction} == {*starts(target)})


def starts(spans: Any) -> Iterator[int]:
    for span in spans:
        assert [*span] == ["start", "day"]
        assert isinstance(span["day"], date)
        yield span["start"]


class Span(BaseModel):
    start: int
    day: date


class Text(BaseModel):
    uid: str
    text: str


class Found(BaseModel):
    id: str
    spans: list[Span]


class Spans(TaskIO):
    Input = Text
    Output = Found
    answer_field = "spans"
    answer_kind = "spans"
    perf_metric = "found"
    example: ClassVar = {"uid": "1", "text": "Today."}


def test_a_metric_of_which_nothing_can_be_drawn_is_not_passed_over() -> None:
    with pytest.raises(EvalkitError, match="the kind 'spans' cannot be drawn; give"):
        check_metric(OnlySpans)


@pytest.mark.slow
def test_a_task_says_what_is_drawn() -> None:
    check_metric(OnlySpans, task=Spans, max_examples=5)

    class Asking(OnlySpans):
        answer_kinds = ("spans",)
        columns = ("text",)

        def score_example(self, prediction: Any, target: Any, fields: Any) -> float:
            assert all(isinstance(span["day"], date) for span in target)
            return float(len(fields["text"]) < 3)

    check_metric(Asking, task=Spans, max_examples=5, perfect=False)

    class Unknown(OnlySpans):
        columns = ("no_such_field",)

    with pytest.raises(EvalkitError, match="give check_metric task="):
        check_metric(Unknown, task=Spans)


# options --------------------------------------------------------------------------


def test_only_the_laws_that_are_named_are_checked() -> None:
    check_metric(MeanOfMeans, laws=["values", "order"], max_examples=FEW)
    with pytest.raises(EvalkitError, match="laws: none is named; there are values"):
        check_metric(MeanOfMeans, laws=[])
    with pytest.raises(
        EvalkitError, match="'speed' is no law; there are values, counts, rep"
    ):
        check_metric(Share, laws=["speed"])


@pytest.mark.parametrize("off", [None, False])
@pytest.mark.slow
def test_the_law_about_perfect_predictions_can_be_switched_off(off: Any) -> None:
    check_metric(get_difference, perfect=off, max_examples=FEW)


class TwoClasses(Share):
    """Fails where there is but one class."""

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        if batch["target"].n_unique() < 2:
            raise ValueError("one class")
        return super().statistics(batch)


def get_two_classes(predictions: list[str], targets: list[str]) -> float:
    if len(set(targets)) < 2:
        raise ValueError("one class")
    return get_share(predictions, targets)


@pytest.mark.parametrize("metric", [TwoClasses, get_two_classes])
@pytest.mark.slow
def test_a_metric_may_fail_only_where_that_is_allowed(metric: Any) -> None:
    with pytest.raises(MetricLawError, match=r"it failed: .* one class"):
        check_metric(metric, laws=["values"])
    check_metric(metric, allows_errors=True, max_examples=FEW)


@pytest.mark.slow
def test_a_metric_that_never_has_a_value_was_not_checked() -> None:
    def get_nothing(predictions: list[str], targets: list[str]) -> None:
        return None

    class AlwaysRaises(Share):
        def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
            raise ValueError

    for metric in (get_nothing, AlwaysRaises):
        with pytest.raises(MetricLawError, match=r"gave no value for any data .*'one'"):
            check_metric(metric, allows_errors=True, max_examples=3)


@pytest.mark.usefixtures("hurried")
def test_an_instance_is_left_as_it_was_given() -> None:
    metric = RemembersLabels()
    with pytest.raises(MetricLawError, match="law 'stateless'"):
        check_metric(metric, laws=["stateless"])
    assert metric.labels is None


# files ----------------------------------------------------------------------------


class Both(Metric):
    """Two scores of an example in one pass."""

    bounds = (0.0, 1.0)
    higher_is_better = True
    answer_kinds = ("one",)
    worst_value = 0.0
    scores: Mapping[str, Any] = {"same": {}, "length": {"bounds": (0.0, None)}}

    def score_example(self, prediction: str, target: str) -> Any:
        same = float(prediction == target)
        return {"same": same, "length": same + len(target) / 9}


class Batched(Metric):
    bounds = (0.0, 1.0)
    higher_is_better = True
    answer_kinds = ("one",)
    worst_value = 0.0
    batch_rows = 2

    def score_batch(self, predictions: list[str], targets: list[str]) -> list[float]:
        return [float(p == t) for p, t in zip(predictions, targets, strict=True)]


class Summed(Metric):
    answer_kinds = ("one",)
    accepts_no_prediction = True
    higher_is_better = True
    bounds = (0.0, 1.0)

    def example_statistics(self, prediction: str, target: str) -> dict[str, float]:
        return {"right": prediction == target, "n": 1}

    def finalize(self, sums: Mapping[str, float]) -> float:
        return sums["right"] / sums["n"]


class Rare(Metric):
    """Weighs a right answer by how many have it, of all that there are."""

    bounds = (0.0, 1.0)
    answer_kinds = ("one",)
    worst_value = 0.0

    def prepare(self, targets: list[str]) -> dict[str, float]:
        return {target: targets.count(target) / len(targets) for target in targets}

    def score_example(self, prediction: str, target: str, context: Any) -> float:
        return float(context.prepared.get(target, 0.0) * (prediction == target))


class Drawn(Metric):
    deterministic = False
    bounds = (0.0, 1.0)
    answer_kinds = ("one",)
    worst_value = 0.0

    def score_example(self) -> float:
        return random.random()


@pytest.mark.parametrize("metric", [Both, Batched, Summed, Rare, Drawn])
@pytest.mark.slow
def test_the_newer_ways_to_write_a_metric_are_known(metric: type[Metric]) -> None:
    check_metric(metric, perfect=None, max_examples=FEW)


class HasTwoBounds(Share):
    scores = {"": {}, "below": {"bounds": (-1.0, 1.0)}}

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        share = super().finalize(sums).select("group", "value")
        below = share.select("group", value=pl.col("value") - 1)
        return pl.concat(
            [
                share.with_columns(score=pl.lit("")),
                below.with_columns(score=pl.lit("below")),
            ]
        )


class HasOneOfTwo(HasTwoBounds):
    scores = {"": {}, "below": {}}


@pytest.mark.slow
def test_each_score_has_the_bounds_that_it_says() -> None:
    check_metric(HasTwoBounds, laws=["values"])
    with pytest.raises(MetricLawError, match=r"'below'.* outside of the bounds"):
        check_metric(HasOneOfTwo, laws=["values"])


@pytest.mark.usefixtures("hurried")
@pytest.mark.slow
def test_allowed_errors_hide_no_broken_law() -> None:
    def get_first_of_two(predictions: list[str], targets: list[str]) -> float:
        return get_two_classes(predictions, targets) + get_first(predictions, targets)

    with pytest.raises(MetricLawError) as caught:
        check_metric(get_first_of_two, allows_errors=True, laws=["order"])
    assert caught.value.law == "order"
    with pytest.raises(MetricLawError, match="outside of the bounds") as caught:
        check_metric(Unbounded, allows_errors=True, laws=["values"])
    assert caught.value.law == "values"
