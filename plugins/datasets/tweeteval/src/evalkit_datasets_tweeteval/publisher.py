"""Reads the publisher's files: texts, label numbers, and names of the numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalkit import DataError

CITATION = """@inproceedings{barbieri-etal-2020-tweeteval,
  title = {{TweetEval}: Unified Benchmark and Comparative Evaluation for Tweet
           Classification},
  author = {Barbieri, Francesco and Camacho-Collados, Jose and Espinosa Anke, Luis and
            Neves, Leonardo},
  booktitle = {Findings of EMNLP 2020},
  pages = {1644--1650},
  year = {2020},
  doi = {10.18653/v1/2020.findings-emnlp.148}
}"""

REPOSITORY = "https://github.com/cardiffnlp/tweeteval"
_RAW = "https://raw.githubusercontent.com/cardiffnlp/tweeteval/main/datasets"


def url_of(folder: str, filename: str) -> str:
    """Return the address of one of the publisher's files."""
    return f"{_RAW}/{folder}/{filename}"


def read_lines(path: Path) -> list[str]:
    r"""Read a file of one item a line; only "\n" or "\r\n" ends a line.

    Args:
        path: The file.

    Returns:
        Its lines, without a last empty one.

    Raises:
        DataError: It is not UTF-8.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DataError(f"{path}, line {line}: is not UTF-8: {error.reason}") from error
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n")


def read_rows(texts: Path, labels: Path) -> list[dict[str, Any]]:
    """Read texts and label numbers; the id is the line's number, from 1.

    Args:
        texts: File of texts.
        labels: File of label numbers, in the same order.

    Returns:
        Rows of `uid`, `statement` and `label`.

    Raises:
        DataError: The files do not have the same number of lines.
    """
    statements, numbers = read_lines(texts), read_lines(labels)
    if len(statements) != len(numbers):
        raise DataError(
            f"{texts} has {len(statements)} lines and {labels} has {len(numbers)}; "
            "each text needs one label"
        )
    return [
        {"uid": str(line), "statement": statement, "label": number.strip()}
        for line, (statement, number) in enumerate(
            zip(statements, numbers, strict=True), start=1
        )
    ]


def read_mapping(path: Path) -> dict[str, tuple[str, ...]]:
    """Read the names of the label numbers.

    Args:
        path: File of number, tab, and one or more names that have tabs between them.

    Returns:
        Names by number.

    Raises:
        DataError: A line does not have this form, or a number has two lines.
    """
    names: dict[str, tuple[str, ...]] = {}
    for line, text in enumerate(read_lines(path), start=1):
        first, tab, rest = text.partition("\t")
        number, columns = first.strip(), rest.strip()
        if not tab or not number.isdigit() or not columns:
            raise DataError(
                f"{path}, line {line}: must be a number, a tab and a name, is {text!r}"
            )
        if number in names:
            raise DataError(f"{path}, line {line}: names the label {number} again")
        names[number] = tuple(column.strip() for column in columns.split("\t"))
    return names
