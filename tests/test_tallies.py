"""Tallies give the values of scoring, and those of parts add up to the whole."""

import math
import pickle
from collections.abc import Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from metric_options import OPTIONS, VARIANTS

import evalkit
from evalkit import MetricContext, Score, find_components
from evalkit.catalog import BoundMetric, BoundTask, Registry, Resolver
from evalkit.scoring.final_scores import finalize_metric
from evalkit.scoring.grouping import TAGS, Group, cross, group_by_tag
from evalkit.scoring.measurement import Measured, measure, prepared
from evalkit.scoring.records import GroupScore, MetricScores, ScoringSettings
from evalkit.scoring.table import ScoringTable
from evalkit.scoring.tally import Tallies, merge_tallies
from evalkit.scoring.tallying import tally_table
from evalkit.statistics.intervals import Interval
from evalkit_testing.metrics.checking import _kinds, _source
from evalkit_testing.metrics.subjects import Row, Subject

NEED_A_MODEL = ("bertscore", "comet", "sp-bleu")
OF_COLUMNS = (
    *("column-mean", "column-rate", "weighted"),
    *("judge-agreement", "judge-mean", "judge-order", "judge-rate"),
)

NAMES = sorted(
    component.name
    for component in find_components().components
    if component.kind == "metrics" and component.name not in NEED_A_MODEL + OF_COLUMNS
)
RESOLVER = Resolver(Registry())
CASES: Mapping[str, Mapping[str, Any]] = {
    **{name: OPTIONS.get(name, {}) for name in NAMES},
    **VARIANTS,
}

TAG_LISTS: Sequence[list[str]] = (
    [],
    ["easy"],
    ["easy", "topic:x"],
    ["topic:y"],
    ["hard", "topic:x"],
)


class Case(NamedTuple):
    """A metric and examples for it."""

    metric: BoundMetric
    table: ScoringTable
    left_out: pl.Series
    tags: pl.Series
    crossings: Mapping[str, pl.Series]


def draw_case(
    subject: Subject, rows: Sequence[Row], random: Random, repeats: int
) -> Case:
    count = random.randint(1, 30)
    chosen = [random.choice(rows) for _ in range(count * repeats)]
    table = subject.table(chosen)
    tags = [random.choice(TAG_LISTS) for _ in range(count) for _ in range(1)]
    every = [tag for tag in tags for _ in range(repeats)]
    column = pl.Series("tags", every, dtype=pl.List(pl.String))
    if random.random() < 0.5:
        clusters = [random.randint(0, 4) for _ in range(count)]
        numbers = [number for number in clusters for _ in range(repeats)]
        table = table._replace(clusters=pl.Series(numbers, dtype=pl.UInt64))
    if repeats > 1:
        table = table._replace(replications=tuple(map(str, range(repeats))))
    weights = (1, 0, 0) if random.random() < 0.4 else (8, 1, 1)
    outcomes = random.choices([None, "missing", "invalid"], weights, k=count * repeats)
    left_out = pl.Series("left_out", outcomes, dtype=pl.String)
    lost = pl.when(pl.lit(left_out).is_null()).then(pl.col("prediction"))
    table = table._replace(frame=table.frame.with_columns(prediction=lost))
    levels = [random.choice(["low", "high"]) for _ in range(count)]
    level = pl.Series([text for text in levels for _ in range(repeats)])
    by = {"level": ["level"]}
    if any("topic:x" in texts or "topic:y" in texts for texts in tags):
        by["topic,level"] = ["topic", "level"]
    crossings = cross(by, column, {"level": level})
    metric = prepared(subject.bind(), table)
    return Case(metric, table, left_out, column, crossings)


def score_old(case: Case) -> MetricScores:
    groups = group_by_tag(case.tags, case.crossings)
    measured = Measured(case.table, case.left_out.is_null(), groups)
    [scored] = measure([case.metric], measured, ScoringSettings(), lambda *_: None)
    return scored


def tally(case: Case) -> Tallies:
    case.metric.computed.clear()
    table = case.table._replace(is_part=True)
    parts = [case.metric], table, case.left_out, case.tags, case.crossings
    return tally_table(*parts)


def score(case: Case, tallies: Tallies) -> MetricScores:
    return finalize_metric(case.metric, case.table.context, tallies)


def parts_of(case: Case, random: Random) -> list[Case]:
    repeats = case.table.repeats
    count = len(case.tags) // repeats
    cuts = sorted({0, count, *(random.randint(0, count) for _ in range(2))})
    parts = []
    for first, stop in pairwise(cuts):
        start, length = first * repeats, (stop - first) * repeats
        frame = case.table.frame.slice(start, length)
        position = pl.Series("position", range(length), dtype=pl.UInt32)
        clusters = case.table.clusters
        table = case.table._replace(
            frame=frame.with_columns(position),
            ids=case.table.ids[start : start + length],
            clusters=None if clusters is None else clusters.slice(start, length),
        )
        parts.append(
            case._replace(
                table=table,
                left_out=case.left_out.slice(start, length),
                tags=case.tags.slice(start, length),
                crossings={
                    name: lists.slice(start, length)
                    for name, lists in case.crossings.items()
                },
            )
        )
    random.shuffle(parts)
    return parts


def is_close(one: float | None, other: float | None, tolerance: float = 1e-12) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)


def is_drawn(interval: Interval) -> bool:
    """Whether examples were drawn, which scoring tells apart by id."""
    return interval.method == "bootstrap" or "bootstrap" in str(interval.reason)


def assert_equal_intervals(found: Interval, known: Interval) -> None:
    assert (found.method, found.reason) == (known.method, known.reason)
    assert is_close(found.low, known.low, 1e-9), (found, known)
    assert is_close(found.high, known.high, 1e-9), (found, known)
    assert is_close(found.standard_error, known.standard_error, 1e-9), (found, known)
    assert found.flags == known.flags


def assert_equal_scores(found: GroupScore, known: GroupScore, size: int) -> None:
    assert is_close(found.value, known.value), (found, known)
    assert found.n == known.n, (found, known)
    assert (found.reason is None) == (known.reason is None)
    if known.value is None:
        return
    assert found.n_clusters == known.n_clusters, (found, known)
    coverage = known.n / size if known.coverage is None else known.coverage
    assert is_close(found.coverage, coverage), (found, known)
    spreads = zip(found.spread or (), known.spread or (), strict=True)
    assert all(is_close(*pair) for pair in spreads)
    assert (found.bounds is None) == (known.bounds is None)
    bounds = zip(found.bounds or (), known.bounds or (), strict=True)
    assert all(is_close(*pair) for pair in bounds), (found, known)
    deviations = (
        (found.stddev_within, known.stddev_within),
        (found.stddev_replications, known.stddev_replications),
    )
    for one, other in deviations:
        assert is_close(one, other, 1e-9), (found, known)


def assert_equal(
    new: MetricScores, old: MetricScores, tallies: Tallies, case: Case
) -> None:
    groups = group_by_tag(case.tags, case.crossings).of(case.metric.whole_only)
    names = tallies.tag_sets.texts
    scores = {(names[one.group], one.score): one for one in new.scores}
    expected = {(groups.tags[one.group], one.score): one for one in old.scores}
    assert scores.keys() == expected.keys()
    # a unit has as many examples in tallies, as many answers in scoring
    has_gaps = case.table.repeats > 1 and case.left_out.is_not_null().any()
    for key, known in expected.items():
        assert_equal_scores(scores[key], known, groups.sizes[known.group])
        if case.table.repeats == 1:  # scoring counts answers that are joined apart
            assert scores[key].reason == known.reason
        if not has_gaps and not is_drawn(known.interval):
            assert_equal_intervals(scores[key].interval, known.interval)
            assert scores[key].flag == known.flag
    has_draws = has_gaps or any(is_drawn(one.interval) for one in old.scores)
    aggregates = {one.kind: one for one in new.aggregates}
    assert aggregates.keys() == {one.kind for one in old.aggregates}
    for one in old.aggregates:
        found = aggregates[one.kind]
        assert is_close(found.value, one.value)
        parts = ("tag", "n", "n_clusters", "p_value", "p_adjusted")
        for part in parts:
            assert getattr(found, part) == getattr(one, part)
        if not has_draws and not is_drawn(one.interval):
            assert_equal_intervals(found.interval, one.interval)
            assert found.flag == one.flag


def assert_same_bits(one: Any, other: Any) -> None:
    """Compare whole tallies, also their order."""
    assert type(one) is type(other)
    if isinstance(one, pl.DataFrame):
        assert one.equals(other)
    elif isinstance(one, np.ndarray):
        assert np.array_equal(one, other), (one, other)
    elif isinstance(one, Mapping):
        assert one.keys() == other.keys()
        for key in one:
            assert_same_bits(one[key], other[key])
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for own, others in zip(one, other, strict=True):
            assert_same_bits(own, others)
    elif hasattr(one, "__dataclass_fields__"):
        for name in one.__dataclass_fields__:
            assert_same_bits(getattr(one, name), getattr(other, name))
    else:
        assert one == other


def subjects(name: Any, options: Mapping[str, Any]) -> list[tuple[Subject, Any]]:
    bound = RESOLVER.metric(name)
    task = options.get("task")
    of_task = None if task is None else BoundTask.of(RESOLVER.bind("tasks", task))
    labels = options.get("labels", of_task and of_task.labels)
    kind = options.get("answer_kind")
    if kind is None and of_task and of_task.answer_kind in bound.answer_kinds:
        kind = of_task.answer_kind
    examples = options.get("examples")
    found = []
    for each in _kinds(bound, examples, kind):
        declared = None if labels is None else tuple(labels)
        if each == "all-of" and examples is None:
            declared = declared or ("a", "b", "c")
        context = MetricContext(declared, each, job=options.get("job"))
        for part in bound.parts():
            subject = Subject(part, context, True, of_task)
            found.append((subject, _source(subject, examples)))
    return found


def check_subject(subject: Subject, source: Any) -> None:
    @settings(
        max_examples=4,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    @given(st.data(), st.integers(0, 2**32), st.sampled_from((1, 1, 2, 3)))
    def check(data: Any, seed: int, repeats: int) -> None:
        triples = data.draw(st.lists(data.draw(source), min_size=4, max_size=9))
        rows = [
            Row(str(n), one[0], one[1], one[2] if len(one) > 2 else {}, (), 0)
            for n, one in enumerate(triples)
        ]
        random = Random(seed)
        case = draw_case(subject, rows, random, repeats)
        whole = tally(case)
        scores = score(case, whole)
        assert_equal(scores, score_old(case), whole, case)
        merged = merge_tallies([tally(part) for part in parts_of(case, random)])
        assert_same_bits(merged, whole)
        assert score(case, merged) == scores

    check()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), CASES.items(), ids=CASES.keys())
def test_tallies_give_the_scores_of_scoring(
    name: str, options: Mapping[str, Any]
) -> None:
    for subject, source in subjects(name, options):
        if not subject.bind().has("compute"):  # a function of lists has no tally
            check_subject(subject, source)


SUMMED = [name for name in NAMES if not RESOLVER.metric(name).has("compute")]
"""The built-in metrics that declare sums."""

WORDS = ("red", "green", "blue", "small", "round", "not")


def label_row(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    label, prediction = random.choice("aab"), random.choice("abc")
    rest = (1 - (share := random.randint(3, 9) / 10)) / 2
    prob = {name: share if name == prediction else rest for name in "abc"}
    return {"statement": "x", "label": label}, {"label": prediction, "prob": prob}


def text_row(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    texts = [" ".join(random.choices(WORDS, k=random.randint(1, 6))) for _ in range(3)]
    given = texts[: random.choice([1, 2])]
    spoken = texts[0] if random.random() < 0.3 else texts[2]
    return {"source": "x", "text": given}, {"text": spoken}


def number_row(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    value = random.gauss(0, 3)
    return {"text": "x", "value": value}, {"value": value + random.gauss(0, 1)}


def ranking_row(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    right = random.sample(WORDS, random.randint(1, 3))
    return {"query": "x", "items": right}, {"items": random.sample(WORDS, 4)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "draw", "policy", "least"),
    [
        ("text-classification", label_row, "wrong", 40),
        ("text-classification", label_row, "skip", 40),
        ("text-generation", text_row, "wrong", 15),
        ("regression", number_row, "skip", 6),
        ("ranking", ranking_row, "wrong", 4),
    ],
)
def test_partitions_give_the_scores_of_the_whole(
    task: str, draw: Any, policy: Any, least: int
) -> None:
    random = Random(7)
    examples, responses = [], []
    for number in range(90):
        example, response = draw(random)
        given = {"tags": random.choice(TAG_LISTS), "doc": random.randint(0, 20)}
        level = random.choice(["low", "high"])
        examples.append({"uid": str(number), **example, **given, "level": level})
        if random.random() < 0.95:
            responses.append({"id": str(number), **response})
    options = evalkit.EvaluationOptions(
        metrics=SUMMED, on_missing=policy, cluster=["doc"], by=["level"]
    )
    plan = evalkit.plan_partitions(data=examples, task=task, options=options)
    plan = pickle.loads(pickle.dumps(plan))
    tallies = []
    for part in (2, 0, 1):
        chosen = [row for row in examples if int(row["uid"]) % 3 == part]
        rows = [row for row in responses if int(row["id"]) % 3 == part]
        tallies.append(evalkit.partition_tallies(plan, chosen, pl.DataFrame(rows)))
    found = evalkit.finalize(plan, evalkit.merge_tallies(tallies))
    whole = evalkit.evaluate_with(pl.DataFrame(examples), responses, options, task=task)
    assert len(found.scores) == len(whole.scores)
    valued = set()
    for score, known in zip(found.scores, whole.scores, strict=True):
        for name in Score._fields:
            one, other = getattr(score, name), getattr(known, name)
            if isinstance(other, float):
                assert is_close(one, other), (known.metric, known.tag, name)
            elif name != "reason" or known.value is not None:
                assert one == other, (known.metric, known.tag, name)
        if known.value is not None:
            valued.add(known.metric)
    assert len(valued) >= least, valued
    assert found.by_tag.height == whole.by_tag.height


def test_answers_of_a_part_are_called_as_in_the_whole() -> None:
    texts: list[Any] = [["a b", "c"], "a b", "c", "a b"]
    data = [{"uid": str(n), "text": text} for n, text in enumerate(texts)]
    said = [{"id": row["uid"], "text": "a b"} for row in data]
    options: dict[str, Any] = {"metrics": ["squad-f1", "wer"], "by": ["answer"]}
    plan = evalkit.plan_partitions(
        data=data, task="text-generation", options=evalkit.EvaluationOptions(**options)
    )
    parts = [evalkit.partition_tallies(plan, data[n::2], said[n::2]) for n in range(2)]
    whole = evalkit.evaluate(
        data=data, predictions=said, task="text-generation", **options
    )
    merged = evalkit.merge_tallies(parts)
    assert evalkit.finalize(plan, merged).scores == whole.scores
    single = evalkit.plan_partitions(data=data[1:], task="text-generation")
    with pytest.raises(evalkit.DataError, match="several answers"):
        evalkit.partition_tallies(single, data[:1], said[:1])


def test_groups_have_names_that_cannot_collide() -> None:
    assert Group().by is None
    assert Group(TAGS, None) == Group(TAGS)
