"""Measures `bleu` and `rouge` beside a bare loop over their libraries.

Pairs of sentences of 8 to 30 made-up words, of which a quarter differ, are read from
JSON lines and scored in processes of their own, by turns: by sacrebleu or rouge-score
alone, by an evaluation in one process, and by one with two workers. Each figure is the
median over the runs of what the operating system counted as processor time, which other
work on the machine hardly changes. Two workers are as many times as fast as one process
takes longer than the process that starts them and the mean of the two together, as they
work at the same time; wall-clock times stand beside it.

Run it as `python benchmarks/generation.py [--pairs N] [--tags N] [--runs R]`.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

BUDGET = 1.2
LEAST_GAIN = 1.7
METRICS = ("bleu", "rouge")

BARE = """
import json, sys
from pathlib import Path

rows, responses = (
    [json.loads(line) for line in (Path(sys.argv[1]) / name).open(encoding="utf-8")]
    for name in ("data.jsonl", "predictions.jsonl")
)
answers = {row["uid"]: row["answer"] for row in rows}
said = [response["answer"] for response in responses]
right = [answers[response["id"]] for response in responses]
if sys.argv[2] == "bleu":
    from sacrebleu import corpus_bleu
    values = [corpus_bleu(said, [right]).score]
else:
    from rouge_score.rouge_scorer import RougeScorer
    names = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    scorer = RougeScorer(names)
    found = [scorer.score(wanted, text) for text, wanted in zip(said, right)]
    values = [sum(each[name].fmeasure for each in found) / len(said) for name in names]
"""

OURS = """
import sys
import evalkit

data, responses = (f"{sys.argv[1]}/{name}.jsonl" for name in ("data", "predictions"))
result = evalkit.evaluate(
    data, responses, task="math-qa", metrics=[sys.argv[2]], jobs=int(sys.argv[3])
)
values = [score.value for score in result.scores if score.tag is None]
"""

TOLD = """
import json, resource, time

own, others = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps([
    own.ru_utime + own.ru_stime, others.ru_utime + others.ru_stime,
    time.perf_counter() - started, values,
]))
"""


class Cost(NamedTuple):
    """What a process took, in seconds."""

    own: float
    """Processor time of the process itself."""
    others: float
    """That of the processes that it started."""
    wall: float


def write_pairs(folder: Path, pairs: int, tags: int) -> None:
    """Write data and predictions."""
    drawn = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [
        "".join(drawn.choices(letters, k=drawn.randint(2, 9))) for _ in range(5000)
    ]
    weights = [1 / (place + 1) for place in range(len(words))]

    def sentence(length: int) -> list[str]:
        return drawn.choices(words, weights, k=length)

    with (
        (folder / "data.jsonl").open("w") as data,
        (folder / "predictions.jsonl").open("w") as responses,
    ):
        for number in range(pairs):
            right = sentence(drawn.randint(8, 30))
            others = sentence(len(right))
            said = [
                word if drawn.random() < 0.75 else other
                for word, other in zip(right, others, strict=True)
            ]
            uid, answer = str(number), " ".join(right) + "."
            row = {"uid": uid, "question": "?", "answer": answer}
            tagged = {"tags": [f"part:{number % tags}"]} if tags else {}
            data.write(json.dumps(row | tagged) + "\n")
            response = {"id": uid, "answer": " ".join(said) + "."}
            responses.write(json.dumps(response) + "\n")


def run(code: str, *arguments: str) -> tuple[Cost, list[float]]:
    """Run code in a process of its own; return what it took and the scores."""
    whole = f"import time\nstarted = time.perf_counter()\n{code}\n{TOLD}"
    done = subprocess.run(
        [sys.executable, "-c", whole, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    *costs, values = json.loads(done.stdout.splitlines()[-1])
    return Cost(*costs), values


def medians(costs: list[Cost]) -> Cost:
    """Return the median of each figure."""
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


def compare(folder: Path, metric: str, runs: int) -> dict[str, Cost]:
    """Measure one metric in each way and print it."""
    ways = {"bare loop": (BARE,), "jobs=1": (OURS, "1"), "jobs=2": (OURS, "2")}
    costs: dict[str, list[Cost]] = {way: [] for way in ways}
    for _ in range(runs):
        found = {}
        for way, (code, *jobs) in ways.items():
            cost, found[way] = run(code, str(folder), metric, *jobs)
            costs[way].append(cost)
        expected = found["bare loop"]
        for way in ("jobs=1", "jobs=2"):
            pairs = zip(found[way], expected, strict=True)
            assert all(abs(one - other) < 1e-9 for one, other in pairs), found
    return {way: medians(each) for way, each in costs.items()}


def report(name: str, costs: dict[str, Cost]) -> None:
    """Print the figures of one metric, or of several together."""
    bare, one, two = costs.values()
    for way, cost in costs.items():
        print(
            f"{name:11} {way:10} CPU {cost.own + cost.others:7.2f} s "
            f"(itself {cost.own:6.2f} s)  wall clock {cost.wall:7.2f} s"
        )
    ratio = one.own / bare.own
    verdict = "kept" if ratio <= BUDGET else "MISSED"
    print(f"{name:11} {ratio:.2f} x the bare loop (budget {BUDGET}; {verdict})")
    gain = one.own / (two.own + two.others / 2)
    verdict = "kept" if gain >= LEAST_GAIN else "MISSED"
    print(
        f"{name:11} two workers {gain:.2f} times as fast by processor time (at least "
        f"{LEAST_GAIN}; {verdict}), {one.wall / two.wall:.2f} times by the clock"
    )


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--tags", type=int, default=0)
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    print(f"{chosen.pairs} pairs, {chosen.tags} tags, medians of {chosen.runs} runs")
    with tempfile.TemporaryDirectory() as name:
        write_pairs(Path(name), chosen.pairs, chosen.tags)
        found = {each: compare(Path(name), each, chosen.runs) for each in METRICS}
    for metric, costs in found.items():
        report(metric, costs)
    both = (
        Cost(*map(sum, zip(*costs, strict=True)))
        for costs in zip(*(each.values() for each in found.values()), strict=True)
    )
    total = dict(zip(found["bleu"], both, strict=True))
    report("+".join(METRICS), total)


if __name__ == "__main__":
    main()
