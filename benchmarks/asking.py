"""Measures what asking a model takes beside waiting for it.

Run it as

    python benchmarks/asking.py [--requests 10000] [--seconds 1.0]

An in-process model answers each request after some time, 100 at once. The floor are the
waits alone: requests times seconds, divided by 100. The processor's time is evalkit's
own, as the model does nothing: without the cache of replies, and with an empty one; a
second pass takes all replies from it. With `--rows` a model that answers inputs in
batches is asked about as many rows, for the memory.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

from evalkit_models_base import Asked, Model, Reply, Request, predict, text_reply

FLIGHT = 100
MOST_SECONDS = 130.0
"""For 10 000 requests of a second each, 100 at once."""
MOST_MILLISECONDS = 1.0
"""Of the processor for a request."""


class Waiting(Model):
    """Answers after some time."""

    abilities = ("chat",)
    concurrency = FLIGHT

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def describe(self) -> dict[str, str]:
        """Say what it is, so that its replies are kept."""
        return {"name": "waiting"}

    async def ask(self, request: Request) -> Reply:
        """Answer a request."""
        await asyncio.sleep(self._seconds)
        return text_reply("neutral")


class Whole(Model):
    """Answers inputs at once."""

    batch_requests = 10_000

    def predict(self, inputs: Sequence[Mapping[str, Any]]) -> list[str]:
        """Answer inputs."""
        return ["neutral"] * len(inputs)


def rows(count: int) -> list[dict[str, Any]]:
    """Make examples with texts of some 200 characters."""
    return [
        {"uid": str(n), "statement": f"{n} " + "some words of a statement " * 8}
        for n in range(count)
    ]


def measure(name: str, count: int, seconds: float, *, cached: bool) -> None:
    """Ask once, and print what it took."""
    data = rows(count)
    wall, cpu = time.perf_counter(), time.process_time()
    found = predict(
        data=data,
        task="sentiment",
        model=Waiting(seconds),
        asked=Asked(is_cached=cached),
    )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert found.failed == 0
    floor = count * seconds / FLIGHT
    print(
        f"  {name:22}{wall:8.2f} s  (waits alone {floor:.2f})"
        f"{cpu / count * 1000:8.3f} ms of the processor a request, "
        f"{found.from_cache:,} from the cache"
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rows", type=int, default=0)
    given = parser.parse_args()
    if given.rows:
        data = rows(given.rows)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        started = time.perf_counter()
        predict(data=data, task="sentiment", model=Whole())
        seconds = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{given.rows:,} rows, in process: {seconds:.1f} s, peak {after:.2f} GiB")
        print(f"  of which the rows themselves {before:.2f} GiB")
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["EVALKIT_CACHE_DIR"] = folder
        count, seconds = given.requests, given.seconds
        print(f"{count:,} requests of {seconds:g} s each, {FLIGHT} at once")
        measure("without a cache", count, seconds, cached=False)
        measure("with an empty cache", count, seconds, cached=True)
        measure("with a full cache", count, seconds, cached=True)
    print(f"allowed: {MOST_SECONDS:g} s for 10 000 of 1 s, {MOST_MILLISECONDS:g} ms")


if __name__ == "__main__":
    main()
