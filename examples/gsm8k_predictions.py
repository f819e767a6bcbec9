"""Makes prediction files of the model solutions that GSM8K's publisher gives.

The repository openai/grade-school-math has a file `example_model_solutions.jsonl` in
the order of its `test.jsonl`. A line holds a `question`, the `ground_truth`, and under
the name of each model an object with its `solution`. Each model gets a file of JSON
lines `{"id": ..., "answer": ...}`, which `evalkit eval gsm8k --predictions` reads: the
id is the number of the line, the answer is the whole solution.

Run as `python examples/gsm8k_predictions.py example_model_solutions.jsonl -o preds`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ABOUT_THE_PROBLEM = ("question", "ground_truth")
FILE_NAME = re.compile(r"\w[\w.-]*")


class InputError(Exception):
    """The file is not as it must be."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the solutions and write a file for each model."""
    parser = argparse.ArgumentParser(
        description="Turn GSM8K's example_model_solutions.jsonl into one file of "
        "predictions for each model."
    )
    parser.add_argument("file", type=Path, help="the publisher's file")
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="where MODEL.jsonl is written for each model (default: here)",
    )
    given = parser.parse_args(arguments)
    try:
        predictions = read_predictions(given.file)
        given.out.mkdir(parents=True, exist_ok=True)
        for model, lines in predictions.items():
            path = given.out / f"{model}.jsonl"
            path.write_text("".join(lines), encoding="utf-8", newline="\n")
            print(f"{path}: {len(lines)} predictions")
    except (InputError, OSError) as error:
        sys.exit(f"{parser.prog}: error: {error}")


def read_predictions(path: Path) -> dict[str, list[str]]:
    """Read the lines of predictions, by model.

    Args:
        path: The publisher's file.

    Returns:
        Lines of JSON by name of the model, in the file's order.

    Raises:
        InputError: A line is not as it must be.
    """
    predictions: dict[str, list[str]] = {}
    for number, values in read_objects(path):
        where = f"{path}, line {number}"
        models = [key for key in values if key not in ABOUT_THE_PROBLEM]
        if not predictions:
            check_names(where, models)
            predictions = {model: [] for model in models}
        if set(models) != set(predictions):
            raise InputError(
                f"{where}: has solutions of {', '.join(models) or 'no model'}; the "
                f"lines before have {', '.join(predictions)}"
            )
        for model in models:
            row = {"id": str(number), "answer": solution_of(where, model, values)}
            predictions[model].append(json.dumps(row) + "\n")
    if not predictions:
        raise InputError(f"{path}: has no solutions")
    return predictions


def read_objects(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    r"""Read JSON lines; only "\n" ends a line, and blank ones are skipped.

    Args:
        path: The file.

    Yields:
        Number of the line, from 1, and the object that it holds.

    Raises:
        InputError: A line holds no object.
    """
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            values = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: is not JSON in UTF-8: {error}") from error
        if not isinstance(values, dict):
            raise InputError(f"{where}: must be a JSON object, is {line[:60]!r}")
        yield number, values


def check_names(where: str, models: Sequence[str]) -> None:
    """Refuse a line without models, or with one that cannot name a file.

    Args:
        where: The line, for messages.
        models: Names of the models.

    Raises:
        InputError: There is none, or one cannot name a file.
    """
    if not models:
        raise InputError(f"{where}: has solutions of no model")
    for model in models:
        if not FILE_NAME.fullmatch(model):
            raise InputError(f"{where}: {model!r} cannot be the name of a file")


def solution_of(where: str, model: str, values: Mapping[str, Any]) -> str:
    """Give a model's solution.

    Args:
        where: The line, for messages.
        model: Name of the model.
        values: The object on the line.

    Returns:
        The solution, which may be empty.

    Raises:
        InputError: There is none.
    """
    given = values[model]
    solution = given.get("solution") if isinstance(given, dict) else None
    if not isinstance(solution, str):
        raise InputError(
            f"{where}: {model} must be an object with the text `solution`, is "
            f"{json.dumps(given)[:60]}"
        )
    return solution


if __name__ == "__main__":
    main()
