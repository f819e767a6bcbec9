import multiprocessing
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalkit import Metric
from evalkit.base.terms import MetricContext
from evalkit.errors import EvalkitError, MetricError
from evalkit.parallel import NotPortable, Workers, answer, pickled_request, result_of
from evalkit.plugins.bound import Bound
from evalkit.plugins.registry import Registry, load_component
from evalkit.plugins.resolver import Resolver
from evalkit.scoring import (
    ScoringSettings,
    group_by_tag,
    metric_outcomes,
    passes,
    score_metric,
)
from evalkit.scoring.rows import batch_scores, batch_statistics
from evalkit.scoring.table import Batch, BatchFunction, ScoringTable

CODE = '''
import os
import signal
import sys
import time

import evalkit
import polars as pl
from evalkit import Parameters

if os.environ.get("ODD_PARENT") not in (None, str(os.getpid())):
    raise ImportError("only the parent may import this")


class Length(evalkit.Metric):
    class Parameters(Parameters):
        weight: float = 1.0

    def score_example(self, prediction, target):
        if prediction == target:
            return None
        return len(prediction) * self.parameters.weight


class Where(evalkit.Metric):
    def score_example(self):
        return os.getpid()


class Odd(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


class Behaves(evalkit.Metric):
    """Does what a prediction says."""

    most_not_scored = 0.0

    def score_example(self, prediction):
        if prediction == "print":
            print("a plugin's word")
            os.write(1, b"a plugin's byte")
            assert sys.stdin.read() == ""
            assert os.read(0, 1) == b""
        if prediction == "raise":
            raise ValueError("bad row")
        if prediction == "odd":
            raise Odd("two", "words")
        if prediction == "local":
            class Local(Exception):
                pass
            raise Local("nowhere to be found")
        if prediction == "exit":
            raise SystemExit(4)
        if prediction == "interrupt":
            raise KeyboardInterrupt
        if prediction == "nan":
            return float("nan")
        if prediction == "die":
            os._exit(3)
        if prediction == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if prediction == "hang":
            time.sleep(600)
        if prediction == "close":
            sys.stdout.close()
        return 1.0


class Mostly(Behaves):
    most_not_scored = 0.1


class Pairs(evalkit.Metric):
    keys = ("gold",)
    most_not_scored = 0.0

    def statistics(self, batch):
        rows = batch.to_dicts()
        return pl.DataFrame({
            "row": range(len(rows)),
            "gold": [row["target"] for row in rows],
            "length": [self.length(row["prediction"]) for row in rows],
        })

    def length(self, text):
        if text == "raise":
            raise ValueError("bad row")
        return 1.0 * len(text)

    def finalize(self, sums):
        return sums.group_by("group").agg(value=pl.col("length").sum())


class Objects(Pairs):
    def statistics(self, batch):
        gold = pl.Series("gold", [object()] * batch.height, dtype=pl.Object)
        return super().statistics(batch).with_columns(gold)


length = Length()
'''

NAMES = {
    "size": "Length",
    "an-instance": "length",
    "where": "Where",
    "behaves": "Behaves",
    "mostly": "Mostly",
    "pairs": "Pairs",
    "objects": "Objects",
}

ORIGIN = "metrics/behaves (odd-metrics 1.5)"


@pytest.fixture
def load(fake_distribution: Any) -> Callable[..., Bound]:
    entry_points = {"evalkit.metrics": NAMES}
    fake_distribution(CODE, entry_points, name="odd-metrics", version="1.5")

    def call(name: str, **parameters: Any) -> Bound:
        return Registry().load("metrics", name, parameters)

    return call


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers as soon as two batches were computed here."""
    monkeypatch.setattr(passes, "WORTH_SECONDS", -1.0)
    monkeypatch.setattr(passes, "LEAST_MEASURED", 0.0)


def table_of(predictions: list[Any], **columns: Any) -> ScoringTable:
    n = len(predictions)
    frame = pl.DataFrame(
        {
            "position": pl.Series(range(n), dtype=pl.UInt32),
            "prediction": predictions,
            "target": ["a", "bb", "ccc"] * (n // 3) + ["a"] * (n % 3),
            **columns,
        }
    )
    ids = [f"id-{number}" for number in range(n)]
    return ScoringTable(frame, ids, None, MetricContext(None, "one"))


TEXTS = ["a", "bb", "dddd", "", "ccc"] * 60


def score_examples(*given: Any) -> pl.DataFrame:
    return metric_outcomes(*given).statistics


compute_statistics = score_examples


def pids(found: pl.DataFrame) -> set[int]:
    return {int(pid) for pid in found["score"]}


@pytest.mark.usefixtures("eager")
@pytest.mark.slow
def test_several_processes_give_what_one_gives(load: Callable[..., Bound]) -> None:
    table = table_of(TEXTS)
    alone = score_examples(load("size", weight=0.3), table)
    told: list[int] = []
    with Workers(2) as helpers:
        shared = score_examples(load("size", weight=0.3), table, helpers, told.append)
        where = score_examples(load("where"), table, helpers)
    assert shared.equals(alone)
    assert shared.schema == alone.schema
    assert sum(told) == len(TEXTS)
    assert len(pids(where)) == 3
    for pid in pids(where) - {os.getpid()}:
        assert not is_alive(pid)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def filler(special: dict[int, str], n: int = 60) -> ScoringTable:
    return table_of([special.get(row, "fine") for row in range(n)])


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("name", "jobs"),
    [("size", 1), ("size", 3), ("an-instance", 2), ("objects", 2), ("pairs", 2)],
)
def test_results_do_not_depend_on_the_number_of_jobs(
    load: Callable[..., Bound], name: str, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalkit.scoring.passes.BATCH_ROWS", 20)
    metric, table = load(name), table_of(TEXTS)
    compute = score_examples if metric.has("score_example") else compute_statistics
    alone = compute(metric, table)
    with Workers(jobs) as helpers:
        shared = compute(metric, table, helpers)
        again = compute(metric, table, helpers)
    for found in (shared, again):
        assert found.schema == alone.schema
        compared = found.select(pl.exclude(pl.Object))
        assert compared.equals(alone.select(pl.exclude(pl.Object)))


class Here:
    """Does the work of workers in this process, by what goes to and comes from them."""

    jobs = 2

    def map(
        self, load: Any, arguments: Any, function: Any, parts: Any, died: Any
    ) -> Any:
        reference = pickle.dumps((load, arguments))
        for part in parts:
            request = pickled_request(reference, function, part)
            yield result_of(pickle.loads(answer(request)))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("word", ["raise", "odd", "local"])
@pytest.mark.parametrize("helpers", [None, Here()])
def test_the_traceback_of_a_row_that_is_left_out_is_logged(
    word: str, helpers: Any, load: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    """`--traceback` showed none of a row, and a worker lost that of all rows."""
    caplog.set_level("DEBUG", logger="evalkit")
    table, settings = filler({31: word, 44: "exit"}), ScoringSettings()
    groups = group_by_tag(pl.Series([["t"]] * table.frame.height))
    found = score_metric(load("mostly"), table, groups, settings, workers=helpers)
    assert found.error is not None
    assert found.scores[0].n == 58
    assert "in score_example" in caplog.text
    assert "SystemExit" not in caplog.text


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
def test_what_goes_wrong_in_a_worker_is_an_error_of_the_metric(
    load: Callable[..., Bound],
) -> None:
    failed = "score_example failed for the example 'id-41' with"
    texts = {
        "raise": f"{failed} ValueError: bad",
        "local": f"{failed} Local: nowhere",
        "exit": f"{failed} SystemExit: 4",
        "nan": "score_example for the example 'id-41': it returned nan",
        "die": "a worker process ended while it computed one of the",
        "kill": "a worker process ended while it computed one of the",
    }
    with Workers(2) as helpers:
        for word, text in texts.items():
            table = filler({41: word, 55: "raise"})
            with pytest.raises(MetricError) as caught:
                score_examples(load("behaves"), table, helpers)
            assert str(caught.value).startswith(f"{ORIGIN}: {text}")
            if word in ("die", "kill"):
                named = r"examples 'id-(\d+)' to 'id-(\d+)'; one job"
                found = re.search(named, str(caught.value))
                assert found is not None
                assert int(found[1]) <= 41 <= int(found[2])
            assert score_examples(load("behaves"), filler({}), helpers).height == 60


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
def test_a_worker_that_hangs_does_not_outlive_an_error(
    load: Callable[..., Bound],
) -> None:
    started = time.monotonic()
    with Workers(2) as helpers, pytest.raises(MetricError, match="'id-20'"):
        score_examples(
            load("behaves"), filler({20: "raise", 21: "raise", 30: "hang"}), helpers
        )
    assert time.monotonic() - started < 300


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
def test_what_a_plugin_prints_goes_to_stderr(
    load: Callable[..., Bound], capfd: pytest.CaptureFixture[str]
) -> None:
    with Workers(2) as helpers:
        # a worker whose stream was closed prints no more, so this comes last
        for special in ({40: "print"}, {20: "close"}):
            found = score_examples(load("behaves"), filler(special), helpers)
            assert found["score"].to_list() == [1.0] * 60
    out, err = capfd.readouterr()
    assert out == ""
    assert "a plugin's byte" in err


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
def test_a_metric_that_workers_cannot_import_is_computed_here(
    load: Callable[..., Bound], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODD_PARENT", str(os.getpid()))
    with Workers(2) as helpers:
        found = score_examples(load("where"), table_of(TEXTS), helpers)
    assert pids(found) == {os.getpid()}
    assert found["position"].to_list() == list(range(len(TEXTS)))


def no_process(*_: Any, **__: Any) -> Any:
    raise AssertionError("a process was started")


class Given(Metric):
    def score_example(self) -> float:
        return 1.0


class Plain:
    """Cannot be pickled."""

    def __reduce__(self) -> Any:
        raise TypeError("not this one")


@pytest.mark.usefixtures("eager")
def test_no_worker_is_started_where_none_can_help(
    load: Callable[..., Bound], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SpawnProcess, "start", no_process)
    given = Resolver(Registry()).bind("metrics", Given)
    unpicklable = replace(load("where"), loaded_with={"x": Plain()})
    objects = table_of(TEXTS)
    python = pl.Series("odd", [object()] * len(TEXTS), dtype=pl.Object)
    objects = objects._replace(frame=objects.frame.with_columns(target=python))
    with Workers(2) as two, Workers(1) as one:
        for metric, table, helpers in [
            (given, table_of(TEXTS), two),
            (unpicklable, table_of(TEXTS), two),
            (load("where"), objects, two),
            (load("where"), table_of(TEXTS), one),
        ]:
            assert score_examples(metric, table, helpers).height == len(TEXTS)


@pytest.mark.usefixtures("eager")
def test_a_system_without_room_for_a_process_computes_here(
    load: Callable[..., Bound], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise BlockingIOError("resource temporarily unavailable")

    monkeypatch.setattr(SpawnProcess, "start", refuse)
    with Workers(2) as helpers:
        found = score_examples(load("where"), table_of(TEXTS), helpers)
    assert pids(found) == {os.getpid()}


@pytest.mark.parametrize("jobs", [0, -1])
def test_a_number_of_jobs_below_one_is_refused(jobs: int) -> None:
    with pytest.raises(EvalkitError, match=f"jobs must be 1 or more, is {jobs}"):
        Workers(jobs)


def reply_to(metric: Bound, table: ScoringTable) -> Any:
    """Give what comes of a worker's reply, from this process."""
    loaded_with = dict(metric.loaded_with or {})
    reference = pickle.dumps((load_component, (metric.component, loaded_with)))
    batch = Batch(table.frame, table.ids, table.context, ())
    request = pickled_request(reference, function_of(metric), batch)
    return result_of(pickle.loads(answer(request)))


def function_of(metric: Bound) -> BatchFunction:
    return batch_scores if metric.has("score_example") else batch_statistics


def test_an_interrupt_in_a_worker_is_raised(load: Callable[..., Bound]) -> None:
    with pytest.raises(KeyboardInterrupt):
        reply_to(load("behaves"), filler({3: "interrupt"}, 6))


def test_a_worker_says_what_it_cannot_do(load: Callable[..., Bound]) -> None:
    with pytest.raises(NotPortable):
        reply_to(load("objects"), filler({}, 6))
    known = load("behaves")
    component = known.component._replace(value="no_such_module:Thing")
    unknown = replace(known, component=component)
    with pytest.raises(NotPortable):
        reply_to(unknown, filler({}, 6))


SCRIPT = """
import multiprocessing, sys, polars as pl
from evalkit.scoring import passes as batches
from evalkit.scoring.table import ScoringTable
from evalkit.base.terms import MetricContext
from evalkit.plugins.registry import Registry
from evalkit.scoring import metric_outcomes
from evalkit.parallel import Workers

print("the main module runs", flush=True)
batches.WORTH_SECONDS, batches.LEAST_MEASURED = -1.0, 0.0
sys.path.insert(0, sys.argv[1])
frame = pl.DataFrame(
    {
        "position": pl.Series(range(60), dtype=pl.UInt32),
        "prediction": ["fine"] * 30 + [sys.argv[2]] * 30,
        "target": ["a"] * 60,
    }
)
ids = [str(i) for i in range(60)]
table = ScoringTable(frame, ids, None, MetricContext(None, "one"))
with Workers(2) as helpers:
    metric_outcomes(Registry().load("metrics", "where"), table, helpers)
    pids = [process.pid for process in multiprocessing.active_children()]
    print(*pids, flush=True)
    metric_outcomes(Registry().load("metrics", "behaves"), table, helpers)
print("done", flush=True)
"""


@pytest.fixture
def script(fake_distribution: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    entry_points = {"evalkit.metrics": NAMES}
    made = fake_distribution(CODE, entry_points, name="odd-metrics", version="1.5")
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(SCRIPT), encoding="utf-8")

    started: list[subprocess.Popen[str]] = []

    def start(word: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(path), str(made.folder), word],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with process:
            process.kill()


def started_pids(process: subprocess.Popen[str]) -> list[int]:
    assert process.stdout is not None
    assert process.stdout.readline() == "the main module runs\n"
    found = [int(pid) for pid in process.stdout.readline().split()]
    assert found
    return found


def assert_all_end(found: list[int]) -> None:
    deadline = time.monotonic() + 60
    while any(map(is_alive, found)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, found))


@pytest.mark.slow
def test_a_script_needs_no_guard_around_its_main_part(
    script: Callable[..., Any],
) -> None:
    out, err = script("fine").communicate(timeout=60)
    assert out.splitlines()[0] == "the main module runs"
    assert out.splitlines()[2:] == ["done"]
    assert err == ""


@pytest.mark.slow
@pytest.mark.parametrize("whole_group", [True, False])
def test_an_interrupt_ends_the_workers(
    script: Callable[..., Any], whole_group: bool
) -> None:
    process = script("hang")
    found = started_pids(process)
    time.sleep(1.0)
    if whole_group:  # as the terminal does for Ctrl-C
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert out == ""
    assert err.count("KeyboardInterrupt") == 1
    assert_all_end(found)


@pytest.mark.slow
def test_workers_end_when_their_parent_is_killed(script: Callable[..., Any]) -> None:
    process = script("hang")
    found = started_pids(process)
    time.sleep(1.0)
    process.kill()
    process.communicate(timeout=60)
    assert_all_end(found)


def test_workers_are_kept_for_the_next_work() -> None:
    """Although the threads that asked them have ended."""
    with Workers(2) as helpers:
        for _ in range(2):
            assert [*helpers.map(dict, (), dict.get, ["a"] * 3, _never)] == [None] * 3
        assert 1 <= len(multiprocessing.active_children()) <= 2


def _never(first: Any, last: Any) -> EvalkitError:
    raise AssertionError(f"{first} to {last}")
