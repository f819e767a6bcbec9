"""Measures transfers to and from S3, and an evaluation of data that is there.

A server of S3 (SeaweedFS) runs on loopback meanwhile. In alternating runs, each in a
process of its own:

- a file of 1 GB of random bytes is sent and fetched, by evalkit (`send_file`,
  `fetch_file` into an empty cache; both take the SHA-256) and by boto3's own transfer
  (`upload_file`, `download_file`); budget: 1.3 times as long;
- 1 M examples are evaluated from a folder, from `s3://` with an empty cache, and from
  `s3://` with a full one; budget: 1.5 times as long as from the folder;
- 3 000 runs, of six objects each, are listed (`list_runs`) with an empty cache, with a
  full one, and with one that lacks ten of them; budgets: 2 times as long as boto3's own
  listing of the objects and 16 threads that get the records, and 1.5 and 2 times as
  long as that listing alone.

Run it as `python benchmarks/storage.py [--megabytes N] [--examples N] [--kept N]
[--runs R]`;
0 leaves a part out. Each figure is the median over the runs; memory is the greatest
peak of the process.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "references"), str(ROOT)]

from benchmarks.evaluation import write_data  # noqa: E402
from benchmarks.run_listing import make_runs  # noqa: E402
from s3_servers import Server, seaweedfs  # noqa: E402

BUCKET = "benchmark"

WRAPPED = """
import resource, sys, time
from pathlib import Path
path, place = sys.argv[1:]
IMPORTS
started = time.perf_counter()
WORK
print(time.perf_counter() - started)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

BOTO3 = """
import boto3
client = boto3.client("s3")
bucket, _, key = place.removeprefix("s3://").partition("/")
"""

EVALKIT = """
from evalkit.storage import fetch_file, send_file, store_of
store_of(place)._clients.s3
"""

TRANSFERS = {
    "up, boto3": (BOTO3, "client.upload_file(path, bucket, key)"),
    "up, evalkit": (EVALKIT, "send_file(Path(path), place, overwrite=True)"),
    "down, boto3": (BOTO3, "client.download_file(bucket, key, path + '.back')"),
    "down, evalkit": (EVALKIT, "fetch_file(place)"),
}

EVALUATION = """
evalkit.evaluate(
    f"{place}/data.jsonl", f"{place}/predictions.jsonl", task="sentiment", out=path
)
"""


LISTING = """
pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=key)
rows = [row for page in pages for row in page["Contents"]]
"""

GETTING = (
    LISTING
    + """
def get(row):
    return client.get_object(Bucket=bucket, Key=row["Key"])["Body"].read()
from concurrent.futures import ThreadPoolExecutor
records = [row for row in rows if row["Key"].endswith("/run.json")]
with ThreadPoolExecutor(16) as pool:
    assert all(pool.map(get, records))
"""
)

SIXTEEN = "from botocore.config import Config\n" + BOTO3.replace(
    '"s3"', '"s3", config=Config(max_pool_connections=16)'
)

LISTED = """
from evalkit.runs import list_runs
from evalkit.storage import store_of
store_of(place)._clients.s3
"""

KEPT = {
    "objects, boto3": (BOTO3, LISTING),
    "objects, records, boto3": (SIXTEEN, GETTING),
    "runs, empty cache": (LISTED, "assert list_runs(place)"),
    "runs, full cache": (LISTED, "assert list_runs(place)"),
    "runs, ten are new": (LISTED, "assert list_runs(place)"),
}

NEW = 10


def measure(
    imports: str, work: str, arguments: tuple[str, str], cache: Path
) -> tuple[float, float]:
    """Give seconds and peak memory in GB of work in one process."""
    code = WRAPPED.replace("IMPORTS", imports).replace("WORK", work)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"EVALKIT_CACHE_DIR": str(cache)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    seconds, peak = done.stdout.split()
    return float(seconds), int(peak) / 1e6


def report(name: str, found: list[tuple[float, float]]) -> float:
    """Print one line, and give its median."""
    seconds = statistics.median(each for each, _ in found)
    print(f"  {name:22} {seconds:7.2f} s  {max(peak for _, peak in found):5.2f} GB")
    return seconds


def measure_transfers(folder: Path, megabytes: int, runs: int) -> None:
    """Send and fetch a file."""
    path = folder / "large.bin"
    with path.open("wb") as stream:
        for _ in range(megabytes):
            stream.write(os.urandom(1_000_000))
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in TRANSFERS}
    for _ in range(runs):
        for name, (imports, work) in TRANSFERS.items():
            cache = folder / "cache"
            place = f"s3://{BUCKET}/{'boto3' if 'boto3' in name else 'evalkit'}"
            found[name].append(measure(imports, work, (str(path), place), cache))
            shutil.rmtree(cache, ignore_errors=True)
            Path(f"{path}.back").unlink(missing_ok=True)
    path.unlink()
    print(f"{megabytes:,} MB".replace(",", " "))
    times = {name: report(name, each) for name, each in found.items()}
    for way in ("up", "down"):
        ratio = times[f"{way}, evalkit"] / times[f"{way}, boto3"]
        print(f"  {way}: {ratio:.2f} x boto3 (at most 1.3)")


def measure_evaluations(folder: Path, examples: int, runs: int, server: Server) -> None:
    """Evaluate what is in a folder, and in the bucket."""
    data = folder / "data"
    data.mkdir()
    write_data(data, examples)
    client = server.client()
    for path in data.iterdir():
        client.upload_file(str(path), BUCKET, f"data/{path.name}")
    remote = f"s3://{BUCKET}/data"
    places = {"folder": str(data), "s3, empty cache": remote, "s3, full cache": remote}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in places}
    cache = folder / "cache"
    for _ in range(runs):
        for name, place in places.items():
            if "full" not in name:
                shutil.rmtree(cache, ignore_errors=True)
            with tempfile.TemporaryDirectory() as out:
                found[name].append(
                    measure("import evalkit", EVALUATION, (out, place), cache)
                )
    print(f"{examples:,} examples".replace(",", " "))
    times = {name: report(name, each) for name, each in found.items()}
    ratio = times["s3, empty cache"] / times["folder"]
    print(f"  {ratio:.2f} x the folder (at most 1.5)")


def measure_runs(folder: Path, kept: int, rounds: int, server: Server) -> None:
    """List runs that are in the bucket."""
    make_runs(folder, kept + NEW * rounds)
    client = server.client(max_pool_connections=8)
    paths = [each for each in (folder / "runs").glob("*/*")]
    new = paths[kept:]

    def send(run: Path) -> None:
        for path in run.rglob("*"):
            if path.is_file():
                key = path.relative_to(folder).as_posix()
                client.upload_file(str(path), BUCKET, key)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, paths[:kept]))
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in KEPT}
    cache = folder / "cache"
    for number in range(rounds):
        for name, (imports, work) in KEPT.items():
            if "empty" in name:
                shutil.rmtree(cache, ignore_errors=True)
            if "new" in name:
                for run in new[NEW * number : NEW * (number + 1)]:
                    send(run)
            place = (str(folder), f"s3://{BUCKET}/runs/")
            found[name].append(measure(imports, work, place, cache))
    print(f"{kept:,} runs".replace(",", " "))
    times = {name: report(name, each) for name, each in found.items()}
    listing, getting, empty, full, more = times.values()
    print(f"  empty: {empty / getting:.2f} x boto3 (at most 2)")
    print(f"  full: {full / listing:.2f} x boto3's listing (at most 1.5)")
    print(f"  ten are new: {more / listing:.2f} x boto3's listing (at most 2)")


def main() -> None:
    """Run the benchmark and print tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--examples", type=int, default=1_000_000)
    parser.add_argument("--kept", type=int, default=3000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with seaweedfs(folder / "server") as server:
            os.environ.update(server.variables)
            server.client().create_bucket(Bucket=BUCKET)
            started = time.perf_counter()
            if given.megabytes:
                measure_transfers(folder, given.megabytes, given.runs)
            if given.examples:
                measure_evaluations(folder, given.examples, given.runs, server)
            if given.kept:
                measure_runs(folder, given.kept, given.runs, server)
            print(f"{time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main()
