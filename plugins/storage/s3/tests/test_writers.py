"""Writers that race, that are killed, and servers that protect none of them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from s3_servers import Server, rclone

import evalkit
from evalkit.errors import StorageError
from evalkit.places import forget_places, local_file, put
from evalkit.runs import list_runs
from evalkit_storage_s3.place import S3

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("seaweedfs")]

Run = Callable[..., CompletedProcess[str]]

LABELS = ("positive", "negative", "neutral")
RANGE = range(12)
EVAL = ("eval", "--data", "few.jsonl", "--task", "sentiment", "-m", "accuracy", "-p")

WRITER = """
import os, random, signal, sys
import boto3, botocore.config, botocore.exceptions, botocore.httpsession, polars
import evalkit

evalkit.evaluate, evalkit.Result.save
import evalkit_storage_s3.place

root, count = sys.argv[1], int(sys.argv[2])
draw = random.Random(0)
send = botocore.httpsession.URLLib3Session.send
sent, last, answered = 0, None, False


def count_and_die(session, request):
    global sent
    sent += 1
    if sent == last and not answered:
        os.kill(os.getpid(), signal.SIGKILL)
    answer = send(session, request)
    if last is not None and sent >= last:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer


botocore.httpsession.URLLib3Session.send = count_and_die
for number in (-1, *range(count)):
    child = os.fork()
    if not child:
        evalkit.evaluate(
            "few.jsonl",
            "said.jsonl",
            task="sentiment",
            model=f"m{number}",
            metrics=["accuracy"],
            out=root,
        )
        os._exit(sent)
    _, status = os.waitpid(child, 0)
    if number < 0:
        requests = os.waitstatus_to_exitcode(status)
        assert requests > 0, status
    else:
        print(os.WIFSIGNALED(status), flush=True)
    last, answered = draw.randint(1, requests), draw.random() < 0.5
"""


@pytest.fixture(params=["seaweedfs"], scope="session")
def endpoint(seaweed: Server) -> str:
    return seaweed.endpoint


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write a few examples, and predictions of them; gives the name of the latter."""
    monkeypatch.chdir(tmp_path)
    rows = [{"uid": str(n), "statement": "text", "label": LABELS[n % 3]} for n in RANGE]
    answers = [{"id": str(n), "label": LABELS[n % 2]} for n in RANGE]
    for name, lines in (("few.jsonl", rows), ("said.jsonl", answers)):
        Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "said.jsonl"


def evaluate(said: str, model: str, root: str) -> evalkit.Result:
    return evalkit.evaluate(
        "few.jsonl", said, task="sentiment", model=model, out=root, metrics=["accuracy"]
    )


def test_eight_writers_of_one_run(
    bucket: str, client: Any, said: str, run_evalkit: Run
) -> None:
    root = f"s3://{bucket}/runs"
    words = (*EVAL, said, "-o", root, "--json")
    with ThreadPoolExecutor(8) as threads:
        done = [*threads.map(lambda _: run_evalkit(*words), range(8))]
    assert [each.returncode for each in done] == [0] * 8, done
    assert len({json.loads(each.stdout)["fingerprint"] for each in done}) == 1
    keys = [row["Key"] for row in client.list_objects_v2(Bucket=bucket)["Contents"]]
    assert sum(key.endswith("/run.json") for key in keys) == 8
    assert not any("probe" in key for key in keys)
    assert len(list_runs(root)) == 1  # the latest of each fingerprint
    verified = run_evalkit("verify", "latest", "-o", root)
    assert verified.returncode == 0, verified.stderr


def test_killed_writers_leave_no_run(bucket: str, client: Any, said: str) -> None:
    root, count = f"s3://{bucket}/runs", 12
    evaluate(said, model="whole", root=root)
    killed = subprocess.run(
        [sys.executable, "-c", WRITER, root, str(count)],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=120,
    )
    states = killed.stdout.split()
    assert len(states) == count
    assert states.count("True") > count / 2, (states, killed.stderr)
    keys = [row["Key"] for row in client.list_objects_v2(Bucket=bucket)["Contents"]]
    listed = list_runs(root)
    assert len(listed) == sum(key.endswith("/run.json") for key in keys)
    for each in listed:
        evalkit.read_run(f"{root}/few/{each.path.name}")
    whole = evalkit.read_run(evalkit.find_run("whole", root))
    for number in range(count):
        again = evaluate(said, model=f"m{number}", root=root)
        assert again.scores == whole.scores
        assert evalkit.read_run(str(again.path)).scores == whole.scores
    assert len(list_runs(root)) == count + 2  # the whole one, and the first child's
    assert not evalkit.verify("m7", folder=root).differences


@pytest.fixture
def careless(
    configured: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Run a server that ignores conditions; gives the URI of a bucket."""
    with rclone(tmp_path / "rclone") as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.endpoint)
        forget_places()
        server.client().create_bucket(Bucket="bucket")
        yield "s3://bucket"


def test_a_server_without_conditions_keeps_runs_as_their_names_are_their_own(
    careless: str, said: str, run_evalkit: Run
) -> None:
    words = (*EVAL, said, "-o")
    for _ in range(2):
        done = run_evalkit(*words, f"{careless}/runs")
        assert done.returncode == 0, done.stderr
    verified = run_evalkit("verify", "latest", "-o", f"{careless}/runs")
    assert verified.returncode == 0, verified.stderr


def test_a_server_without_conditions_replaces_no_file_that_was_there(
    careless: str, run_evalkit: Run
) -> None:
    words = ("perturb", "sample-nli", "--perturb-prefix", "fairness", "--out")
    place = f"{careless}/perturbed.jsonl"
    done = run_evalkit(*words, place)
    assert done.returncode == 0, done.stderr
    perturbed = local_file(place)
    assert perturbed is not None
    assert perturbed.read_bytes().count(b"\n") > 10
    assert "another file is there already" in run_evalkit(*words, place).stderr
    assert run_evalkit(*words, place, "--overwrite").returncode == 0


@pytest.mark.parametrize("variable", ["AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"])
def test_wrong_credentials_are_said(
    bucket: str, said: str, run_evalkit: Run, variable: str
) -> None:
    words = (*EVAL, said, "-o", f"s3://{bucket}/runs")
    done = run_evalkit(*words, **{variable: "another"})
    assert done.returncode == 1
    assert f"s3://{bucket}/runs: cannot be listed: " in done.stderr
    name = {"AWS_ACCESS_KEY_ID": "does not know the access key"}
    assert name.get(variable, "the secret key is not that of") in done.stderr
    # the answer to HEAD has no body that tells which of the two keys it is
    data = ("eval", "--data", f"s3://{bucket}/x.jsonl", "--task", "sentiment")
    done = run_evalkit(*data, "-p", said, **{variable: "another"})
    assert done.returncode == 1
    assert f"s3://{bucket}/x.jsonl: cannot be read: access is denied" in done.stderr


def test_a_clock_that_is_wrong_is_said(
    bucket: str, store: S3, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datetime

    from botocore import auth

    real = auth.get_current_datetime

    def tomorrow(*given: Any, **named: Any) -> datetime.datetime:
        return real(*given, **named) + datetime.timedelta(days=1)

    monkeypatch.setattr(auth, "get_current_datetime", tomorrow)
    with pytest.raises(StorageError, match="the clock of this machine differs"):
        put(Path(said), f"s3://{bucket}/x")


def test_an_interrupt_is_the_end_of_a_download(
    bucket: str, client: Any, said: str, proxy: Any, tmp_path: Path
) -> None:
    from fault_proxy import Fault

    row = b'{"uid": "1", "statement": "%s", "label": "neutral"}\n' % (b"a" * (20 << 20))
    client.put_object(Bucket=bucket, Key="large.jsonl", Body=row)
    Path("one.jsonl").write_text('{"id": "1", "label": "neutral"}\n')
    proxy.plan = lambda method, path: Fault(stall=8.0 if method == "GET" else 0.0)
    script = str(Path(sys.executable).with_name("evalkit"))
    data = f"s3://{bucket}/large.jsonl"
    words = [script, "eval", "--data", data, "--task", "sentiment"]
    words += ["-p", "one.jsonl", "-o", "runs"]
    variables = {**os.environ, "AWS_ENDPOINT_URL_S3": proxy.endpoint}
    process = subprocess.Popen(
        words, env=variables, stderr=subprocess.PIPE, encoding="utf-8"
    )
    end = time.monotonic() + 60
    while proxy.count("GET") < 2:
        assert time.monotonic() < end
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err.splitlines()[-1] == (
        "evalkit: interrupted; what was not finished was not written"
    )
    assert not Path("runs").exists()
    proxy.plan = lambda method, path: Fault()
    done = subprocess.run(words, env=variables, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
