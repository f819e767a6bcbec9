"""A run that is evaluated again is kept, and is the latest; other numbers are none."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from edited_runs import write_record

import evalkit
from evalkit.runs.evaluation_times import last_evaluation, note_evaluation
from evalkit.runs.finding import LATEST, find_run
from evalkit.runs.folders import RUN_FILE
from evalkit.runs.listing import list_runs
from evalkit.runs.repeats import what_differs
from evalkit.runs.results import Result
from evalkit.runs.score_columns import COMPUTED, Score

pytestmark = pytest.mark.usefixtures("mini")

NOTES = ".evaluated"
RIGHT = [{"id": str(number), "label": "yes"} for number in (1, 2, 3)]
OTHER = [{"id": str(number), "label": "no"} for number in (1, 2, 3)]

Evaluate = Callable[..., Result]


@pytest.fixture
def evaluated(tmp_path: Path) -> Evaluate:
    """Evaluate a model's rows, and save the run below `runs`."""

    def evaluate(model: str, rows: Any = RIGHT, **options: Any) -> Result:
        out = tmp_path / "runs"
        return evalkit.evaluate("mini", rows, model=model, out=out, **options)

    return evaluate


def path_of(result: Result) -> Path:
    assert result.path is not None
    return result.path


def begin(path: Path, started: str) -> None:
    """Say of a run that it began at another time."""
    record = json.loads((path / RUN_FILE).read_text("utf-8"))
    record["timings"]["started"] = started
    write_record(path, record)


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.rglob("*") if file.is_file()}


# the latest


def test_an_identical_run_is_kept_and_becomes_the_latest(
    evaluated: Evaluate, tmp_path: Path
) -> None:
    first, second = evaluated("a"), evaluated("b", OTHER)
    assert not first.was_there
    assert find_run(LATEST, tmp_path / "runs") == second.path
    before = contents(path_of(first))
    again = evaluated("a")
    assert again.was_there
    assert again.path == first.path
    assert contents(path_of(first)) == before
    assert find_run(LATEST, tmp_path / "runs") == first.path
    assert [run.model for run in list_runs(tmp_path / "runs")] == ["a", "b"]
    assert evaluated("b", OTHER).was_there
    assert find_run(LATEST, tmp_path / "runs") == second.path


def test_a_repeat_counts_in_all_data_sets_of_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "runs"
    first = evalkit.evaluate("mini", RIGHT, out=out)
    evalkit.evaluate("bare", RIGHT, out=out)
    assert find_run(LATEST, out).parent.name == "bare"
    evalkit.evaluate("mini", RIGHT, out=out)
    assert find_run(LATEST, out) == first.path


def test_a_repeated_rescore_or_merge_is_the_latest_too(
    evaluated: Evaluate, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    parts = [evaluated("m", filters={"uid": [uid]}) for uid in ("1", "2")]
    ids = [part.run_id for part in parts]
    made = [
        lambda: evalkit.merge(ids, folder=runs, out=runs),
        lambda: evalkit.rescore(ids[0], ["accuracy"], folder=runs, out=runs),
    ]
    paths = [make().path for make in made]
    for make, path in zip(made, paths, strict=True):
        assert make().was_there
        assert find_run(LATEST, runs) == path


def test_a_later_run_comes_before_an_earlier_repeat(
    evaluated: Evaluate, tmp_path: Path
) -> None:
    first, second = evaluated("a"), evaluated("b", OTHER)
    evaluated("a")
    begin(path_of(second), "2999-01-01T00:00:00+00:00")
    assert find_run(LATEST, tmp_path / "runs") == second.path
    note_evaluation(path_of(first), "2999-01-01T00:00:01+00:00")
    assert find_run(LATEST, tmp_path / "runs") == first.path


def test_an_earlier_time_does_not_replace_a_later_one(tmp_path: Path) -> None:
    run = tmp_path / "0123"
    note_evaluation(run, "2025-03-01T10:00:00+00:00")
    note_evaluation(run, "2025-03-01T10:30:00+01:00")
    assert (tmp_path / NOTES / "0123").read_text() == "2025-03-01T10:00:00+00:00\n"
    note_evaluation(run, "2025-03-01T10:00:01+00:00")
    assert last_evaluation(run, None).started == "2025-03-01T10:00:01+00:00"
    assert [path.name for path in (tmp_path / NOTES).iterdir()] == ["0123"]


def test_writers_at_once_leave_one_note(tmp_path: Path) -> None:
    run = tmp_path / "0123"
    start = threading.Barrier(8)

    def note(second: int) -> None:
        start.wait()
        note_evaluation(run, f"2025-03-01T10:00:0{second}+00:00")

    threads = [threading.Thread(target=note, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [noted] = (tmp_path / NOTES).iterdir()
    assert noted.name == "0123"
    assert noted.read_text().startswith("2025-03-01T10:00:0")


def test_a_pipe_in_the_place_of_a_note_is_not_waited_for(
    evaluated: Evaluate, tmp_path: Path
) -> None:
    run = path_of(evaluated("a"))
    (run.parent / NOTES).mkdir()
    os.mkfifo(run.parent / NOTES / run.name)
    with pytest.warns(UserWarning, match="`latest` may be another one"):
        assert find_run(LATEST, tmp_path / "runs") == run
    assert evaluated("a").was_there


def test_no_time_is_noted_through_a_symlink(
    evaluated: Evaluate, tmp_path: Path
) -> None:
    run = path_of(evaluated("a"))
    (tmp_path / "elsewhere").mkdir()
    (run.parent / NOTES).symlink_to(tmp_path / "elsewhere")
    [warning] = evaluated("a").warnings
    assert "is a symlink" in warning
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_copied_folder_keeps_its_latest_and_a_copied_run_its_record(
    evaluated: Evaluate, tmp_path: Path
) -> None:
    first, second = evaluated("a"), evaluated("b", OTHER)
    begin(path_of(first), "2025-03-01T10:00:00+00:00")
    begin(path_of(second), "2025-03-01T10:00:01+00:00")
    evaluated("a")
    copied = tmp_path / "copied"
    shutil.copytree(tmp_path / "runs", copied)
    assert find_run(LATEST, copied).name == first.run_id
    # where the runs alone are copied, nothing is known of the repeat
    alone = tmp_path / "alone"
    for run in (first, second):
        shutil.copytree(path_of(run), alone / run.run_id)
    assert find_run(LATEST, alone).name == second.run_id
    shutil.rmtree(copied / "mini" / first.run_id)
    assert find_run(LATEST, copied).name == second.run_id


@pytest.mark.parametrize("text", ["", "yesterday", "\udcff"])
def test_a_note_that_is_no_time_is_none(
    evaluated: Evaluate, tmp_path: Path, text: str
) -> None:
    first, second = evaluated("a"), evaluated("b", OTHER)
    evaluated("a")
    note = path_of(first).parent / NOTES / first.run_id
    note.write_bytes(text.encode("utf-8", "surrogateescape"))
    later = path_of(second) / RUN_FILE
    os.utime(later, (later.stat().st_mtime + 5,) * 2)
    begin(path_of(first), "2025-03-01T10:00:00+00:00")
    with pytest.warns(UserWarning, match=f"{first.run_id}: holds no time"):
        assert find_run(LATEST, tmp_path / "runs") == second.path
    said = {run.run_id: run.warning for run in list_runs(tmp_path / "runs")}
    assert said[second.run_id] is None
    assert "`latest` may be another one" in str(said[first.run_id])


def test_evaluations_of_one_second_are_told_apart(
    evaluated: Evaluate, tmp_path: Path
) -> None:
    first, second = evaluated("a"), evaluated("b", OTHER)
    assert "." in first.to_dict()["timings"]["started"]
    # what began later is the later, whatever was written last
    begin(path_of(second), "2999-03-01T10:00:00.600000+00:00")
    begin(path_of(first), "2999-03-01T10:00:00.500000+00:00")
    assert find_run(LATEST, tmp_path / "runs") == second.path
    note_evaluation(path_of(first), "2999-03-01T10:00:00.700000+00:00")
    assert find_run(LATEST, tmp_path / "runs") == first.path


def test_a_folder_that_takes_no_note_is_told_and_is_no_error(
    evaluated: Evaluate, tmp_path: Path
) -> None:
    first = evaluated("a")
    (tmp_path / "runs" / "mini" / NOTES).write_text("in the way")
    again = evaluated("a")
    assert again.path == first.path
    [warning] = again.warnings
    assert "cannot be noted that it was evaluated again" in warning
    assert "`latest` may be another one" in warning


# other numbers


def evaluate_with(numbers: Sequence[float], evaluated: Evaluate) -> list[Result]:
    """Evaluate as often as there are numbers, which a metric finds outside."""
    outside: list[float] = []

    def get_state(predictions: list[Any], targets: list[Any]) -> float:
        return outside[-1]

    results = []
    for number in numbers:
        outside.append(number)
        results.append(evaluated("m", metrics=["hits", get_state]))
    return results


def test_other_numbers_are_a_run_of_their_own(
    evaluated: Evaluate, tmp_path: Path
) -> None:
    first, other = evaluate_with([0.25, 0.5], evaluated)
    assert other["state"].value == 0.5
    assert other.run_id != first.run_id
    assert other.path == path_of(first).with_name(other.run_id)
    assert not other.was_there
    record = json.loads((path_of(other) / RUN_FILE).read_text("utf-8"))
    assert record["run_id"] == other.run_id
    assert record["repeat_of"] == first.run_id
    [notice] = [text for text in record["notices"] if "run of its own" in text]
    assert notice.startswith(f"state: not as in the run {first.run_id}, although ")
    assert first.to_dict()["repeat_of"] is None
    stored = [evalkit.read_run(path_of(run))["state"].value for run in (first, other)]
    assert stored == [0.25, 0.5]
    assert find_run(LATEST, tmp_path / "runs") == other.path
    assert [run.repeat_of for run in list_runs(tmp_path / "runs")] == [
        first.run_id,
        None,
    ]


def test_each_repeat_is_the_run_of_its_numbers(
    evaluated: Evaluate, tmp_path: Path
) -> None:
    numbers = [0.25, 0.5, 0.5 + 1e-13, 0.25, 0.75]
    results = evaluate_with(numbers, evaluated)
    a, b, again_b, again_a, c = (run.run_id for run in results)
    assert (again_b, again_a) == (b, a)
    assert len({a, b, c}) == 3
    assert [run.was_there for run in results] == [False, False, True, True, False]
    assert len(list_runs(tmp_path / "runs")) == 3


def test_a_metric_that_failed_once_is_no_repeat(evaluated: Evaluate) -> None:
    first, other = evaluate_with([float("nan"), 0.5], evaluated)
    assert first["state"].value is None
    assert other.to_dict()["repeat_of"] == first.run_id


def test_what_was_rescored_from_a_repeat_is_none(
    evaluated: Evaluate, tmp_path: Path
) -> None:
    _, other = evaluate_with([0.25, 0.5], evaluated)
    rescored = evalkit.rescore(other, ["accuracy"], out=tmp_path / "runs")
    record = rescored.to_dict()
    assert record["parent"] == other.run_id
    assert record["repeat_of"] is None


def test_other_counts_are_named(evaluated: Evaluate) -> None:
    first = evaluated("a", RIGHT[:2], on_missing="skip")
    path = path_of(first) / RUN_FILE
    record = json.loads(path.read_text("utf-8"))
    record["counts"]["missing"] += 1
    write_record(path.parent, record)
    other = evaluated("a", RIGHT[:2], on_missing="skip")
    assert other.to_dict()["repeat_of"] == first.run_id
    assert other.notices[-1].startswith("the counts of examples: not as in the run ")


@pytest.mark.parametrize("field", COMPUTED)
@pytest.mark.slow
def test_a_repeat_with_any_other_number_is_a_run_of_its_own(
    evaluated: Evaluate, field: str
) -> None:
    first = evaluated("a")
    path = path_of(first) / RUN_FILE
    record = json.loads(path.read_text("utf-8"))
    record["scores"][0][field] = (record["scores"][0][field] or 0) + 1
    write_record(path.parent, record)
    differs = what_differs(path.parent, first.record, first.scores)
    assert differs == [record["scores"][0]["metric"]]


def test_all_numbers_of_a_score_are_computed_ones_but_two() -> None:
    numbers = {
        name
        for name, kind in get_type_hints(Score).items()
        if {int, float} & {kind, *get_args(kind)}
    }
    # the number of replications is given, and the scale declared
    assert numbers - {"replications", "scale"} == set(COMPUTED)
