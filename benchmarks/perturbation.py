"""Measures what perturbing costs beside the perturbations' own functions.

- The engine: making the changed copies of texts in memory, against the perturbation's
  own function on the same texts with the same seeds: `find_edits`, and joining the
  pieces to the changed text, which a `perturb` would do itself. The budget is that and
  20 % of it, and 3 µs a row.
- The command: `perturb_dataset` from a file to a file, in a process of its own, against
  a process that reads the same rows, calls the own function, and writes the same rows.
  Its peak of memory is shown too.
- `misspellings` on a text of 234 characters, against one regular expression of as many
  words as HELM's list has, which is how HELM finds them (760 µs where it was measured).

Each figure is the median of alternating runs, in CPU time. Run it as
`python benchmarks/perturbation.py [--rows N] [--runs R]`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalkit.plugins.bound import Bound
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit_commands_perturb import apply_edits
from evalkit_commands_perturb.copying import Example, Perturber
from evalkit_commands_perturb.rng import LazyRandom
from evalkit_commands_perturb.scopes import Settings
from evalkit_perturbations_text.typos import read_misspellings

PERTURBATIONS = (
    *("lowercase", "keyboard-typos", "misspellings", "contractions"),
    *("gender-swap", "random-space"),
)
OVERHEAD, SHARE = 3.0, 0.2
HELM_MICROSECONDS = 760
HELM_WORDS = 6_523

WORDS = (
    "the film was not bad at all and really she liked her seat because it had a good "
    "view of the wide screen but his brother did not think that it is worth the money"
)

LONG_TEXT = (
    "Already, the new product is not available. After their marriage, she started a "
    "close collaboration with the university, which they believe is necessary for "
    "the government to receive a separate and definitely independent opinion on it."
)

FLOOR = """
import json, sys
from evalkit_perturbations_text.typos import read_misspellings

from evalkit_commands_perturb import apply_edits
from evalkit_commands_perturb.rng import LazyRandom
from evalkit.plugins.registry import Registry
bound = Registry().load("perturbations", sys.argv[3])
takes_rng = "rng" in bound.arguments_of("find_edits")
find_edits, rng = bound.plugin.find_edits, LazyRandom()
with open(sys.argv[1], encoding="utf-8") as data, open(
    sys.argv[2], "w", encoding="utf-8"
) as out:
    for line in data:
        row = json.loads(line)
        rng.start(0, sys.argv[3], 0, row["uid"], 0)
        texts = [row["statement"]]
        (edits,) = find_edits(texts, rng) if takes_rng else find_edits(texts)
        if edits:
            new = apply_edits(texts[0], edits)
            named = {"uid": row["uid"] + "_X", "input_id": row["uid"]}
            row |= {"statement": new, **named, "perturbation": sys.argv[3]}
            row |= {"label_effect": "invariant", "families": ["robustness"]}
            out.write(json.dumps(row, ensure_ascii=False) + "\\n")
"""

COMMAND = """
import resource, sys
from evalkit_commands_perturb import perturb_dataset
perturb_dataset(
    sys.argv[1], sys.argv[2], perturbations=[sys.argv[3]], task="sentiment",
    overwrite=True,
)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def rows(count: int) -> list[dict[str, Any]]:
    rng = random.Random(1)
    words = WORDS.split()
    return [
        {
            "uid": f"r{number}",
            "statement": " ".join(rng.choices(words, k=18)).capitalize() + ".",
            "label": "positive",
            "tags": ["topic:film"],
        }
        for number in range(count)
    ]


def own_function(bound: Bound) -> Callable[[list[str], random.Random], Any]:
    find_edits = bound.plugin.find_edits  # type: ignore[attr-defined]
    if "rng" in bound.arguments_of("find_edits"):
        return find_edits  # type: ignore[no-any-return]
    return lambda texts, _rng: find_edits(texts)


def cpu_seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def measure_engine(name: str, data: list[dict[str, Any]], runs: int) -> None:
    resolver = Resolver(Registry())
    bound = resolver.bind("perturbations", name)
    perturber = Perturber([bound], resolver.bind("tasks", "sentiment"), Settings())
    function, rng = own_function(bound), LazyRandom()

    def alone() -> None:
        for row in data:
            rng.start(0, name, 0, row["uid"], 0)
            text = row["statement"]
            (edits,) = function([text], rng)
            apply_edits(text, edits)

    def whole() -> None:
        for row in data:
            for _ in perturber.copies_of([Example(row["uid"], row)])[0]:
                pass

    pairs = [(cpu_seconds(alone), cpu_seconds(whole)) for _ in range(runs)]
    own, total = (
        statistics.median(seconds) / len(data) * 1e6
        for seconds in zip(*pairs, strict=True)
    )
    budget = own * (1 + SHARE) + OVERHEAD
    print(
        f"{name:16} own {own:6.1f} us, engine {total:6.1f} us a row; "
        f"{total / budget:.2f} x the budget"
    )


def child_seconds(program: str, *arguments: str) -> tuple[float, str]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return seconds, done.stdout


def measure_command(name: str, count: int, runs: int, folder: Path) -> None:
    data, out = folder / "data.jsonl", folder / "out.jsonl"
    pairs = []
    for _ in range(runs):
        floor, _ = child_seconds(FLOOR, str(data), str(out), name)
        whole, peak = child_seconds(COMMAND, str(data), str(out), name)
        pairs.append((floor, whole))
    floor, whole = (statistics.median(each) for each in zip(*pairs, strict=True))
    print(
        f"{name:16} {count} rows, file to file: floor {floor:6.2f} s, "
        f"evalkit {whole:6.2f} s, {whole / floor:.2f} x; "
        f"{(whole - floor) / count * 1e6:.1f} us a row more; peak of memory "
        f"{int(peak) / 2**20:.2f} GiB"
    )


def measure_misspellings(runs: int) -> None:
    function = own_function(Registry().load("perturbations", "misspellings"))
    rng, repeats = LazyRandom(), 2_000

    def work() -> None:
        for number in range(repeats):
            rng.start(number)
            function([LONG_TEXT], rng)

    words = [*read_misspellings()][:HELM_WORDS]
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, words))})\b")

    def peer() -> None:
        for _ in range(repeats // 20):
            pattern.sub(lambda match: match.group(), LONG_TEXT)

    pairs = [(cpu_seconds(work), 20 * cpu_seconds(peer)) for _ in range(runs)]
    found, other = (
        statistics.median(seconds) / repeats * 1e6
        for seconds in zip(*pairs, strict=True)
    )
    print(
        f"misspellings     {len(LONG_TEXT)} characters: {found:.1f} us a row; HELM's "
        f"way, one regular expression of {HELM_WORDS} words, {other:.0f} us: "
        f"{other / found:.0f} x (HELM itself took {HELM_MICROSECONDS})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    few = rows(min(arguments.rows, 20_000))
    for name in PERTURBATIONS:
        measure_engine(name, few, max(arguments.runs, 5))
    measure_misspellings(max(arguments.runs, 5))
    with tempfile.TemporaryDirectory() as folder:
        with (Path(folder) / "data.jsonl").open("w", encoding="utf-8") as stream:
            for row in rows(arguments.rows):
                stream.write(json.dumps(row) + "\n")
        for name in ("lowercase", "gender-swap"):
            measure_command(name, arguments.rows, arguments.runs, Path(folder))


if __name__ == "__main__":
    main()
