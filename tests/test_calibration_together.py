"""What metrics and reports have in common of probabilities, through a whole run."""

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import evalkit
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


def rows() -> list[dict[str, Any]]:
    """Return the predictions."""
    return [
        {"id": str(n), "label": said, "prob": dict(zip(LABELS, shares, strict=True))}
        for n, (_, said, shares) in enumerate(ROWS)
    ]


def test_the_bins_of_the_report_give_ece(tmp_path: Path) -> None:
    result = evalkit.evaluate(Reviews, rows(), metrics=["ece", "mce"], out=tmp_path)
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
