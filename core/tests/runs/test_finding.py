"""Names of models mean their newest complete run, in this folder or another."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from edited_runs import write_record

import evalkit
from evalkit import EvalkitError, StorageError
from evalkit.runs import find_run, find_runs, is_since, read_moment

ROWS = [{"id": str(number), "label": "yes"} for number in (1, 2, 3)]

Make = Callable[..., Path]


@pytest.fixture
def make(mini: Any, tmp_path: Path) -> Make:
    """Make runs by changing the record of one that was evaluated."""
    first = evalkit.evaluate("mini", ROWS, out=tmp_path / "made").path
    assert first is not None
    record = json.loads((first / "run.json").read_bytes())
    counter = iter(range(1, 100))

    def one(
        model: str,
        day: int | None,
        folder: str = "runs",
        dataset: str = "mini",
        **changes: Any,
    ) -> Path:
        run_id = f"{next(counter):02}".ljust(16, "f")
        path = tmp_path / folder / dataset / run_id
        shutil.copytree(first, path)
        started = "" if day is None else f"2025-03-{day:02}T10:00:00+00:00"
        own = {"model": model, "dataset": dataset, "run_id": run_id, **changes}
        timings = {"started": started, "seconds": 1.0}
        write_record(path, {**record, **own, "timings": timings})
        return path

    return one


def test_a_model_means_its_newest_complete_run(make: Make, tmp_path: Path) -> None:
    make("m", 1)
    newest = make("m", 3)
    make("m", 2)
    make("other", 9)
    [found] = find_runs(["m"], tmp_path / "runs")
    assert (found.path, found.older) == (newest, 2)
    assert found.chosen is not None
    assert found.chosen.evaluated == "2025-03-03T10:00:00+00:00"
    assert find_run("m", tmp_path / "runs") == newest


@pytest.mark.parametrize("status", ["partial", "refused"])
def test_other_runs_never_answer_to_a_name(
    make: Make, tmp_path: Path, status: str
) -> None:
    runs = tmp_path / "runs"
    lacking = make("m", 5, status=status)
    for name in ("m", "m@mini", "mini/m", f"{runs}:m"):
        with pytest.raises(StorageError) as caught:
            find_run(name, runs)
        assert "names no run: of the model there is a run" in str(caught.value)
        assert f"none is complete: {lacking.name} (mini, {status})" in str(caught.value)
    complete = make("m", 1)
    with pytest.warns(UserWarning, match=rf"\(run {lacking.name}\); an earlier run"):
        assert find_run("m", runs) == complete
    assert find_run(lacking.name, runs) == lacking
    assert find_run("latest", runs) == lacking


def test_many_that_are_not_complete_are_counted(make: Make, tmp_path: Path) -> None:
    for day in range(1, 8):
        make("m", day, status="partial")
    with pytest.raises(StorageError, match=r"there are 7 runs .* and 2 more\. One"):
        find_run("m", tmp_path / "runs")


def test_a_name_may_say_the_data_set(make: Make, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    here, there = make("m", 1), make("m", 2, dataset="second")
    assert find_run("m", runs) == there
    assert find_run("m@mini", runs) == find_run("mini/m", runs) == here
    assert find_run("m@second", runs) == there
    with pytest.raises(StorageError, match="there is no run 'm@third'"):
        find_run("m@third", runs)


def test_a_name_may_say_the_folder(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here, there = make("m", 1), make("m", 2, "old")
    alone = make("n", 3, "old", dataset="second")
    assert find_run("m") == Path("runs/mini") / here.name
    assert find_run("old:m").absolute() == there
    assert find_run("old:m@mini").absolute() == there
    assert find_run("old:latest").absolute() == alone
    assert find_run(f"old:{there.name[:5]}").absolute() == there
    assert find_run(f"{tmp_path / 'old'}:n") == alone
    [found] = find_runs(["old:m"])
    assert found.reference == "old:m"
    for name in ("new:m", ":m", "old:", "old:nobody"):
        with pytest.raises(StorageError, match="there is no run"):
            find_run(name)


def test_names_of_models_may_hold_signs(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpt").mkdir()
    colon, at = make("gpt:4", 1), make("me@home", 1)
    there = make("gpt:4", 2, "old")
    assert find_run("gpt:4").absolute() == colon
    assert find_run("gpt:4@mini").absolute() == colon
    assert find_run("old:gpt:4").absolute() == there
    assert find_run("me@home@mini").absolute() == at
    assert find_run("me@home").absolute() == at


def test_a_complete_run_does_not_stand_behind_a_partial_rescored_one(
    make: Make, tmp_path: Path
) -> None:
    parent = make("m", 1)
    child = make("m", 2, parent=parent.name, status="partial")
    with pytest.warns(UserWarning, match="is partial"):
        assert find_run("m", tmp_path / "runs") == parent
    shutil.rmtree(child)
    child = make("m", 1, parent=parent.name)
    assert find_run("m", tmp_path / "runs") == child


def test_since_leaves_older_runs_out_of_what_names_mean(
    make: Make, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    old, new = make("m", 1), make("n", 5)
    unknown = make("k", None)
    assert find_run("n", runs, "2025-03-05") == new
    assert find_run("latest", runs, "2025-03-02") == new
    assert find_run(old.name, runs, "2025-03-05") == old
    assert find_run("m", runs, datetime(2025, 3, 1, tzinfo=UTC)) == old
    for name, last in (("m", f"2025-03-01 10:00 UTC (run {old.name})"), ("k", "known")):
        with pytest.raises(StorageError) as caught:
            find_run(name, runs, "2025-03-05T12:00:00+02:00")
        assert f"{name!r} may mean was evaluated since 2025-03-05 10" in str(
            caught.value
        )
        assert last in str(caught.value)
    with pytest.raises(StorageError, match="'latest' may mean"):
        find_run("latest", runs, "1min")
    with pytest.raises(EvalkitError, match="'soon' is neither"):
        find_run("m", runs, "soon")
    assert find_run("k", runs) == unknown


def test_a_misspelt_model_is_corrected(make: Make, tmp_path: Path) -> None:
    make("roberta", 1)
    with pytest.raises(StorageError, match=r"Did you mean 'roberta'\?$"):
        find_run("robreta", tmp_path / "runs")


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("7d", timedelta(days=7)),
        ("12h", timedelta(hours=12)),
        ("30min", timedelta(minutes=30)),
        (" 2 w ", timedelta(weeks=2)),
        ("0d", timedelta(0)),
    ],
)
def test_a_length_of_time_counts_from_now(text: str, ago: timedelta) -> None:
    now = datetime(2025, 3, 1, 12, tzinfo=UTC)
    assert read_moment(text, now) == now - ago
    before = datetime.now(UTC)
    assert before - ago <= read_moment(text) <= datetime.now(UTC) - ago


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2025-03-01", "2025-03-01T00:00:00+00:00"),
        ("2025-03-01T10:30", "2025-03-01T10:30:00+00:00"),
        ("2025-03-01T10:30:00+02:00", "2025-03-01T10:30:00+02:00"),
    ],
)
def test_a_date_without_a_zone_is_in_utc(text: str, moment: str) -> None:
    assert read_moment(text).isoformat() == moment


@pytest.mark.parametrize(
    "text", ["", "7", "7m", "-7d", "7days", "2025-02-30", "yesterday", f"{10**12}d"]
)
def test_no_time_is_refused_and_says_what_is_one(text: str) -> None:
    with pytest.raises(EvalkitError, match=r"is neither .* such as 7d"):
        read_moment(text)


def test_a_run_of_unknown_time_is_since_no_time() -> None:
    moment = datetime(2025, 3, 1, tzinfo=UTC)
    assert is_since(None, None)
    assert not is_since(None, moment)
    assert is_since("2025-03-01T00:00:00+00:00", moment)
    assert not is_since("2025-03-01T00:00:00+01:00", moment)
