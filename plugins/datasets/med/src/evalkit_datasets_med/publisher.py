"""Reads the publisher's file: MNLI's columns, separated by tabs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit import DataError

_FILLED = ("index", "sentence1", "sentence2", "gold_label")
_COLUMNS = (*_FILLED, "genre")

_TAGS = {
    "crowd": "source:crowd",
    "paper": "source:paper",
    "FraCaS_GQ": "corpus:FraCaS_GQ",
    "GLUE": "corpus:GLUE",
    "downward_monotone": "direction:downward",
    "upward_monotone": "direction:upward",
    "non_monotone": "direction:non-monotone",
}


def read_pairs(path: Path, labels: Sequence[str]) -> list[dict[str, Any]]:
    r"""Read the pairs of sentences.

    Only "\n" or "\r\n" ends a line, and a quotation mark is an ordinary character. A
    blank line is skipped.

    Args:
        path: The file.
        labels: The labels that it may hold.

    Returns:
        Rows of `uid`, `context`, `hypothesis`, `label`, `tags`, and `pair`, which two
        rows share if they have the same two sentences in any order.

    Raises:
        DataError: It lacks a column, or a line is not as it must be.
    """
    lines = _lines(path)
    _, header = next(lines, (1, ""))
    names = header.split("\t")
    _check_names(path, names)
    rows = []
    seen: dict[str, int] = {}
    for number, line in lines:
        where = f"{path}, line {number}"
        fields = _fields(where, names, line)
        uid, label = fields["index"], fields["gold_label"]
        if uid in seen:
            raise DataError(
                f"{where}: index {uid!r} was given before, at line {seen[uid]}"
            )
        seen[uid] = number
        if label not in labels:
            raise DataError(
                f"{where}: gold_label must be one of {', '.join(labels)}, is {label!r}"
            )
        context, hypothesis = fields["sentence1"], fields["sentence2"]
        rows.append(
            {
                "uid": uid,
                "context": context,
                "hypothesis": hypothesis,
                "label": label,
                "tags": tags_of(fields["genre"]),
                # no sentence holds a tab
                "pair": "\t".join(sorted((context, hypothesis))),
            }
        )
    return rows


def tags_of(genre: str) -> list[str]:
    """Make tags of the parts of a genre, whose capitals are kept.

    Args:
        genre: Parts, joined by colons.

    Returns:
        A tag for each part: `source`, `corpus` and `direction` where it is known to
        be one, else `phenomenon`.
    """
    parts = (part.strip() for part in genre.split(":"))
    return [_TAGS.get(part, f"phenomenon:{part}") for part in parts if part]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    for number, line in enumerate(content.split(b"\n"), start=1):
        try:
            text = line.removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}, line {number}: is not UTF-8: {error.reason}"
            ) from error
        if text:
            yield number, text


def _check_names(path: Path, names: Sequence[str]) -> None:
    for column in _COLUMNS:
        if column not in names:
            raise DataError(
                f"{path}: has no column {column}; it has {', '.join(names)}"
            )
        if names.count(column) > 1:
            raise DataError(f"{path}: has the column {column} more than once")


def _fields(where: str, names: Sequence[str], line: str) -> Mapping[str, str]:
    values = line.split("\t")
    if len(values) != len(names):
        raise DataError(
            f"{where}: has {len(values)} fields, but the file has {len(names)} columns"
        )
    fields = dict(zip(names, values, strict=True))
    for column in _FILLED:
        if not fields[column].strip():
            raise DataError(f"{where}: {column} is empty")
    return fields
