"""Measures a whole evaluation against a floor and a peer, in alternating runs.

The work: N examples with 50 tags as JSON lines, predictions in another order; accuracy
and macro-F1 for the whole set and every tag, validation, intervals, and the run folder.

- the floor is a process that only scans, with polars, every column that the two schemas
  name;
- the peer is a plain-Python loop as Dynabench's server runs it: parse, match by id, and
  compute both metrics again for every tag with scikit-learn;
- `numeric` is evalkit again, with predictions whose ids are numbers and which have one
  key more that no task declares: files that must stay on the fast path.

Run it as `python benchmarks/evaluation.py [--examples N …] [--runs R] [--plot FILE]`.
Each figure is the median over R alternating runs, each in a process of its own with
compiled modules at hand. The loop is left out beyond `--loop-up-to` examples. The plot
needs matplotlib.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

LABELS = ("positive", "negative", "neutral")

FLOOR = """
import sys, polars as pl
folder = sys.argv[1]
text, texts = pl.String, pl.List(pl.String)
data = {"uid": text, "statement": text, "label": text, "tags": texts}
pl.scan_ndjson(f"{folder}/data.jsonl", schema=data).collect()
said = {"id": text, "label": text}
pl.scan_ndjson(f"{folder}/predictions.jsonl", schema=said).collect()
"""

EVALKIT = """
import sys, evalkit
folder = sys.argv[1]
class Big(evalkit.Dataset):
    name = "big"
    task = "sentiment"
    def load(self, split):
        return f"{folder}/data.jsonl"
evalkit.evaluate(Big, f"{folder}/PREDICTIONS", out=sys.argv[2])
"""

LOOP = """
import sys, json
from collections import defaultdict
from sklearn.metrics import f1_score
folder = sys.argv[1]
with open(f"{folder}/data.jsonl") as lines:
    gold = {row["uid"]: row for row in map(json.loads, lines)}
with open(f"{folder}/predictions.jsonl") as lines:
    said = {row["id"]: row["label"] for row in map(json.loads, lines)}
groups = defaultdict(list)
for uid, row in gold.items():
    pair = (said[uid], row["label"])
    for tag in ("", *row["tags"]):
        groups[tag].append(pair)
for pairs in groups.values():
    predictions, targets = zip(*pairs)
    sum(p == t for p, t in pairs) / len(pairs)
    f1_score(targets, predictions, average="macro")
"""


def write_data(folder: Path, examples: int) -> None:
    """Write the data and the shuffled predictions; about 300 bytes an example."""
    draw = random.Random(0)
    words = " ".join(f"word{number}" for number in range(25))
    with (folder / "data.jsonl").open("w") as stream:
        for number in range(examples):
            row = {
                "uid": str(number),
                "statement": f"{words} {number}",
                "label": draw.choice(LABELS),
                "tags": [f"a:{draw.randrange(25)}", f"b:{draw.randrange(25)}"],
            }
            stream.write(json.dumps(row) + "\n")
    order = list(range(examples))
    draw.shuffle(order)
    with (
        (folder / "predictions.jsonl").open("w") as stream,
        (folder / "numeric.jsonl").open("w") as numeric,
    ):
        for number in order:
            row = {"id": str(number), "label": draw.choice(LABELS)}
            stream.write(json.dumps(row) + "\n")
            row = {**row, "id": number, "seconds": draw.random()}
            numeric.write(json.dumps(row) + "\n")


def measure(code: str, folder: Path) -> tuple[float, float]:
    """Give seconds and peak memory in GB of one process."""
    with tempfile.TemporaryDirectory() as out:
        wrapped = (
            f"{code}\nimport resource\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", wrapped, str(folder), out],
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""},
            check=True,
            capture_output=True,
            text=True,
        )
        seconds = time.perf_counter() - started
    return seconds, int(done.stdout.split()[-1]) / 1e6


class Figure(NamedTuple):
    """What one program took at one size."""

    seconds: float
    """Median over the runs."""
    memory: float
    """Greatest peak in GB."""


Figures = dict[str, Figure]


def measure_all(examples: int, runs: int, with_loop: bool) -> Figures:
    """Run every program alternately, and give its figures."""
    programs = {
        "floor": FLOOR,
        "evalkit": EVALKIT.replace("PREDICTIONS", "predictions.jsonl"),
        "numeric": EVALKIT.replace("PREDICTIONS", "numeric.jsonl"),
        **({"loop": LOOP} if with_loop else {}),
    }
    found: dict[str, list[tuple[float, float]]] = {key: [] for key in programs}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder, examples)
        for code in programs.values():
            measure(code, folder)  # compiles the modules, and warms the files
        for _ in range(runs):
            for key, code in programs.items():
                found[key].append(measure(code, folder))
    return {
        key: Figure(
            statistics.median(seconds for seconds, _ in measured),
            max(peak for _, peak in measured),
        )
        for key, measured in found.items()
    }


def print_figures(examples: int, figures: Figures) -> None:
    """Print one line for each program, and the budgets."""
    print(f"{examples:,} examples".replace(",", " "))
    for key, (seconds, memory) in figures.items():
        ratio = seconds / figures["floor"].seconds
        print(f"  {key:8} {seconds:7.2f} s  {ratio:6.1f} x floor  {memory:5.2f} GB")
    evalkit = figures["evalkit"].seconds
    budgets = [f"{evalkit / figures['floor'].seconds:.1f} x the floor (at most 3)"]
    if "loop" in figures:
        times = figures["loop"].seconds / evalkit
        budgets.append(f"{times:.1f} times as fast as the loop (at least 10)")
    share = figures["numeric"].seconds / evalkit
    budgets.append(f"numeric ids {share:.2f} x (at most 1.3)")
    print(f"  {'; '.join(budgets)}")


def plot(by_size: dict[int, Figures], path: Path) -> None:
    """Draw time and memory over the number of examples."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, (times, memories) = pyplot.subplots(1, 2, figsize=(9, 3.6))
    for key in ("floor", "evalkit", "loop"):
        sizes = [size for size, figures in by_size.items() if key in figures]
        for axis, field in ((times, 0), (memories, 1)):
            values = [by_size[size][key][field] for size in sizes]
            axis.plot(sizes, values, marker="o", label=key)
    for axis, title in ((times, "seconds"), (memories, "peak memory, GB")):
        axis.set(xscale="log", yscale="log", xlabel="examples", title=title)
        axis.legend()
        axis.grid(visible=True, alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Run the benchmark and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--loop-up-to", type=int, default=1_000_000)
    parser.add_argument("--plot", type=Path)
    chosen = parser.parse_args()
    by_size = {}
    for examples in chosen.examples:
        with_loop = examples <= chosen.loop_up_to
        by_size[examples] = measure_all(examples, chosen.runs, with_loop)
        print_figures(examples, by_size[examples])
    if chosen.plot is not None:
        plot(by_size, chosen.plot)


if __name__ == "__main__":
    main()
