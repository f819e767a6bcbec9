"""Common parts of the scripts that write the sample systems' predictions.

Every ``predict_*.py`` script beside this file is one small system. A script
defines a function which maps one row of a sample data set to one response, and
passes it to :func:`main`. The function never sees the gold fields of a row.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parent.parent / "src" / "evalkit_datasets_samples"

DATA: Path = _PACKAGE / "data"
"""Directory of the sample data sets, one ``<name>.jsonl`` each."""

PREDICTIONS: Path = _PACKAGE / "predictions"
"""Directory of the predictions, one ``<name>/<system>.jsonl`` each."""

HIDDEN: frozenset[str] = frozenset({"label", "answer", "tags"})
"""Fields which are removed from a row before a system sees it."""


def word_set(text: str) -> frozenset[str]:
    """Read a list of words which is written as one text.

    Args:
        text: Words with blanks or line ends between them.

    Returns:
        The words.
    """
    return frozenset(text.split())


STOP_WORDS: frozenset[str] = word_set(
    """
    a about after again all also an and any are as at be because been before being
    both but by can could did do does each for from had has have he her here him his
    how i if in into is it its just me more most my no nor not of off on one only or
    other our out over own she so some such than that the their them then there these
    they this those to too under until up was we were what when where which while who
    whom whose why will with would you your
    """
)
"""Frequent words which say little about what a sentence is about."""

_WORD = re.compile(r"[^\W_]+(?:[-'’.,][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”’)]*\s+(?=[\"“‘(]?[A-Z0-9])")


def words(text: str) -> list[str]:
    """Split a text into lower-case words, without punctuation.

    Args:
        text: Any text.

    Returns:
        The words; ``1,318``, ``don't`` and ``well-known`` are one word each.
    """
    return [match.group().lower() for match in _WORD.finditer(text)]


def word_spans(text: str) -> list[tuple[int, int]]:
    """Find where the words of a text are.

    Args:
        text: Any text.

    Returns:
        Start and end of each word that :func:`words` returns.
    """
    return [match.span() for match in _WORD.finditer(text)]


def stem(word: str) -> str:
    """Strip the commonest English endings from a word.

    Args:
        word: A lower-case word.

    Returns:
        The word without a possessive or inflectional ending; not always a word.
    """
    word = re.sub(r"['’]s?$", "", word)
    for ending in ("ing", "ied", "ies", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + ("y" if ending in ("ied", "ies") else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def content_stems(text: str) -> list[str]:
    """List the stems of the words which are not stop words.

    Args:
        text: Any text.

    Returns:
        The stems, in the order of the text, repetitions included.
    """
    return [stem(word) for word in words(text) if word not in STOP_WORDS]


def sentences(text: str) -> list[str]:
    """Split a passage into sentences.

    Args:
        text: A passage.

    Returns:
        The sentences, each an exact part of the passage.
    """
    parts, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        end = match.start() + len(match.group().rstrip())
        parts.append(text[start:end])
        start = match.end()
    return [*parts, text[start:]]


def rounded_shares(weights: Sequence[float]) -> list[float]:
    """Turn weights into probabilities of four decimals which sum to one.

    Args:
        weights: Non-negative numbers, not all of them 0.

    Returns:
        One probability for each weight. What rounding leaves over is given to
        the largest, so that they sum to one.
    """
    total = sum(weights)
    units = [round(10_000 * weight / total) for weight in weights]
    units[units.index(max(units))] += 10_000 - sum(units)
    return [unit / 10_000 for unit in units]


def read_rows(name: str) -> list[dict[str, Any]]:
    """Read all the rows of a sample data set, gold fields included.

    Args:
        name: Name of the data set, such as ``sample-nli``.

    Returns:
        The rows, in the order of the file.
    """
    return read_file(DATA / f"{name}.jsonl")


def read_file(path: Path) -> list[dict[str, Any]]:
    """Read all the rows of a file of JSON lines.

    Args:
        path: The file.

    Returns:
        The rows, in the order of the file.
    """
    text = path.read_text(encoding="utf-8")
    # Not str.splitlines(): that would also split at U+2028 and the like.
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def render(
    dataset: str,
    predict: Callable[[dict[str, Any]], dict[str, Any]],
    path: Path | None = None,
) -> tuple[str, int]:
    """Run a system on a data set.

    Args:
        dataset: Name of the data set.
        predict: Maps one row, without its gold fields, to a response.

        path: A file of other rows of the same shape, instead of the data set's.

    Returns:
        The contents of the predictions file, and the number of its rows.
    """
    lines = []
    for row in read_rows(dataset) if path is None else read_file(path):
        visible = {key: value for key, value in row.items() if key not in HIDDEN}
        response = {"id": row["uid"], **predict(visible)}
        lines.append(json.dumps(response, ensure_ascii=False) + "\n")
    return "".join(lines), len(lines)


def main(
    dataset: str,
    system: str,
    predict: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    """Write the predictions of a system, or check the ones already written.

    The identifier is put first in every response, and the other keys keep the
    order in which ``predict`` gives them. With ``--check`` on the command line
    nothing is written, and the process exits with status 1 when the file
    differs from what the system predicts. With a file of rows, such as
    ``evalkit perturb`` writes, its predictions go to the standard output.

    Args:
        dataset: Name of the data set.
        system: Name of the system.
        predict: Maps one row, without its gold fields, to a response.
    """
    parser = argparse.ArgumentParser(
        description=f"Write the predictions of {system!r} on {dataset!r}."
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit with 1 if the file is not up to date",
    )
    parser.add_argument(
        "rows",
        nargs="?",
        type=Path,
        help="a file of rows to predict instead, onto the standard output",
    )
    arguments = parser.parse_args()
    if arguments.rows is not None:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        sys.stdout.write(render(dataset, predict, arguments.rows)[0])
        return
    path = PREDICTIONS / dataset / f"{system}.jsonl"
    text, count = render(dataset, predict)
    content = text.encode("utf-8")
    if arguments.check:
        if not path.is_file():
            sys.exit(f"{path}: missing; run this script without --check")
        if path.read_bytes() != content:
            sys.exit(f"{path}: out of date; run this script without --check")
        print(f"{count} rows are up to date in {path}")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    print(f"{count} rows written to {path}")
