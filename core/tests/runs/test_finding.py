"""A run is named by its path, the start of its id, its model, or `latest`."""

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
from evalkit.runs import find_run, find_runs, list_runs, read_moment
from evalkit.runs.folders import id_of

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
        fingerprint = f"{next(counter):02}".ljust(16, "f")
        path = tmp_path / folder / dataset / f"{day}-{model}-{fingerprint[:8]}"
        shutil.copytree(first, path)
        started = "" if day is None else f"2025-03-{day:02}T10:00:00+00:00"
        own = {"model": model, "dataset": dataset, "fingerprint": fingerprint}
        timings = {"started": started, "seconds": 1.0}
        write_record(path, {**record, **own, **changes, "timings": timings})
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
    assert found.chosen.started == datetime(2025, 3, 3, 10, tzinfo=UTC)
    assert find_run("m", tmp_path / "runs") == newest


@pytest.mark.parametrize("status", ["partial", "refused"])
def test_other_runs_never_answer_to_a_name(
    make: Make, tmp_path: Path, status: str
) -> None:
    runs = tmp_path / "runs"
    lacking = make("m", 5, status=status)
    for name in ("m", "m@mini"):
        with pytest.raises(StorageError) as caught:
            find_run(name, runs)
        assert f"none of the 1 runs of this model in {runs} is complete" in str(
            caught.value
        )
        assert lacking.name in str(caught.value)
    complete = make("m", 1)
    with pytest.warns(UserWarning, match=r"; an earlier run is used"):
        assert find_run("m", runs) == complete
    assert find_run(id_of(lacking), runs) == lacking
    assert find_run("latest", runs) == lacking


def test_the_start_of_an_id_means_its_latest_run(make: Make, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    first, other = make("m", 1), make("n", 2)
    again = make("m", 3, fingerprint=evalkit.read_run(first).fingerprint)
    assert find_run("01ff", runs) == find_run("01ffffff", runs) == again
    assert find_run("02ff", runs) == other
    assert [run.path for run in list_runs(runs)] == [again, other]
    same = make("k", 4, fingerprint="01ff0000ffffffff")
    with pytest.raises(StorageError, match=r"01ff matches 2 runs .*Give a path, or"):
        find_run("01ff", runs)
    assert find_run("01ff0", runs) == same
    assert find_run("01ffffffff", runs) == again
    for name in ("01f", "ffff", "01ffffff0"):
        with pytest.raises(StorageError, match="there is no run"):
            find_run(name, runs)


def test_a_complete_run_does_not_stand_behind_a_partial_rescored_one(
    make: Make, tmp_path: Path
) -> None:
    parent = make("m", 1)
    fingerprint = evalkit.read_run(parent).fingerprint
    child = make("m", 2, parent=fingerprint, status="partial")
    with pytest.warns(UserWarning, match="is partial"):
        assert find_run("m", tmp_path / "runs") == parent
    shutil.rmtree(child)
    child = make("m", 1, parent=fingerprint)
    assert find_run("m", tmp_path / "runs") == child


def test_an_unknown_name_says_which_models_there_are(
    make: Make, tmp_path: Path
) -> None:
    make("roberta", 1)
    with pytest.raises(StorageError, match=r"Models here: roberta\. Name a run by"):
        find_run("robreta", tmp_path / "runs")
    with pytest.raises(StorageError, match=r"holds no runs\. `evalkit eval` writes"):
        find_run("latest", tmp_path / "none")


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
