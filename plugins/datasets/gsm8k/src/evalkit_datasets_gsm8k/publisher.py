"""Reads the publisher's file: a question and its worked solution on each line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalkit import DataError
from evalkit_datasets_gsm8k.final_answers import stored_answer


def read_problems(path: Path) -> list[dict[str, Any]]:
    r"""Read the problems; the id is the number of the line, from 1.

    Only "\n" ends a line. A blank line is skipped and counted.

    Args:
        path: The file, JSON lines of `question` and `answer`.

    Returns:
        Rows of `uid`, `question`, `answer` (the final answer), `solution` (the worked
        one) and `steps` (how many calculations it holds).

    Raises:
        DataError: A line is not of this form.
    """
    lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [
        _problem(f"{path}, line {number}", number, line)
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]


def _problem(where: str, number: int, line: bytes) -> dict[str, Any]:
    values = _parsed(where, line)
    solution = _text(where, values, "answer")
    answer = stored_answer(solution)
    if answer is None:
        raise DataError(
            f"{where}: answer must end in #### and the final answer, ends in "
            f"{solution[-60:]!r}"
        )
    return {
        "uid": str(number),
        "question": _text(where, values, "question"),
        "answer": answer,
        "solution": solution,
        "steps": solution.count("<<"),
    }


def _parsed(where: str, line: bytes) -> Mapping[str, Any]:
    try:
        values = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: is not UTF-8: {error.reason}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise DataError(f"{where}: must be a JSON object, is {line[:60]!r}")
    return values


def _text(where: str, values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    if not isinstance(value, str) or not value.strip():
        raise DataError(
            f"{where}: {key} must be a text that is not empty, "
            + (f"is {value!r}" if key in values else "and is not there")
        )
    return value
