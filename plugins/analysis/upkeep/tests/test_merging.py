import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from engine_runs import EVERY_KIND, SIZE, install, predictions

import evalkit
from evalkit import AlignmentError, EvalkitError, PluginError, Result
from evalkit.runs.score_columns import Score
from evalkit_analysis_upkeep import merge, verify

Run = Callable[..., Result]

IDENTITIES = (
    ("examples", ("scored", "invalid", "missing")),
    ("predictions", ("scored", "invalid", "duplicate", "unknown", "unreadable")),
)


@pytest.fixture
def run(fake_distribution: Callable[..., Any]) -> Run:
    install(fake_distribution)

    def evaluate(*metrics: str, dataset: str = "posts", **options: Any) -> Result:
        rows = options.pop("rows", None) or predictions()
        return evalkit.evaluate(dataset, rows, metrics=list(metrics), **options)

    return evaluate


def part_of(row: dict[str, Any]) -> str:
    return str(int(row["id"][1:]) * 13 % 10)


def split(
    run: Run, *metrics: str, rows: Any = None, parts: int = 10, **options: Any
) -> list[Result]:
    """Evaluate the parts of a set, each with its own predictions."""
    given = predictions() if rows is None else rows
    found = []
    for number in range(parts):
        names = [str(name) for name in range(number, 10, parts)]
        own = [row for row in given if part_of(row) in names]
        found.append(run(*metrics, rows=own, filters={"part": names}, **options))
    return found


def by_key(scores: Sequence[Score]) -> dict[Any, Score]:
    return {(score.metric, score.tag, score.aggregate): score for score in scores}


def assert_same_score(found: Score, expected: Score) -> None:
    assert found.value == expected.value
    for name, one, other in zip(Score._fields, found, expected, strict=True):
        if isinstance(other, float):
            assert one == pytest.approx(other, rel=1e-12, abs=1e-15), name
        else:
            assert one == other, name


def assert_equal(merged: Result, whole: Result) -> None:
    """Every number of every score is the same, to some rounding of errors."""
    found, expected = by_key(merged.scores), by_key(whole.scores)
    assert found.keys() == expected.keys()
    for key, score in expected.items():
        assert_same_score(found[key], score)
    assert merged.headline == whole.headline
    assert merged.to_dict()["baselines"] == whole.to_dict()["baselines"]
    counts = dict(whole.counts)
    counts.pop("unselected", None)
    assert dict(merged.counts) == counts
    # the parts are of some examples of their data, and there may be others
    assert (merged.status, whole.status) == ("partial", "complete")
    assert not merged.errors
    assert merged.examples is not None
    assert whole.examples is not None
    cells = ["id", "replication"]
    assert merged.examples.sort(cells).equals(whole.examples.sort(cells))


def test_what_a_metric_left_out_is_counted_once_for_the_whole(run: Run) -> None:
    parts = split(run, "closeness", parts=2)
    whole = run("closeness")
    (notice,) = (text for text in whole.notices if "returned None" in text)
    left_out = whole.counts["scored"] - whole["closeness"].n
    assert left_out > 0
    assert notice == (
        "metrics/closeness (posts 1.0): score_example returned None for "
        f"{left_out} of {SIZE} examples; they are not part of its n and value"
    )
    merged = merge(parts)
    assert [text for text in merged.notices if "returned None" in text] == [notice]
    later = evalkit.rescore(run("accuracy"), ["closeness"])
    assert [text for text in later.notices if "returned None" in text] == [notice]


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "number"), [("posts", 10), ("clustered", 2)])
def test_disjoint_parts_equal_the_whole(run: Run, dataset: str, number: int) -> None:
    crossings = ["functionality,target", "answer"] if number == 10 else []
    options: dict[str, Any] = {"dataset": dataset, "by": crossings}
    parts = split(run, *EVERY_KIND, parts=number, **options)
    random.Random(0).shuffle(parts)
    whole = run(*EVERY_KIND, **options)
    merged = merge(parts)
    assert_equal(merged, whole)
    methods = {score.ci_method for score in merged.scores}
    plain = {"wilson", "t", "multinomial", "bootstrap", "delta"}
    clustered = {f"{name}-clustered" for name in plain - {"multinomial"}}
    assert methods >= (clustered if dataset == "clustered" else plain)
    kinds = {str(score.aggregate).partition(":")[0] for score in merged.scores}
    assert kinds == {"macro", "worst", "gap", "None"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"rows": predictions(3)},
        {"rows": predictions(2), "dataset": "clustered"},
        {"seed": 9, "confidence": 0.9, "min_n": 30},
        {"rows": [r for r in predictions() if r["id"] < "e070"], "on_missing": "skip"},
        {"rows": [r for r in predictions() if r["id"] < "e070"], "on_missing": "wrong"},
        {
            "rows": [
                {**r, "label": 3} if r["id"] > "e100" else r for r in predictions()
            ],
            "on_invalid": "skip",
        },
        {"dataset": "any-of"},
    ],
    ids=["replications", "clusters", "settings", "skip", "wrong", "invalid", "any-of"],
)
def test_merging_keeps_policies_and_settings(run: Run, options: dict[str, Any]) -> None:
    metrics = ["accuracy", "closeness", "macro-f1", "resampled", "agreement"]
    if options.get("dataset") == "any-of":
        metrics = ["accuracy", "exact-match"]
    parts = split(run, *metrics, parts=2, **options)
    assert_equal(merge(parts), run(*metrics, **options))


@pytest.mark.slow
def test_merged_runs_may_be_merged(run: Run, tmp_path: Path) -> None:
    metrics = ["accuracy", "macro-f1", "resampled"]
    parts = split(run, *metrics, parts=5, dataset="clustered", out=tmp_path / "runs")
    first = merge(parts[:2], out=tmp_path / "merged")
    second = merge([parts[3], parts[2]], out=tmp_path / "merged")
    read = [evalkit.read_run(str(one.path)) for one in (second, first)]
    whole = run(*metrics, dataset="clustered")
    together = merge([*read, parts[4]])
    assert_equal(together, whole)
    assert together.to_dict()["merged"] == sorted(
        [first.fingerprint, second.fingerprint, parts[4].fingerprint]
    )


@pytest.mark.slow
def test_a_merged_run_is_a_run(run: Run, tmp_path: Path) -> None:
    parts = split(run, "accuracy", "macro-f1", parts=2, out=tmp_path / "runs")
    names = [part.run_id[:8] for part in parts]
    merged = merge(names, folder=tmp_path / "runs", out=tmp_path / "runs")
    assert merged.path is not None
    read = evalkit.read_run(merged.path)
    assert read.to_dict() == merged.to_dict()
    assert set(read.statistics) == {"accuracy", "macro-f1"}
    record = read.to_dict()
    assert record["merged"] == sorted(part.fingerprint for part in parts)
    assert record["parent"] is None
    assert record["predictions"] == {"name": None, "sha256": None, "adapters": []}
    assert (read.dataset, read.model, read.status) == ("posts", "model", "partial")
    # the parts were made from one data set
    assert record["data"]["sha256"] == parts[0].to_dict()["data"]["sha256"]
    # what went in decides the id, not its order
    assert merge(parts[::-1]).run_id == read.run_id
    assert merge(parts, model="other").run_id != read.run_id
    verified = verify(read)
    assert (verified.agrees, verified.data, verified.unverified) == (
        *(True, "not read: the run was merged from several"),
        {},
    )
    whole = run("accuracy", "macro-f1")
    assert (
        evalkit.rescore(read, ["closeness"])["closeness"]
        == (evalkit.rescore(whole, ["closeness"])["closeness"])
    )
    assert evalkit.rescore(read, ["words"])["words"].value == (
        evalkit.rescore(whole, ["words"])["words"].value
    )


def test_counts_add_up_and_problems_are_kept(run: Run) -> None:
    rows: list[Any] = predictions()
    rows[5] = {"id": "e005", "label": 7}
    rows[6] = {"id": "nobody", "label": "other"}
    rows[7] = rows[8]
    options: dict[str, Any] = {
        "on_missing": "skip",
        "on_invalid": "wrong",
        "on_duplicate": "first",
    }
    halves = [
        run("accuracy", rows=rows, filters={"part": parts}, **options)
        for parts in (list("01234"), list("56789"))
    ]
    merged = merge(halves)
    for total, parts in IDENTITIES:
        assert merged.counts[total] == sum(merged.counts[part] for part in parts)
    assert merged.counts["examples"] == SIZE
    assert merged.counts["missing"] == 2
    found = [(problem.status, problem.id) for problem in merged.problems]
    assert sorted(found, key=repr) == sorted(
        ((p.status, p.id) for half in halves for p in half.problems), key=repr
    )
    assert ("invalid", "e005") in found
    assert merged["accuracy"] == run("accuracy", rows=rows, **options)["accuracy"]


@pytest.mark.parametrize("policy", ["wrong", "skip"])
def test_notices_that_count_examples_are_those_of_the_whole(
    run: Run, policy: str
) -> None:
    rows: list[Any] = [row for row in predictions() if int(row["id"][1:]) % 20 >= 10]
    rows = [{**row, "label": 7} if row["id"][-1] == "5" else row for row in rows]
    options = {"on_missing": policy, "on_invalid": policy}
    whole = run("accuracy", rows=rows, **options)
    merged = merge(split(run, "accuracy", rows=rows, parts=2, **options))
    expected, found = (
        [text for text in each.notices if re.search("missing|invalid", text)]
        for each in (whole, merged)
    )
    assert [text.split()[1] for text in expected] == ["missing", "invalid"]
    assert found == expected


# refusals ------------------------------------------------------------------------


def test_overlapping_examples_are_refused(run: Run) -> None:
    first, second = (
        run("accuracy", filters={"part": parts}) for parts in (list("012"), list("23"))
    )
    with pytest.raises(AlignmentError, match=r"examples are in two of the runs: 'e0"):
        merge([first, second])
    with pytest.raises(AlignmentError, match="in two of the runs"):
        merge([first, first])


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        ({"seed": 1}, {"seed": 2}, "differ in seed: 1 and 2"),
        ({"confidence": 0.9}, {}, "differ in confidence: 0.9 and 0.95"),
        ({"on_missing": "skip"}, {}, "differ in policies: on_missing skip, on_invalid"),
        ({"by": ["part"]}, {}, "differ in by: part and none"),
        ({"rows": predictions(2)}, {}, "differ in replications"),
        ({"dataset": "clustered"}, {}, "differ in clusters: template and none"),
        ({"model": "a"}, {"model": "b"}, "differ in model: a; b; name the merged"),
    ],
)
def test_parts_that_were_made_differently_are_refused(
    run: Run, one: dict[str, Any], other: dict[str, Any], text: str
) -> None:
    parts = [
        run("accuracy", filters={"part": "0"}, **one),
        run("accuracy", filters={"part": "1"}, **other),
    ]
    with pytest.raises(EvalkitError) as caught:
        merge(parts)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("labels", ["x"]),
        ("task", "other"),
        ("split", "train"),
        ("headline_aggregate", None),
        ("perturbation", {"name": "swap", "label_effect": "uncertain", "families": []}),
    ],
)
def test_parts_of_different_data_are_refused(run: Run, key: str, value: Any) -> None:
    first, second = split(run, "accuracy", parts=2)
    record = second.to_dict()
    del record["scores"]
    record[key] = value
    changed = Result(record, second.scores, (), second.examples, second.statistics)
    with pytest.raises(EvalkitError, match=f"differ in {key}"):
        merge([first, changed])


def test_different_metrics_are_refused(run: Run) -> None:
    first = run("accuracy", filters={"part": "0"})
    for metrics in (["macro-f1"], ["accuracy", "closeness"]):
        second = run(*metrics, filters={"part": "1"})
        for parts in ([first, second], [second, first]):
            with pytest.raises(EvalkitError, match=r"differ in metrics: .*accuracy"):
                merge(parts)
    scaled = [
        run("accuracy", f"scaled:weight={w}", filters={"part": str(i)})
        for i, w in enumerate((0.5, 0.25))
    ]
    with pytest.raises(EvalkitError, match=r"scaled:weight=0.5 and .*weight=0.25"):
        merge(scaled)


def test_names_of_a_merged_run_may_be_given(run: Run) -> None:
    parts = [
        run("accuracy", dataset=dataset, model=dataset, filters={"part": part})
        for dataset, part in (("posts", "0"), ("own", "1"))
    ]
    merged = merge(parts, dataset="both", model="mixed")
    assert (merged.dataset, merged.model) == ("both", "mixed")
    assert merged.metrics == ["accuracy"]
    assert any("own#rows" in notice for notice in merged.notices)
    with pytest.raises(EvalkitError, match="'No Name' is no legal name of a dataset"):
        merge(parts, dataset="No Name", model="mixed")


def test_other_refusals(run: Run) -> None:
    part, other = split(run, "accuracy", parts=2)
    with pytest.raises(EvalkitError, match="name two or more runs to merge"):
        merge([part])
    with pytest.raises(AlignmentError) as caught:
        run("accuracy", rows=predictions()[:3])
    with pytest.raises(EvalkitError, match="was refused: it has no scores"):
        merge([part, caught.value.result])
    record = other.to_dict()
    del record["scores"]
    empty = Result(record, other.scores, (), None)
    with pytest.raises(EvalkitError, match=r"no examples|--no-examples"):
        merge([part, empty])
    assert other.examples is not None
    odd = other.examples.with_columns(tags=pl.lit(1))
    with pytest.raises(EvalkitError, match="their columns are of different types"):
        merge([part, Result(record, other.scores, (), odd)])

    def get_own(predictions: list[Any], targets: list[Any]) -> float:
        return 0.5

    own = [
        evalkit.evaluate("posts", predictions(), metrics=[get_own], filters={"part": p})
        for p in "01"
    ]
    with pytest.raises(PluginError, match="was given as an object"):
        merge(own)


# failures ------------------------------------------------------------------------


def test_a_metric_that_failed_in_a_part_fails_in_the_whole(run: Run) -> None:
    parts = split(run, "accuracy", "raises", parts=2)
    merged = merge(parts)
    assert merged.status == "partial"
    assert merged["raises"].value is None
    assert "no such word" in str(merged["raises"].reason)
    whole = run("accuracy", "raises")
    assert merged["accuracy"] == whole["accuracy"]


@pytest.mark.slow
def test_a_metric_that_failed_in_one_part_only_is_computed_again(run: Run) -> None:
    rows = [
        {**row, "label": "neutral"} if part_of(row) != "0" else row
        for row in predictions()
    ]
    parts = split(run, "accuracy", "raises", rows=rows, parts=10)
    assert {part.status for part in parts} == {"partial"}
    assert [bool(part.errors) for part in parts] == [True] + [False] * 9
    merged = merge(parts)
    assert merged["raises"].value == 1.0
    assert (merged["raises"].n, merged["accuracy"].n) == (119, 120)
    assert (merged.status, merged.record.not_scored) == ("partial", {"raises": 1})
    assert len(merged.errors) == 1
    good = merge(parts[1:])
    assert good["raises"].value == 1.0
    assert not good.errors


def test_nothing_scored_is_said(run: Run) -> None:
    parts = [
        run(
            "accuracy",
            rows=[{"id": "nobody"}],
            on_missing="skip",
            on_invalid="skip",
            filters={"part": p},
        )
        for p in "01"
    ]
    merged = merge(parts)
    assert merged["accuracy"].value is None
    assert merged.status == "partial"
    assert list(merged.errors) == ["no example was scored"]


def test_a_headline_metric_that_fails_has_no_baselines(run: Run) -> None:
    parts = [
        evalkit.evaluate(
            "posts", predictions(), metrics=["undeclared"], filters={"part": p}
        )
        for p in "01"
    ]
    merged = merge(parts)
    assert merged.to_dict()["baselines"] is None
    assert merged.status == "partial"


def test_what_was_scored_by_a_broken_metric_fails_alone(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = split(run, "accuracy", "resampled", parts=2)

    def fail(*_: Any, **__: Any) -> Any:
        raise evalkit.MetricError("it broke")

    from evalkit.scoring import measurement

    original = measurement.finalize_metric

    def sometimes(metric: Any, *rest: Any, **named: Any) -> Any:
        if metric.name == "resampled":
            fail()
        return original(metric, *rest, **named)

    monkeypatch.setattr(measurement, "finalize_metric", sometimes)
    merged = merge(parts)
    assert merged["resampled"].reason == "it broke"
    assert merged["accuracy"].value is not None
    assert (merged.status, list(merged.errors)) == ("partial", ["it broke"])
