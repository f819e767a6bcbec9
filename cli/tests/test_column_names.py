"""Columns of the user's data may have names that polars takes for patterns."""

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import Result

Invoke = Callable[..., Result]

LABELS = ("positive", "negative", "neutral")

# `^u.*$` is a pattern that does not match itself, but the column `u1`
NAMES = ("*", "^u.*$", "a.b", "a\nb")

DATA = ("--task", "sentiment", "--model", "m")


def _rows(name: str, value: Callable[[int], Any]) -> list[dict[str, Any]]:
    return [
        {
            "uid": f"i{number}",
            "u1": "x",
            "statement": f"A Good Film {number}",
            "label": LABELS[number % 3],
            name: value(number),
            "": number,
        }
        for number in range(24)
    ]


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> str:
    if path.suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def _done(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout) if result.stdout.startswith("{") else None


@pytest.mark.parametrize(
    ("name", "suffix"),
    [*((name, "jsonl") for name in NAMES), ("*", "csv"), ("^u.*$", "parquet")],
)
def test_data_are_evaluated_by_any_column(
    invoke: Invoke, tmp_path: Path, name: str, suffix: str
) -> None:
    rows = _rows(name, lambda number: f"v{number % 4}")
    data = _write(tmp_path / f"data.{suffix}", rows)
    said = _write(tmp_path / f"said.{suffix}", rows)
    given = ("eval", "--data", data, "-p", said, *DATA, "--json")
    chosen = ("--by", name, "--cluster", f"{name},u1")
    grouped = _done(invoke(*given, *chosen, "--min-n", "1"))
    groups = {score["tag"] for score in grouped["scores"]}
    assert {f"{name}:v{number}" for number in range(4)} <= groups
    assert grouped["cluster"] == [name, "u1"]
    whole = grouped["scores"][0]
    assert (whole["n"], whole["n_clusters"], whole["value"]) == (24, 4, 1.0)
    filtered = _done(invoke(*given, "--filter", f"{name}=v1"))
    assert filtered["scores"][0]["n"] == 6


@pytest.mark.parametrize("name", ["*", "^u.*$"])
def test_columns_of_numbers_have_bins_and_gaps(
    invoke: Invoke, tmp_path: Path, name: str
) -> None:
    rows = _rows(name, lambda number: number / 2 if number else None)
    data = _write(tmp_path / "data.jsonl", rows)
    given = ("eval", "--data", data, "-p", data, *DATA, "--json", "--min-n", "1")
    found = _done(invoke(*given, "--by", name, "--cluster", name))
    groups = [s["tag"] for s in found["scores"] if s["tag"] and not s["aggregate"]]
    assert f"{name}:(none)" in groups
    assert any(tag.endswith("or more") for tag in groups)


@pytest.mark.parametrize("name", ["*", "^u.*$"])
@pytest.mark.slow
def test_copies_and_what_is_done_with_runs(
    invoke: Invoke, tmp_path: Path, name: str
) -> None:
    rows = _rows(name, lambda number: f"v{number % 4}")
    data = _write(tmp_path / "data.jsonl", rows)
    copies = str(tmp_path / "copies.jsonl")
    _done(
        invoke(
            *("perturb", "--data", data, "--task", "sentiment", "-o", copies),
            *("--perturbation", "lowercase"),
        )
    )
    lines = [json.loads(line) for line in Path(copies).read_text().splitlines()]
    assert [row[name] for row in lines] == [row[name] for row in rows]
    copied = _write(tmp_path / "copied.jsonl", [{**row, name: 1} for row in lines])
    perturbed = ("--perturbed", copies, "--perturbed-predictions", copied)
    given = ("eval", "--data", data, "-p", data, *DATA, "--json")
    run = _done(invoke(*given, *perturbed, "--by", name, "--cluster", name))[
        "fingerprint"
    ]
    _done(invoke("show", run, "--by", name))
    _done(invoke("show", run, "--flips", "lowercase"))
    _done(invoke("verify", run))
