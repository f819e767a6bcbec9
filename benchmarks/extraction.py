"""Measures how long reading generated answers takes with extraction and without.

Run it as

    python benchmarks/extraction.py [--rows 1000000] [--extract "after:Answer:|choice"]

Each example has four options of its own. The answers are JSON lines of some 200
characters that name one by its letter (in brackets, with a reason behind it, in bold),
by its text, or by both; one in a hundred names none, one in a hundred two. In one
process, in turns:

- read: the file of predictions is read as columns, as an evaluation does;
- whole: the same, and the answers are taken out, which may take three times as long.

Each time `evalkit` uses all cores that there are, as an evaluation does.

With `--replies` it counts how many of the 600 made-up replies in `extraction.jsonl` are
read right, wrong and not at all. `answer` is what the author reads in a reply, null
where nothing is sure; `second` is what a second reader reads, where that differs.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel

import evalkit
from evalkit.base.columns import frame_of
from evalkit.examples.table import load_examples
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.answer_readers import RESPONSE, STATUS
from evalkit.predictions.matching import IdIndex
from evalkit.predictions.preparation import read_responses
from evalkit.predictions.responses import ResponseReader
from evalkit_adapters_rows import extraction

BUDGET = 3.0
"""Reading and extraction together, in times of reading alone."""
_FORMS = (
    "Answer: {letter}",
    "Answer: ({letter})",
    "Answer: ({letter}) {text}",
    "Answer: {letter}) because the passage says so in its second sentence.",
    "**Answer:** **{letter}**",
    "**Answer**: {letter}. {text}",
    "Answer: {text}",
    "answer: {text}.",
)
_UNCLEAR = ("Answer: it cannot be told.", "Answer: {text} or {other}")
_THOUGHT = (
    "Let us look at what the passage says. It names the town twice, first at the "
    "beginning, where the author tells of the journey, and again at the end, "
)


class Question(BaseModel):
    """A question with options."""

    uid: str
    question: str
    choices: list[str]


class Reply(BaseModel):
    """What a model wrote."""

    id: str
    answer: str


class Quiz(evalkit.TaskIO):
    """Which option is right?"""

    Input = Question
    Output = Reply
    answer_field = "answer"
    choices_field = "choices"
    perf_metric = "accuracy"
    example = {"uid": "1", "question": "Which?", "choices": ["Rome", "York"]}


class Towns(evalkit.Dataset):
    """Made up towns."""

    name = "towns"
    task = Quiz
    version = "1"
    rows = 0

    def load(self, split: str) -> pl.DataFrame:
        """Make the examples."""
        number = pl.int_range(0, self.rows, dtype=pl.Int64)
        towns = [
            pl.format("{} {}", pl.lit(name), number)
            for name in ("Aldersby", "Birchwick", "Cawthorpe", "Dunmore")
        ]
        return pl.select(
            uid=number.cast(pl.String),
            question=pl.lit("Where does the story end?"),
            choices=pl.concat_list(towns),
        ).with_columns(answer=pl.col("choices").list.first())


def write_answers(choices: Sequence[Sequence[str]], path: Path) -> None:
    """Write an answer for each example, which has options of its own."""
    rng = random.Random(0)
    texts = []
    for own in choices:
        place = rng.randrange(4)
        form = rng.choice(_FORMS if rng.random() > 0.02 else _UNCLEAR)
        said = {"letter": "ABCD"[place], "text": own[place], "other": own[place - 1]}
        texts.append(f"{_THOUGHT}so {place} it is.\n{form.format(**said)}")
    ids = [str(number) for number in range(len(texts))]
    pl.DataFrame({"id": ids, "answer": texts}).write_ndjson(path)


_Time = tuple[float, float]
"""Seconds on the clock, and of all cores together."""


def _measured(work: Callable[[], Any]) -> tuple[_Time, Any]:
    began = time.perf_counter(), time.process_time()
    found = work()
    ended = time.perf_counter(), time.process_time()
    return (ended[0] - began[0], ended[1] - began[1]), found


def main() -> None:
    """Measure, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--extract", default="after:Answer:|choice")
    parser.add_argument("--replies", action="store_true")
    given = parser.parse_args()
    if given.replies:
        for kind, counts in measure_replies().items():
            print(kind, dict(counts))
        return
    Towns.rows = given.rows
    resolver = Resolver(Registry())
    dataset = resolver.dataset(Towns)
    task = resolver.task(dataset)
    examples = load_examples(dataset, task, "test")
    stages = extraction(given.extract)
    reader = ResponseReader(task, dataset, examples, (), stages)
    assert examples.choices is not None
    assert reader.answers is not None
    extractor, ids = reader.answers, examples.frame["id"]
    index = IdIndex(ids)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.jsonl"
        write_answers(examples.choices.to_list(), path)

        def read() -> list[pl.DataFrame]:
            blocks = read_responses(path, reader, ids)
            return [block.frame for block in blocks]

        def extract() -> list[pl.DataFrame]:
            made = []
            for block in read_responses(path, reader, ids):
                found = extractor.of_frame(block.frame, index.find(block.frame["id"]))
                assert found is not None
                made.append(frame_of([block.frame["id"], *found.kept.get_columns()]))
            return made

        read()
        times: dict[str, list[_Time]] = {"read": [], "whole": []}
        for _ in range(given.rounds):
            times["read"].append(_measured(read)[0])
            seconds, frames = _measured(extract)
            times["whole"].append(seconds)
    _report(given, times, pl.concat(frames))


def measure_replies() -> dict[str, Counter[str]]:
    """Count the replies of each kind by what is read in them."""
    rows = pl.read_ndjson(
        Path(__file__).with_suffix(".jsonl"), infer_schema_length=None
    )
    counts = {kind: Counter[str]() for kind in rows["kind"].unique(maintain_order=True)}
    for row in rows.iter_rows(named=True):
        kind, options = row["kind"], row["options"]
        value = (
            extraction(f"without-thinking|{kind}")
            .extract(
                pl.Series([row["reply"]]),
                pl.Series([options], dtype=pl.List(pl.String)),
                options,
                languages=[row["language"]],
            )
            .values[0]
        )
        answers = [each for each in (row["answer"], row["second"]) if each]
        if kind == "final-number":
            answers = [*map(Fraction, answers)]
            value = value and Fraction(value)
        outcome = "unparsed" if value is None else "wrong"
        counts[kind]["right" if value in answers else outcome] += 1
        if row["answer"] and not row["second"]:
            counts[kind]["agreed"] += 1
            counts[kind]["agreed, right"] += value in answers
    return counts


def _report(
    given: argparse.Namespace, times: dict[str, list[_Time]], kept: pl.DataFrame
) -> None:
    medians = {
        name: [*map(statistics.median, zip(*each, strict=True))]
        for name, each in times.items()
    }
    print(f"{given.rows:,} answers, {given.rounds} rounds in turns")
    for name, (wall, cpu) in medians.items():
        walls, _ = zip(*times[name], strict=True)
        spread = f"({min(walls):.2f} to {max(walls):.2f})"
        print(f"{name:8} {wall:6.2f} s {spread}, {cpu:.2f} s CPU")
    counts = dict(sorted(kept[STATUS].value_counts().iter_rows()))
    print(f"{given.extract}: {counts}, {kept[RESPONSE].n_unique():,} different")
    pairs = zip(medians["whole"], medians["read"], strict=True)
    wall, cpu = (many / few for many, few in pairs)
    verdict = "kept" if max(wall, cpu) <= BUDGET else "NOT kept"
    said = f"the whole takes {wall:.2f} x the time of reading ({cpu:.2f} x its CPU)"
    print(f"{said}; budget: {BUDGET} x; {verdict}")


if __name__ == "__main__":
    main()
