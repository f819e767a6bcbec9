"""Mutated predictions: every line is judged as the independent reader judges it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import evalkit
from evalkit.errors import EvalkitError

from .oracle import LABELS, Verdict, verdicts
from .outcomes import Outcome

DATASET = "sample-sentiment"
IDS = [f"sent-{number:03}" for number in range(1, 136)]

Mutation = Callable[[bytearray, random.Random], None]

VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**70, 1.5, "", " ", "Positive", "positive ", "\u0000"),
    *([], ["positive"], {}, {"a": 1}, "\u2028", "é", "e\u0301", "\ud800"),
)
RAW = (
    *(b"NaN", b"1e400", b"-Infinity", b"01", b"tRUE", b'{"a":1,"a":2}', b"\xff\xfe"),
    *(b'"\x00"', b'"\\u0000"', b'"\t"', b"1e5", b"9" * 400, b"[" * 50 + b"]" * 50),
)
JUNK = (b"\x00", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\x80", b"\x1a", b"\r", b"\x0c")


def _flip(content: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(content))
    content[place] ^= 1 << chance.randrange(8)


def _delete(content: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(content))
    del content[start : start + chance.randrange(1, 40)]


def _copy(content: bytearray, chance: random.Random) -> None:
    start, place = chance.randrange(len(content)), chance.randrange(len(content))
    content[place:place] = content[start : start + chance.randrange(1, 80)]


def _insert(content: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(content) + 1)
    content[place:place] = chance.choice(JUNK)


def _cut(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content) // 2, len(content)) :]


def _zero(content: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(content))
    stop = min(len(content), start + chance.randrange(1, 300))
    content[start:stop] = bytes(stop - start)


def _end_of_line(content: bytearray, chance: random.Random) -> None:
    ending = chance.choice((b"\r\n", b"\n\n", b"\n \t\n", b"\n\r\n"))
    content[:] = content.replace(b"\n", ending, chance.randrange(1, 60))


BYTES: dict[str, Mutation] = {
    "flipped bit": _flip,
    "deleted bytes": _delete,
    "copied bytes": _copy,
    "inserted bytes": _insert,
    "cut off": _cut,
    "zeros": _zero,
    "ends of lines": _end_of_line,
}


def _encoded(row: dict[str, Any], chance: random.Random) -> bytes:
    return json.dumps(row, ensure_ascii=chance.random() < 0.5).encode(
        "utf-8", "surrogatepass"
    )


def _odd_row(row_id: str, chance: random.Random) -> bytes:
    """Return a line that is odd in one of the ways that models have."""
    label = chance.choice(LABELS)
    match chance.randrange(8):
        case 0:
            row = {"id": chance.choice((*VALUES, "sent-999", 7)), "label": label}
        case 1:
            row = {"id": row_id, "label": chance.choice(VALUES)}
        case 2:
            row = {"id": row_id}
        case 3:
            row = {chance.choice(("uid", "_index_", "ID")): row_id, "label": label}
        case 4:
            row = {"label": label, "uid": chance.choice(VALUES), "id": row_id}
        case 5:
            raw = chance.choice(RAW)
            field = chance.choice((b"more", b"label", b"id"))
            start = json.dumps({"id": row_id, "label": label}).encode()[:-1]
            return start + b', "' + field + b'": ' + raw + b"}"
        case 6:
            text = chance.choice(("[1]", "3", "null", '"a"', "{}", "{", "}", "[", " "))
            return text.encode()
        case _:
            row = {"id": row_id, "label": label, "x": chance.choice(VALUES), "": 1}
    return _encoded(row, chance)


def mutated(chance: random.Random) -> tuple[str, bytes]:
    """Return a file of predictions with some mutations, and their kinds."""
    ids = chance.sample(IDS, chance.randrange(20, len(IDS) + 1))
    ids += chance.choices(IDS, k=chance.choice((0, 0, 3)))
    lines = [
        _odd_row(name, chance)
        if chance.random() < 0.1
        else _encoded({"id": name, "label": chance.choice(LABELS)}, chance)
        for name in ids
    ]
    content = bytearray(b"\n".join(lines) + b"\n" * chance.randrange(2))
    kinds = [chance.choice(list(BYTES)) for _ in range(chance.randrange(4))]
    for kind in kinds:
        if content:
            BYTES[kind](content, chance)
    return " and ".join(sorted(set(kinds))) or "odd rows", bytes(content)


def difference(expected: list[Verdict], result: evalkit.Result) -> str | None:
    """Return the first verdict in which evalkit and the reader differ, if any."""
    found = {
        problem.line: (problem.status, problem.id)
        for problem in result.problems
        if problem.line is not None
    }
    for line, status, row_id, _ in expected:
        said, said_id = found.pop(line, ("scored", row_id))
        if said != status:
            return f"line {line} is {status} to the reader and {said} to evalkit"
        if status != "unreadable" and said_id != row_id:
            return f"line {line} is of {row_id!r}, and of {said_id!r} to evalkit"
    if found:
        return f"evalkit found {found}, which the reader did not"
    answers = {
        row["id"]: row["pred"]
        for row in result.examples.iter_rows(named=True)
        if row["status"] == "scored"
    }
    labels = {verdict.id: verdict.label for verdict in expected if verdict.label}
    return None if answers == labels else "the predictions differ"


def attack(tries: int, seed: int, folder: Path) -> Outcome:
    """Evaluate mutated files and compare each verdict with the independent reader's.

    Args:
        tries: How many files.
        seed: Decides which.
        folder: Files are written there.

    Returns:
        The outcome.
    """
    outcome = Outcome()
    path = folder / "predictions.jsonl"
    with outcome.timed():
        for number in range(tries):
            kind, content = mutated(random.Random(f"{seed}/{number}"))
            outcome.tries[kind] += 1
            path.write_bytes(content)
            expected = list(verdicts(content, IDS))
            name = f"input {number} of seed {seed} ({kind})"
            try:
                result = evalkit.evaluate(
                    DATASET,
                    path,
                    metrics=["accuracy"],
                    on_missing="skip",
                    on_invalid="skip",
                    on_duplicate="first",
                )
            except EvalkitError as error:
                outcome.results["refused as a whole"] += 1
                # a file that begins like an array is none of lines, and refused as such
                is_array = content.lstrip().startswith(b"[")
                if not is_array and any(each.status == "scored" for each in expected):
                    outcome.faults.append(f"{name}: refused: {error}")
                continue
            except BaseException as error:
                outcome.faults.append(f"{name}: {type(error).__name__}: {error}")
                if isinstance(error, KeyboardInterrupt):
                    raise
                continue
            outcome.results["scored"] += 1
            outcome.results["rows"] += len(expected)
            if (differs := difference(expected, result)) is not None:
                outcome.faults.append(f"{name}: {differs}")
    return outcome
