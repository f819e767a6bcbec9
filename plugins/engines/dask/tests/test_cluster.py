"""Dask as an engine: a cluster of this machine, and one that is joined."""

import itertools
import json
import operator
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import distributed
import pytest
from distributed.comm.tcp import TCP
from distributed.comm.utils import to_frames

import evalkit
from evalkit.catalog import Registry, object_in_file, parse_reference
from evalkit.errors import EvalkitError, PluginContractError, UnknownPluginError
from evalkit_engines_dask import cluster
from evalkit_engines_dask.cluster import Dask
from evalkit_engines_dask.engine import LostWorkerError

pytestmark = [pytest.mark.xdist_group("dask"), pytest.mark.slow]


@pytest.fixture(scope="module")
def engine() -> Iterator[Dask]:
    with Dask(workers=2) as engine:
        yield engine


def ignore(place: int, value: Any) -> None:
    """Ignore the value of a task."""


def entered(engine: Dask) -> None:
    """Enter an engine, and leave it."""
    with engine:
        pass


def call(engine: Dask, function: Callable[..., Any], *arguments: Any) -> Any:
    task = engine.submit(function, arguments, "the task", {})
    return engine.gather([task], ignore)[0]


def test_values_come_in_order_and_are_told_as_they_end(engine: Dask) -> None:
    times = [1.0, 0.0, 0.1]
    told: list[tuple[int, Any]] = []
    tasks = [engine.submit(time.sleep, (each,), f"nap {each}", {}) for each in times]
    tasks += [engine.submit(operator.mul, (n, n), f"square of {n}", {}) for n in (3, 4)]
    values = engine.gather(tasks, lambda place, value: told.append((place, value)))
    assert values == [None, None, None, 9, 16]
    assert sorted(told) == [*enumerate(values)]
    assert told[0][0] != 0
    assert engine.workers == 2


def test_workers_are_processes_of_one_thread(engine: Dask) -> None:
    tasks = [engine.submit(time.sleep, (0.3,), "nap", {}) for _ in range(2)]
    tasks += [engine.submit(os.getpid, (), "pid", {}) for _ in range(2)]
    pids = engine.gather(tasks, ignore)[2:]
    assert os.getpid() not in pids
    assert call(engine, os.getenv, "POLARS_MAX_THREADS") == "1"


def test_an_error_of_evalkit_arrives_as_it_is(engine: Dask) -> None:
    with pytest.raises(UnknownPluginError, match="is not of the form"):
        call(engine, parse_reference, ":")


def test_another_error_names_the_task(engine: Dask, tmp_path: Path) -> None:
    with pytest.raises(EvalkitError, match=r"^the task: ZeroDivisionError: ") as raised:
        call(engine, operator.truediv, 1, 0)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    with pytest.raises(EvalkitError, match=r"^the task: TypeError: cannot pickle"):
        call(engine, open, os.devnull)
    with pytest.raises(EvalkitError, match="cannot be sent"):
        call(engine, print, threading.Lock())
    (tmp_path / "late.py").write_text("raise TimeoutError('no reply')")
    with pytest.raises(EvalkitError, match="the task: TimeoutError: no reply"):
        call(engine, runpy.run_path, str(tmp_path / "late.py"))


def test_the_first_error_stops_what_was_not_started(
    engine: Dask, tmp_path: Path
) -> None:
    tasks = [engine.submit(operator.truediv, (1, 0), "divide", {})]
    tasks += [engine.submit(time.sleep, (0.2,), "nap", {}) for _ in range(3)]
    paths = [tmp_path / str(number) for number in range(20)]
    tasks += [engine.submit(Path.touch, (path,), "touch", {}) for path in paths]
    with pytest.raises(EvalkitError, match="divide"):
        engine.gather(tasks, ignore)
    assert call(engine, operator.add, 1, 1) == 2
    assert not any(map(Path.exists, paths))


def test_a_worker_imports_the_plugin_of_a_file(engine: Dask, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("NUMBER = 7\n")
    path = tmp_path / "metric.py"
    path.write_text("from beside import NUMBER\n")
    assert call(engine, object_in_file, f"{path}:NUMBER") == 7


def test_resources_that_no_worker_has_are_refused_at_once(engine: Dask) -> None:
    with pytest.raises(EvalkitError, match="part 1: no worker has the resources gpu=2"):
        engine.submit(os.getpid, (), "part 1", {"gpu": 2})


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("dask:scheduler=tls://host:8786,store=s3://b/c", "store", "s3://b/c"),
        ("dask:scheduler=tls://host:8786,store=/c", "scheduler", "tls://host:8786"),
        ("dask:resources=gpu=1/disk=2.5", "resources", {"gpu": 1.0, "disk": 2.5}),
        ("dask:insecure=true", "insecure", True),
    ],
)
def test_an_engine_is_named_with_parameters(text: str, field: str, value: Any) -> None:
    engine = Registry().load("engines", text).plugin
    assert getattr(engine.parameters, field) == value  # type: ignore[attr-defined]
    with pytest.raises(PluginContractError, match="greater than or equal to 1"):
        Registry().load("engines", "dask:workers=0")


@pytest.mark.parametrize(
    "address", ["tcp://10.1.2.3:8786", "cluster.example:8786", "ws://10.1.2.3:8786"]
)
def test_a_remote_scheduler_without_tls_is_refused(address: str) -> None:
    with pytest.raises(EvalkitError, match="whoever reaches a scheduler runs code"):
        entered(Dask(scheduler=address, store="s"))


def test_a_scheduler_that_cannot_be_joined_is_an_error(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{unused.getsockname()[1]}"
        for scheme, reason in (("tcp", "cannot connect"), ("tls", "comm.tls")):
            engine = Dask(scheduler=f"{scheme}://{place}", store=str(tmp_path), wait=1)
            with pytest.raises(EvalkitError, match=reason):
                entered(engine)
    with pytest.raises(EvalkitError, match="needs a store"):
        entered(Dask(scheduler=place))
    with pytest.raises(EvalkitError, match="not started"):
        Dask().submit(os.getpid, (), "pid", {})


@contextmanager
def scheduler(protocol: str = "tcp://") -> Iterator[str]:
    """Run a scheduler on loopback."""
    with distributed.LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=0,
        host="127.0.0.1",
        protocol=protocol,
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        silence_logs=50,
    ) as running:
        yield running.scheduler_address


@contextmanager
def worker(address: str, *options: str, **variables: str) -> Iterator[int]:
    """Run a worker of a scheduler."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address]
    command += ["--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard"]
    process = subprocess.Popen(
        [*command, "--no-nanny", *options],
        env={**os.environ, **variables},
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def test_workers_of_a_scheduler_are_checked_before_they_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "odd-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[evalkit.metrics]\nodd = odd:score\n")
    (tmp_path / "odd.py").write_text("score = len\n")
    odd = {"PYTHONPATH": str(tmp_path)}
    store = str(tmp_path / "store")
    with scheduler() as address:
        with pytest.raises(EvalkitError, match="has had no worker for 1 s"):
            entered(Dask(scheduler=address, store=store, wait=1))
        with (
            worker(address, "--name", "w7", **odd),
            pytest.raises(EvalkitError, match=r"w7 .* odd: code .*, expected none"),
            Dask(scheduler=address, store=store) as engine,
        ):
            call(engine, operator.add, 1, 1)
        with worker(address, "--name", "w8"):
            with monkeypatch.context() as patch:
                patch.setattr(cluster, "save", lambda *values: "nothing")
                engine = Dask(scheduler=address, store=store)
                with pytest.raises(EvalkitError, match=r"w8 .* the store"), engine:
                    call(engine, operator.add, 1, 1)
            client = distributed.Client(address, set_as_default=False)  # type: ignore[no-untyped-call]
            with client, Dask(client=client, store=store) as engine:
                with worker(address, "--resources", "gpu=1"):
                    while engine.workers < 2:
                        call(engine, time.sleep, 0.2)
                    task = engine.submit(operator.add, (1, 1), "sum", {"gpu": 1})
                    assert engine.gather([task], ignore) == [2]
                with worker(address, "--name", "w9", **odd):
                    nap = time.sleep, (0.5,), "nap", {}
                    naps = [engine.submit(*nap) for _ in range(99)]
                    with pytest.raises(EvalkitError, match=r"worker w9 at .*: odd: "):
                        engine.gather(naps, ignore)
            assert client.status == "closed"


def test_a_scheduler_is_joined_with_certificates(tmp_path: Path) -> None:
    security = distributed.Security.temporary()  # type: ignore[no-untyped-call]
    texts = security.get_tls_config_for_role("client")
    pair, authority = tmp_path / "pair.pem", tmp_path / "authority.pem"
    pair.write_text(texts["key"] + texts["cert"])
    authority.write_text(texts["ca_file"])
    roles = ("scheduler", "worker", "client")
    settings = {f"distributed.comm.tls.{role}.cert": str(pair) for role in roles}
    settings["distributed.comm.tls.ca-file"] = str(authority)
    with dask.config.set(settings), scheduler("tls://") as address:
        variables = {
            f"DASK_{name.replace('.', '__').replace('-', '_').upper()}": value
            for name, value in settings.items()
        }
        engine = Dask(scheduler=address, store=str(tmp_path / "store"))
        with worker(address, **variables), engine:
            assert call(engine, operator.add, 1, 1) == 2


def processes(group: int, command: str = "") -> list[int]:
    """Return the living processes of a group with a command."""
    ps = ["ps", "-wweo", "pid=,pgid=,stat=,args="]
    lines = subprocess.run(ps, capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=3) for line in lines.splitlines() if command in line]
    return [int(row[0]) for row in rows if int(row[1]) == group and row[2][0] != "Z"]


def has_ended(group: int) -> bool:
    """Say whether no process of a group is left, or is a moment later."""
    deadline = time.monotonic() + 20
    while processes(group) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not processes(group)


def test_lost_workers_cost_time_only() -> None:
    with Dask(workers=2) as engine:
        group = os.getpgid(call(engine, os.getpid))
        ended = itertools.count(1)

        def kill_some(place: int, value: Any) -> None:
            if next(ended) in (2, 6, 9):
                for pid in processes(group, "spawn_main")[-1:]:
                    os.kill(pid, signal.SIGKILL)

        naps = [engine.submit(time.sleep, (0.3,), f"nap {n}", {}) for n in range(12)]
        sums = [engine.submit(operator.add, (n, n), f"sum {n}", {}) for n in range(12)]
        values = engine.gather([*naps, *sums], kill_some)
        assert values == [None] * 12 + [2 * n for n in range(12)]
        assert engine.lost >= 1
        with pytest.raises(LostWorkerError, match=r"^rows 7 to 9: 3 workers"):
            engine.gather([engine.submit(os._exit, (3,), "rows 7 to 9", {})], ignore)
        assert engine.lost >= 3
        assert call(engine, operator.add, 1, 1) == 2
        os.kill(group, signal.SIGKILL)  # the scheduler
        with pytest.raises(EvalkitError, match=r"scheduler at .* is lost"):
            call(engine, time.sleep, 60)
    assert has_ended(group)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_process_outlives_the_driver(tmp_path: Path, number: int) -> None:
    script = tmp_path / "script.py"  # without a guard of its main module
    script.write_text(
        "import os, time\n"
        "from evalkit_engines_dask.cluster import Dask\n"
        "with Dask(workers=2) as engine:\n"
        "    pid = engine.submit(os.getpid, (), 'pid', {})\n"
        "    group = os.getpgid(engine.gather([pid], lambda *_: None)[0])\n"
        "    print(group, engine.store, flush=True)\n"
        "    engine.gather([engine.submit(time.sleep, (60,), 'nap', {})], print)\n"
    )
    pipe = subprocess.PIPE
    driver = subprocess.Popen([sys.executable, script], stdout=pipe, stderr=pipe)
    assert driver.stdout is not None
    group, store = driver.stdout.readline().decode().split()
    assert len(processes(int(group))) >= 3
    driver.send_signal(number)
    _, errors = driver.communicate(timeout=20)
    assert has_ended(int(group))
    assert not Path(store).exists()
    assert (b"KeyboardInterrupt" in errors) == (number == signal.SIGINT)
    assert b"- distributed." not in errors  # no logs


def test_no_key_of_the_driver_is_sent_or_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"uid": str(n), "statement": "x", "label": "neutral"} for n in range(50)]
    answers = [{"id": str(n), "label": "neutral"} for n in range(50)]
    data, sent, write = tmp_path / "data.jsonl", list[Any](), TCP.write
    data.write_text("\n".join(map(json.dumps, rows)))

    async def record(self: TCP, msg: Any, *rest: Any, **options: Any) -> Any:
        sent.extend(await to_frames(msg))  # type: ignore[no-untyped-call]
        return await write(self, msg, *rest, **options)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(TCP, "write", record)
    monkeypatch.setenv("SOME_API_KEY", "sk-sentinel-of-the-driver")
    engine = Dask(workers=1, store=str(tmp_path / "store"))
    result = evalkit.evaluate(str(data), answers, task="sentiment", engine=engine)
    assert result.scores[0].value == 1
    stored = filter(Path.is_file, (tmp_path / "store").rglob("*"))
    content = b"".join([*map(bytes, sent), *map(Path.read_bytes, stored)])
    assert b"load_part" in content
    assert b"sk-sentinel" not in content
