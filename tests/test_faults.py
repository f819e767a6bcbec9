"""Interrupts, crashes, races and full disks leave no folder that passes for a run."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import polars as pl
import pytest

import evalkit

pytestmark = pytest.mark.slow

Run = Callable[..., CompletedProcess[str]]
Start = Callable[..., "subprocess.Popen[str]"]

SCRIPT = str(Path(sys.executable).with_name("evalkit"))
FILES = {
    *("examples.parquet", "problems.jsonl", "responses.parquet", "run.json"),
    "scores.parquet",
    "statistics",
}

PLUGINS = '''
import os
import time
from pathlib import Path

import evalkit
import evalkit.runs.folders


def reach(moment):
    """Say that this moment was reached, and stay in it."""
    if os.environ.get("STAY_IN") == moment:
        Path(os.environ["REACHED"]).touch()
        time.sleep(120)


class Data(evalkit.Dataset):
    task = "sentiment"

    def load(self, split):
        return [
            {"uid": str(n), "statement": "text", "label": label, "tags": [f"n:{n % 7}"]}
            for n, label in enumerate(["positive", "negative", "neutral"] * 100)
        ]


class Share(evalkit.Metric):
    def score_example(self, prediction, target):
        reach("scoring")
        return float(prediction == target)


class Blocker:
    """Stays in some step of writing."""

    def before_writing(self):
        reach("before writing")
        storage = evalkit.runs.folders
        fsync, move = os.fsync, storage._renamed
        os.fsync = lambda descriptor: (reach("in run.json"), fsync(descriptor))
        storage._renamed = lambda *paths: (reach("unpublished"), move(*paths))


class Meeting:
    """Waits until two evaluations are about to write."""

    def before_writing(self):
        place = Path(os.environ["MEETING"])
        (place / str(os.getpid())).touch()
        end = time.monotonic() + 60
        while len(list(place.iterdir())) < 2 and time.monotonic() < end:
            time.sleep(0.001)
'''

MOMENTS = ("scoring", "before writing", "in run.json", "unpublished")


@pytest.fixture(autouse=True)
def _place(
    tmp_path: Path,
    fake_distribution: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_distribution(
        PLUGINS,
        {
            "evalkit.datasets": {"faulty": "Data"},
            "evalkit.metrics": {"share": "Share"},
            "evalkit.observers": {"blocker": "Blocker", "meeting": "Meeting"},
        },
    )
    monkeypatch.chdir(tmp_path)
    generator = random.Random(0)
    labels = ("positive", "negative", "neutral")
    rows = [{"id": str(n), "label": generator.choice(labels)} for n in range(300)]
    write(Path("some.jsonl"), rows)


def write(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


ARGUMENTS = ("eval", "faulty", "-p", "some.jsonl", "-m", "share")


@pytest.fixture
def start() -> Iterator[Start]:
    """Start evaluations, which end with the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(*options: str, **variables: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [SCRIPT, *ARGUMENTS, *options],
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def runs(folder: str = "runs") -> list[Path]:
    """Find what passes for a run."""
    return [
        path.parent
        for path in Path(folder).glob("*/*/run.json")
        if path.parent.name[0] != "."
    ]


def assert_whole(run: Path) -> dict[str, Any]:
    assert {path.name for path in run.iterdir()} == FILES
    record: dict[str, Any] = json.loads((run / "run.json").read_text("utf-8"))
    assert record["fingerprint"][:8] == run.name[-8:]
    scores = pl.read_parquet(run / "scores.parquet")
    # the whole set, seven tags, the worst of them and their gap
    assert scores.height == 10
    assert pl.read_parquet(run / "examples.parquet").height == 300
    assert (run / "problems.jsonl").read_bytes() == b""
    return record


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


def stop_in(start: Start, moment: str, number: int) -> tuple[int, str, str]:
    reached = Path("reached")
    process = start("--observer", "blocker", STAY_IN=moment, REACHED=str(reached))
    wait_for(reached, process)
    # a signal between the last check of Python and the call of sleep is seen only
    # when the sleep ends: let it begin first
    time.sleep(0.5)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_says_one_line_and_leaves_nothing(moment: str, start: Start) -> None:
    code, out, err = stop_in(start, moment, signal.SIGINT)
    assert (code, out) == (130, "")
    assert err == "evalkit: interrupted; what was not finished was not written\n"
    assert [path for path in Path("runs").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "moment",
    [pytest.param(m, marks=pytest.mark.slow) for m in MOMENTS[:3]] + ["unpublished"],
)
def test_a_killed_evaluation_leaves_no_run_and_can_be_done_again(
    moment: str, start: Start
) -> None:
    code, _, _ = stop_in(start, moment, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert runs() == []
    again = start()
    _, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    [run] = runs()
    assert_whole(run)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_at_any_time_leaves_a_whole_run_or_none(
    number: int, start: Start
) -> None:
    generator = random.Random(int(number))
    for attempt in range(6):
        out = f"out-{attempt}"
        process = start("-o", out)
        time.sleep(generator.uniform(0.1, 1.2))
        process.send_signal(number)
        process.communicate(timeout=60)
        for run in runs(out):
            assert_whole(run)


def test_two_evaluations_at_once_write_a_whole_run_each(start: Start) -> None:
    meeting = Path("meeting")
    meeting.mkdir()
    both = [start("--observer", "meeting", MEETING=str(meeting)) for _ in range(2)]
    ends = [process.communicate(timeout=90) for process in both]
    assert [process.returncode for process in both] == [0, 0], ends
    assert len(list(meeting.iterdir())) == 2
    first, second = runs()
    assert assert_whole(first)["fingerprint"] == assert_whole(second)["fingerprint"]
    assert {path.name for path in first.parent.iterdir()} == {first.name, second.name}


def test_a_folder_without_run_json_is_no_run(run_evalkit: Run) -> None:
    first = run_evalkit(*ARGUMENTS)
    assert first.returncode == 0, first.stderr
    [run] = runs()
    record = assert_whole(run)
    (run / "run.json").unlink()
    (run / "scores.parquet").write_bytes(b"cut o")
    (run / "stray").mkdir()
    again = run_evalkit(*ARGUMENTS)
    assert again.returncode == 0, again.stderr
    [written] = runs()
    assert written != run
    assert again.stdout == first.stdout.replace(run.name, written.name)
    assert without_timings(assert_whole(written)) == without_timings(record)
    assert (run / "scores.parquet").read_bytes() == b"cut o"


def test_a_run_that_is_there_is_not_touched(run_evalkit: Run) -> None:
    assert run_evalkit(*ARGUMENTS).returncode == 0
    [run] = runs()
    before = {path: path.stat().st_mtime_ns for path in run.iterdir()}
    assert run_evalkit(*ARGUMENTS).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in run.iterdir()} == before


@pytest.mark.parametrize("blocks", [1, 8])
def test_a_full_disk_is_an_error_without_a_run(blocks: int) -> None:
    # coverage could not write its own file either
    variables = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    done = subprocess.run(
        ["sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh", SCRIPT, *ARGUMENTS],
        env=variables,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        r"evalkit: error: the run runs/faulty/\S+-some-[0-9a-f]{8} cannot be written: "
        r".*[Ff]ile too large.*\n",
        done.stderr,
    )
    assert [path for path in Path("runs").rglob("*") if path.is_file()] == []


def test_a_file_in_place_of_the_folder_is_an_error(run_evalkit: Run) -> None:
    Path("taken").write_text("mine", encoding="utf-8")
    done = run_evalkit(*ARGUMENTS, "-o", "taken/runs")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        r"evalkit: error: the run taken/runs/faulty/\S+-some-[0-9a-f]{8} cannot be "
        r"written: Not a directory\n",
        done.stderr,
    )
    assert Path("taken").read_text("utf-8") == "mine"


def without_timings(record: dict[str, Any]) -> dict[str, Any]:
    # the digest is of the whole file, timings too
    return {key: value for key, value in record.items() if key != "timings"}


def test_hash_seed_and_threads_change_nothing_but_the_timings(run_evalkit: Run) -> None:
    found = []
    for seed, threads in (("0", "1"), ("7", "4")):
        out = f"out-{seed}-{threads}"
        done = run_evalkit(
            *("eval", "sample-sentiment", "-o", out, "--json"),
            PYTHONHASHSEED=seed,
            POLARS_MAX_THREADS=threads,
        )
        assert done.returncode == 0, done.stderr
        found.append(
            {
                run.name.partition("-")[2]: (
                    without_timings(json.loads((run / "run.json").read_text())),
                    pl.read_parquet(run / "examples.parquet").to_dicts(),
                    pl.read_parquet(run / "scores.parquet").to_dicts(),
                    (run / "problems.jsonl").read_bytes(),
                )
                for run in runs(out)
            }
        )
    assert [len(runs_of_both_models) for runs_of_both_models in found] == [2] * 2
    assert found[0] == found[1]


def test_shuffled_rows_are_another_run_with_the_same_scores() -> None:
    lines = Path("some.jsonl").read_text("utf-8").splitlines(keepends=True)
    for folder in ("copy", "shuffled"):
        Path(folder).mkdir()
    Path("copy", "some.jsonl").write_text("".join(lines), encoding="utf-8")
    random.Random(1).shuffle(lines)
    Path("shuffled", "some.jsonl").write_text("".join(lines), encoding="utf-8")
    metrics = ["share", "macro-f1", "accuracy"]
    first, copy, shuffled = (
        evalkit.evaluate("faulty", path, metrics=metrics)
        for path in ("some.jsonl", "copy/some.jsonl", "shuffled/some.jsonl")
    )
    assert copy.run_id == first.run_id
    assert shuffled.run_id != first.run_id
    assert shuffled.scores == copy.scores == first.scores


def test_any_change_of_the_inputs_is_another_run() -> None:
    def run_id(**changes: Any) -> str:
        options: dict[str, Any] = {"metrics": ["share"], "model": "m", **changes}
        dataset = options.pop("dataset", "faulty")
        predictions = options.pop("predictions", "some.jsonl")
        return evalkit.evaluate(dataset, predictions, **options).run_id

    class Faulty(evalkit.Dataset):
        name = "faulty"
        task = "sentiment"
        text = "text"

        def load(self, split: str) -> list[dict[str, Any]]:
            return [
                {"uid": str(n), "statement": self.text, "label": "positive"}
                for n in range(300)
            ]

    class Changed(Faulty):
        text = "another text"

    rows = [json.loads(line) for line in Path("some.jsonl").read_text().splitlines()]
    rows[0]["label"] = "neutral" if rows[0]["label"] != "neutral" else "positive"
    write(Path("changed.jsonl"), rows)
    ids = [
        run_id(),
        run_id(seed=1),
        run_id(on_missing="skip"),
        run_id(on_invalid="wrong"),
        run_id(on_duplicate="last"),
        run_id(confidence=0.9),
        run_id(metrics=["accuracy"]),
        run_id(metrics=["share", "accuracy"]),
        run_id(metrics=["macro-f1"]),
        run_id(metrics=["macro-f1:labels=seen"]),
        run_id(model="other"),
        run_id(predictions="changed.jsonl"),
        run_id(dataset=Faulty),
        run_id(dataset=Changed),
    ]
    assert len(set(ids)) == len(ids)
    assert run_id() == ids[0]
