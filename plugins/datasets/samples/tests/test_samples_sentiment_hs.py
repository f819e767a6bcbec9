"""Tests of the data sets ``sample-sentiment`` and ``sample-hs``."""

import difflib
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "evalkit_datasets_samples"

LABELS = {
    "sample-sentiment": {"positive", "negative", "neutral"},
    "sample-hs": {"hateful", "not-hateful"},
}
FACETS = {
    "sample-sentiment": {"negation", "length", "domain", "phenomenon"},
    "sample-hs": {"target", "negation", "length", "function"},
}
ROWS = {"sample-sentiment": 135, "sample-hs": 95}
UID_PREFIX = {"sample-sentiment": "sent", "sample-hs": "hs"}

SYSTEMS = [
    ("sample-sentiment", "vader"),
    ("sample-sentiment", "afinn"),
    ("sample-hs", "profanity"),
    ("sample-hs", "keywords"),
]
REQUIRED_MODULE = {
    "vader": "vaderSentiment",
    "afinn": "afinn",
    "profanity": "profanity_check",
}

NEGATION = re.compile(
    r"\b(?:not|no|none|never|nothing|nobody|nowhere|nor|neither|without|cannot)\b"
    r"|n['\u2019]t\b",
    re.IGNORECASE,
)

each_dataset = pytest.mark.parametrize("name", sorted(LABELS))
each_system = pytest.mark.parametrize(("name", "system"), SYSTEMS)


def read(path: Path) -> list[dict[str, Any]]:
    """Read a file of one JSON object per line."""
    text = path.read_bytes().decode("utf-8")
    assert text.endswith("}\n")
    return [json.loads(line) for line in text[:-1].split("\n")]


def read_data(name: str) -> list[dict[str, Any]]:
    """Read the rows of a data set."""
    return read(PACKAGE / "data" / f"{name}.jsonl")


def facets(row: dict[str, Any]) -> dict[str, str]:
    """Turn the tags of a row into a mapping from facet to value."""
    pairs = [tag.split(":") for tag in row["tags"]]
    assert all(len(pair) == 2 and all(pair) for pair in pairs)
    assert len({facet for facet, _ in pairs}) == len(pairs)
    return dict(pairs)


@each_dataset
def test_rows_are_well_formed(name: str) -> None:
    """Every row has the four fields, in order, and uids count upwards."""
    rows = read_data(name)
    assert len(rows) == ROWS[name]
    for number, row in enumerate(rows, start=1):
        assert list(row) == ["uid", "statement", "label", "tags"]
        assert row["uid"] == f"{UID_PREFIX[name]}-{number:03d}"
        assert row["statement"] == row["statement"].strip() != ""
        assert "\n" not in row["statement"]
    assert len({row["uid"] for row in rows}) == len(rows)


def test_statements_to_be_shown_are_no_others_and_balanced() -> None:
    """The split ``train`` is as the other, in tags, and repeats nothing of it."""
    rows = read_data("sample-sentiment-train")
    asked = [row["statement"].casefold() for row in read_data("sample-sentiment")]
    assert Counter(row["label"] for row in rows) == dict.fromkeys(
        LABELS["sample-sentiment"], 7
    )
    for number, row in enumerate(rows, start=1):
        text, tags = row["statement"], facets(row)
        assert row["uid"] == f"sent-train-{number:02d}"
        assert set(tags) == FACETS["sample-sentiment"]
        words = len(text.split())
        length = "short" if words <= 8 else "medium" if words <= 14 else "long"
        negation = "yes" if NEGATION.search(text) else "no"
        assert (tags["length"], tags["negation"]) == (length, negation), row["uid"]
        near = difflib.get_close_matches(text.casefold(), asked, n=1, cutoff=0.8)
        assert not near


@each_system
@pytest.mark.slow
def test_predictions_are_up_to_date(name: str, system: str) -> None:
    """The script of a system predicts what is in the committed file."""
    if system in REQUIRED_MODULE:
        pytest.importorskip(REQUIRED_MODULE[system])
    script = f"predict_{name.removeprefix('sample-')}_{system}.py"
    result = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / script), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
