"""What metrics and reports have in common of probabilities, through a whole run."""

import csv
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import evalkit
from evalkit_adapters_rows import Rows
from evalkit_cli.main import cli

LABELS = ("negative", "neutral", "positive")
ROWS = [
    ("positive", "positive", (0.1, 0.2, 0.7)),
    ("negative", "negative", (0.6, 0.3, 0.1)),
    ("neutral", "positive", (0.2, 0.35, 0.45)),
    ("positive", "positive", (0.0, 0.0, 1.0)),
    ("neutral", "neutral", (0.1, 0.6, 0.3)),
]


class Reviews(evalkit.Dataset):
    """Five reviews."""

    name, task = "reviews", "sentiment"

    def load(self, split: str) -> list[dict[str, Any]]:
        """Return them."""
        return [
            {"uid": str(n), "statement": "Good.", "label": gold}
            for n, (gold, *_) in enumerate(ROWS)
        ]


def rows(nested: bool) -> list[dict[str, Any]]:
    """Return the predictions, with `prob` or a column for each label."""
    found = []
    for n, (_, said, shares) in enumerate(ROWS):
        prob = dict(zip(LABELS, shares, strict=True))
        columns = {f"prob_{label}": share for label, share in prob.items()}
        own: Mapping[str, Any] = {"prob": prob} if nested else columns
        found.append({"id": str(n), "label": said, **own})
    return found


def write(path: Path, responses: list[dict[str, Any]]) -> Path:
    """Write predictions in the format of the file's name."""
    if path.suffix == ".jsonl":
        lines = [json.dumps(row) + "\n" for row in responses]
        path.write_text("".join(lines), encoding="utf-8")
    elif path.suffix == ".parquet":
        import polars as pl

        pl.DataFrame(responses).write_parquet(path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, responses[0].keys())
            writer.writeheader()
            writer.writerows(responses)
    return path


METRICS = ["auroc", "ece", "brier"]


@pytest.mark.parametrize("name", ["rows", "p.jsonl", "p.csv", "p.parquet"])
def test_columns_of_probabilities_are_mapped(name: str, tmp_path: Path) -> None:
    flat = rows(nested=False)
    mapped = {f"prob.{each[5:]}": each for each in flat[0] if each.startswith("prob_")}
    given: Any = flat if name == "rows" else write(tmp_path / name, flat)
    found = evalkit.evaluate(
        Reviews, given, metrics=METRICS, rows=Rows(map_predictions=mapped)
    )
    expected = evalkit.evaluate(Reviews, rows(nested=True), metrics=METRICS)
    for metric in METRICS:
        assert found[metric].value == expected[metric].value


def test_columns_that_nobody_mapped_are_named() -> None:
    flat = rows(nested=False)
    found = evalkit.evaluate(Reviews, flat, metrics=["accuracy", "auroc"])
    assert (found["accuracy"].value, found["auroc"].value) == (0.8, None)
    assert any("does not declare" in notice for notice in found.notices)


def test_the_bins_of_the_report_give_ece(tmp_path: Path) -> None:
    result = evalkit.evaluate(
        Reviews, rows(nested=True), metrics=["ece", "mce"], out=tmp_path
    )
    page = tmp_path / "report.html"
    run = next(tmp_path.rglob("run.json")).parent
    done = CliRunner().invoke(cli, ["report", str(run), "-o", str(page)])
    assert done.exit_code == 0, done.output
    cell = r'value="([^"]+)"[^>]*data-bin="([^"]+)" data-field="(\w+)"'
    bins: dict[str, dict[str, float]] = {}
    for value, place, field in re.findall(cell, page.read_text(encoding="utf-8")):
        bins.setdefault(place, {})[field] = float(value)
    n = sum(each["n"] for each in bins.values())
    gaps = [abs(each["mean"] - each["right"]) for each in bins.values()]
    shares = [each["n"] / n for each in bins.values()]
    assert (n, len(bins)) == (5, 4)
    ece = sum(s * g for s, g in zip(shares, gaps, strict=True))
    assert result["ece"].value == pytest.approx(ece, abs=1e-12)
    assert result["mce"].value == pytest.approx(max(gaps), abs=1e-12)
