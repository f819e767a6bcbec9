"""Makes prediction files of the model solutions that GSM8K's publisher gives.

The repository openai/grade-school-math has `example_model_solutions.jsonl`, in the
order of its `test.jsonl`. Each model gets a file of JSON lines `{"id": ..., "answer":
...}`: the number of the line, and the whole solution.
"""

import argparse
import json
import re
import sys
from pathlib import Path

parser = argparse.ArgumentParser(description="Make a file of predictions per model.")
parser.add_argument("file", type=Path, help="the publisher's file")
parser.add_argument("-o", "--out", type=Path, default=Path(), metavar="FOLDER")


def main() -> None:
    """Read the solutions and write a file for each model."""
    arguments = parser.parse_args()
    try:
        predictions = read_predictions(arguments.file)
        arguments.out.mkdir(parents=True, exist_ok=True)
        for model, lines in predictions.items():
            path = arguments.out / f"{model}.jsonl"
            path.write_text("".join(lines), encoding="utf-8", newline="\n")
            print(f"{path}: {len(lines)} predictions")
    except (ValueError, OSError) as error:
        sys.exit(f"{parser.prog}: error: {error}")


def read_predictions(path: Path) -> dict[str, list[str]]:
    """Read the lines of predictions, by model."""
    predictions: dict[str, list[str]] = {}
    # "\u2028" ends no line, and blank lines count
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if line.strip():
            where = f"{path}, line {number}"
            solutions = read_solutions(where, line)
            predictions = predictions or {model: [] for model in solutions}
            if solutions.keys() != predictions.keys():
                raise ValueError(
                    f"{where}: has solutions of {', '.join(solutions) or 'no model'}; "
                    f"the lines before have {', '.join(predictions)}"
                )
            for model, solution in solutions.items():
                row = {"id": str(number), "answer": solution}
                predictions[model].append(json.dumps(row) + "\n")
    if not predictions:
        raise ValueError(f"{path}: has no solutions")
    return predictions


def read_solutions(where: str, line: bytes) -> dict[str, str]:
    """Read the solution of each model on a line."""
    try:
        values = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: is not JSON in UTF-8: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{where}: must be a JSON object, is {line[:60]!r}")
    models = [key for key in values if key not in ("question", "ground_truth")]
    if not models:
        raise ValueError(f"{where}: has solutions of no model")
    for model in models:
        value = values[model]
        if not re.fullmatch(r"\w[\w.-]*", model):
            raise ValueError(f"{where}: {model!r} cannot be the name of a file")
        if not isinstance(value, dict) or not isinstance(value.get("solution"), str):
            raise ValueError(
                f"{where}: {model} must be an object with the text `solution`, is "
                f"{json.dumps(value)[:60]}"
            )
    return {model: values[model]["solution"] for model in models}


if __name__ == "__main__":
    main()
