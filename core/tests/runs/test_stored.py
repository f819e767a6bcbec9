"""Runs are found by path, id and time, and are read as they were saved."""

import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from edited_runs import write_record

import evalkit
from evalkit import PluginError, Registry, Result, StorageError
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.resolver import Resolver
from evalkit.runs.finding import LATEST, find_run
from evalkit.runs.listing import list_runs
from evalkit.runs.stored import bound_component, read_run
from evalkit.runs.tables import stored_scoring_table
from evalkit.scoring.grouping import group_by_tag
from evalkit.scoring.measurement import score_metric
from evalkit.scoring.records import ScoringSettings

pytestmark = pytest.mark.usefixtures("mini")

RIGHT = [
    {"id": "1", "label": "yes", "sure": 0.5},
    {"id": "2", "label": "no"},
    {"id": "3", "label": "yes", "sure": 1.0},
]
SKIP = {"on_missing": "skip", "on_invalid": "skip"}
WRONG = {"on_missing": "wrong", "on_invalid": "wrong"}


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., Result]:
    """Evaluate rows and save the run below `runs`."""

    def save(rows: list[Any] = RIGHT, dataset: str = "mini", **options: Any) -> Result:
        return evalkit.evaluate(dataset, rows, out=tmp_path / "runs", **options)

    return save


def path_of(result: Result) -> Path:
    assert result.path is not None
    return result.path


def change_record(path: Path, **changes: Any) -> None:
    file = path / "run.json"
    record = json.loads(file.read_text("utf-8"))
    write_record(path, {**record, **changes})


def set_start(result: Result, started: Any) -> None:
    change_record(path_of(result), timings={"started": started, "seconds": 1.0})


# find_run


def test_a_run_is_found_by_its_path_in_any_form(
    saved: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of(saved())
    assert find_run(path) == path
    assert find_run(str(path)) == path
    assert find_run(path / "run.json") == path
    monkeypatch.chdir(path.parent)
    assert find_run(path.name, "nowhere") == Path(path.name)


def test_a_rescored_run_stands_behind_the_new_one(
    saved: Callable[..., Result], tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    first = saved(model="large")
    rescored = evalkit.rescore(first, ["macro-f1"], out=runs)
    assert find_run("large", runs) == rescored.path
    assert {run.run_id: run.record.parent for run in list_runs(runs)} == {
        first.run_id: None,
        rescored.run_id: first.fingerprint,
    }


@pytest.mark.parametrize("reference", ["abc", LATEST])
@pytest.mark.parametrize("exists", [True, False])
def test_no_runs_at_all_says_how_to_make_one(
    tmp_path: Path, reference: str, exists: bool
) -> None:
    if exists:
        (tmp_path / "runs" / "mini" / ".0123-ab.partial").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"holds no runs. `evalkit eval` writes"):
        find_run(reference, tmp_path / "runs")


def test_a_path_of_something_else_says_what_it_lacks(
    saved: Callable[..., Result], tmp_path: Path
) -> None:
    path = path_of(saved())
    with pytest.raises(StorageError) as caught:
        find_run(path.parent, tmp_path / "runs")
    assert str(caught.value) == (
        f"{path.parent} is no run folder: it holds no run.json; it holds the runs "
        f"{path.name} (mini): name one of them"
    )
    with pytest.raises(StorageError, match=r"is no run folder: it is a file$"):
        find_run(path / "scores.parquet", tmp_path / "runs")
    (path / "run.json").unlink()
    with pytest.raises(StorageError, match=r"is no run folder: it holds no run.json$"):
        find_run(path, tmp_path / "runs")


def test_latest_is_the_one_whose_evaluation_began_last(
    saved: Callable[..., Result], tmp_path: Path
) -> None:
    first, second, third = (saved(model=name) for name in "abc")
    set_start(first, "2025-03-01T10:00:00+00:00")
    set_start(second, "2025-03-01T11:30:00+01:00")  # half past ten in UTC
    set_start(third, "2025-03-01T09:59:59+00:00")
    assert find_run(LATEST, tmp_path / "runs") == second.path
    assert [run.record.model for run in list_runs(tmp_path / "runs")] == ["b", "a", "c"]


def test_a_run_without_a_start_is_the_oldest(
    saved: Callable[..., Result], tmp_path: Path
) -> None:
    known, *others = (saved(model=name) for name in "abcd")
    set_start(known, "1999-01-01T00:00:00+00:00")
    set_start(others[0], "yesterday")
    set_start(others[1], None)
    change_record(path_of(others[2]), timings=None)
    runs = list_runs(tmp_path / "runs")
    assert runs[0].record.model == "a"
    assert [run.started for run in runs[1:]] == [None] * 3


# list_runs


def test_a_summary_holds_what_the_record_says(
    saved: Callable[..., Result], tmp_path: Path
) -> None:
    result = saved(split="other", model="m")
    [run] = list_runs(tmp_path / "runs")
    started = datetime.fromisoformat(result.to_dict()["timings"]["started"])
    assert run == (result.path, result.run_id, None, result.record, started)
    assert run.headline == result.headline
    assert run.is_named
    assert run.record.bounds == {"hits": (0.0, 1.0)}
    assert run.headline is not None
    assert run.headline.value == 1.0


def test_folders_that_are_no_runs_come_last_and_say_why(
    saved: Callable[..., Result], tmp_path: Path
) -> None:
    result = saved()
    leftover = tmp_path / "runs" / "mini" / "leftover"
    leftover.mkdir()
    broken = tmp_path / "runs" / "zz" / "broken"
    shutil.copytree(path_of(result), broken)
    (broken / "run.json").write_text("{", "utf-8")
    hidden = tmp_path / "runs" / "mini" / ".0123-ab.partial"
    hidden.mkdir()
    (tmp_path / "runs" / "a-file").write_text("", "utf-8")
    runs = list_runs(tmp_path / "runs")
    assert [run.path for run in runs] == [result.path, broken, leftover]
    assert runs[1].problem is not None
    assert runs[1].problem.startswith(f"{broken / 'run.json'}: is not JSON: ")
    assert runs[2].problem == f"{leftover}: not a run folder (run.json is missing)"
    assert find_run(LATEST, tmp_path / "runs") == result.path


def test_a_listing_does_not_read_tables(
    saved: Callable[..., Result], tmp_path: Path
) -> None:
    path = path_of(saved())
    for name in ("examples.parquet", "scores.parquet", "problems.jsonl"):
        (path / name).unlink()
    [run] = list_runs(tmp_path / "runs")
    assert run.problem is None


# read_run


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (RIGHT, {}),
        (RIGHT[:2], SKIP),
        ([*RIGHT[:1], {"id": "2", "label": "\udcff"}, "x", {"id": "9"}], WRONG),
        ([{"id": "1", "label": None}], WRONG),
        (RIGHT, {"include_examples": False, "filters": {"tag": "a"}}),
    ],
)
def test_a_run_is_read_as_it_was_saved(
    saved: Callable[..., Result], rows: list[Any], options: dict[str, Any]
) -> None:
    result = saved(rows, **options)
    read = evalkit.read_run(path_of(result))
    assert read.path == result.path
    assert read.to_dict() == result.to_dict()
    written = json.loads((path_of(result) / "run.json").read_text())
    assert read.record.to_dict() == written
    assert read.scores == result.scores
    assert read.headline == result.headline
    assert read.problems == result.problems
    assert read.examples is not None
    assert result.examples is not None
    assert read.examples.equals(result.examples)
    assert read.examples.schema == result.examples.schema
    assert read.by_tag.equals(result.by_tag)


# stored_scoring_table


def bound_metrics(result: Result) -> list[BoundMetric]:
    resolver = Resolver(Registry())
    metrics = result.record.metrics
    return [BoundMetric.of(bound_component(each, resolver)) for each in metrics]


def scores_of_table(result: Result) -> list[tuple[Any, ...]]:
    """Score the stored table, as a metric added later would be."""
    table = stored_scoring_table(result)
    [metric] = bound_metrics(result)
    assert result.examples is not None
    groups = group_by_tag(result.examples["tags"])
    settings = ScoringSettings(result.to_dict()["confidence"], result.to_dict()["seed"])
    found = score_metric(metric, table, groups, settings)
    return [(groups.tags[s.group], s.value, s.n) for s in found.scores]


@pytest.mark.parametrize("options", [{}, SKIP, WRONG])
def test_the_stored_table_gives_the_stored_scores(
    saved: Callable[..., Result], options: dict[str, Any]
) -> None:
    rows: list[Any] = RIGHT
    if options:
        rows = [RIGHT[0], {"id": "3", "label": ["no"]}]
    result = read_run(path_of(saved(rows, **options)))
    stored = [(score.tag, score.value, score.n) for score in result.scores]
    assert scores_of_table(result) == stored
    assert {n for *_, n in stored} >= {3 if options in ({}, WRONG) else 1}


def test_the_table_holds_what_metrics_may_ask_for(saved: Callable[..., Result]) -> None:
    rows = [RIGHT[2], {"id": "1", "label": None}, {"id": "2", "label": 5}]
    result = saved(rows, on_invalid="skip")
    table = stored_scoring_table(read_run(path_of(result)))
    assert table.frame.schema == {
        "position": pl.UInt32(),
        "prediction": pl.String(),
        "target": pl.String(),
        "sure": pl.Float64(),
    }
    # the second example's response is invalid and left out
    assert table.frame.rows() == [(0, None, "yes", None), (2, "yes", "yes", 1.0)]
    assert table.ids == ["1", "2", "3"]
    assert table.clusters is None
    assert table.context[:2] == (("yes", "no"), "one")
    memory = stored_scoring_table(result)
    assert memory.frame.equals(table.frame)
    assert memory[1:] == table[1:]


def test_recorded_clusters_and_kinds_of_answers_are_kept(
    saved: Callable[..., Result],
) -> None:
    path = path_of(saved())
    frame = pl.read_parquet(path / "examples.parquet")
    several = frame.with_columns(
        answer=pl.concat_list("answer"), cluster=pl.Series([0, 0, 1], dtype=pl.UInt32)
    )
    several.write_parquet(path / "examples.parquet")
    change_record(path, answer_kind="any-of")
    table = stored_scoring_table(read_run(path))
    assert table.context.answer_kind == "any-of"
    assert table.clusters is not None
    assert table.clusters.to_list() == [0, 0, 1]
    change_record(path, answer_kind="all-of", labels=None)
    assert stored_scoring_table(read_run(path)).context[:2] == (None, "all-of")


# bound_component


def test_the_metrics_of_a_run_are_loaded_with_their_parameters(
    saved: Callable[..., Result],
) -> None:
    names = ["hits:weight=0.5", "accuracy", "hits", "f1:label=yes"]
    result = read_run(path_of(saved(metrics=names)))
    bound = bound_metrics(result)
    assert [metric.name for metric in bound] == [
        *("hits", "hits:weight=0.5", "accuracy", "f1:label=yes")
    ]
    assert bound[1].component.distribution == "mini"


def test_a_metric_that_is_not_installed_any_more_is_named(
    saved: Callable[..., Result],
) -> None:
    path = path_of(saved())
    record = json.loads((path / "run.json").read_text("utf-8"))
    record["components"][2]["distribution"] = "elsewhere"
    change_record(path, components=record["components"])
    with pytest.raises(PluginError, match="elsewhere"):
        bound_metrics(read_run(path))


def test_a_metric_that_was_given_as_an_object_cannot_be_loaded(
    saved: Callable[..., Result],
) -> None:
    def get_own(predictions: list[Any], targets: list[Any]) -> float:
        return 0.5

    result = read_run(path_of(saved(metrics=[get_own])))
    with pytest.raises(PluginError, match=r"metrics/own was given as an object"):
        bound_metrics(result)
