"""Tests of the data sets ``sample-sentiment`` and ``sample-hs``."""

from __future__ import annotations

import difflib
import itertools
import json
import math
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
WITH_PROBABILITIES = {"vader", "profanity"}
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


def read_predictions(name: str, system: str) -> list[dict[str, Any]]:
    """Read the predictions of a system."""
    return read(PACKAGE / "predictions" / name / f"{system}.jsonl")


def facets(row: dict[str, Any]) -> dict[str, str]:
    """Turn the tags of a row into a mapping from facet to value."""
    pairs = [tag.split(":") for tag in row["tags"]]
    assert all(len(pair) == 2 and all(pair) for pair in pairs)
    assert len({facet for facet, _ in pairs}) == len(pairs)
    return dict(pairs)


def mcnemar(b: int, c: int) -> float:
    """Compute the two-sided p-value of McNemar's exact test."""
    n = b + c
    tail = sum(math.comb(n, k) for k in range(min(b, c) + 1))
    return min(1.0, 2 * tail / (1 << n))


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


@each_dataset
def test_file_is_plain_json_lines(name: str) -> None:
    """The file is exactly what ``json.dumps`` gives, without ASCII escapes."""
    content = (PACKAGE / "data" / f"{name}.jsonl").read_bytes().decode("utf-8")
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in read_data(name)]
    assert content == "".join(lines)


@each_dataset
def test_labels_are_balanced(name: str) -> None:
    """Every label, and no other, has at least a fifth of the rows."""
    counts = Counter(row["label"] for row in read_data(name))
    assert set(counts) == LABELS[name]
    assert min(counts.values()) >= 0.2 * counts.total()


@each_dataset
def test_every_facet_varies(name: str) -> None:
    """Every row has all the facets, and every facet at least two values."""
    rows = [facets(row) for row in read_data(name)]
    for row in rows:
        assert set(row) == FACETS[name]
    for facet in FACETS[name]:
        assert len({row[facet] for row in rows}) >= 2, facet
    assert {row["negation"] for row in rows} == {"yes", "no"}
    assert {row["length"] for row in rows} == {"short", "medium", "long"}


@each_dataset
def test_tags_match_the_text(name: str) -> None:
    """Tags of length and negation follow from the words of the statement."""
    for row in read_data(name):
        words = len(row["statement"].split())
        length = "short" if words <= 8 else "medium" if words <= 14 else "long"
        negation = "yes" if NEGATION.search(row["statement"]) else "no"
        tags = facets(row)
        assert (tags["length"], tags["negation"]) == (length, negation), row["uid"]


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


@each_dataset
def test_no_two_statements_are_alike(name: str) -> None:
    """No statement equals or nearly equals another one."""
    texts = [row["statement"].casefold() for row in read_data(name)]
    assert len(set(texts)) == len(texts)
    for first, second in itertools.combinations(texts, 2):
        matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
        # The quick ratio is an upper bound, and spares most of the work.
        if matcher.quick_ratio() >= 0.8:
            assert matcher.ratio() < 0.8, (first, second)


@each_system
def test_predictions_are_valid(name: str, system: str) -> None:
    """Predictions cover the data set in order and keep to the format."""
    predictions = read_predictions(name, system)
    has_prob = system in WITH_PROBABILITIES
    assert [p["id"] for p in predictions] == [row["uid"] for row in read_data(name)]
    for prediction in predictions:
        assert list(prediction) == ["id", "label", "prob"][: 3 if has_prob else 2]
        assert prediction["label"] in LABELS[name]
        if has_prob:
            prob = prediction["prob"]
            assert set(prob) == LABELS[name]
            assert all(0.0 <= p <= 1.0 and p == round(p, 4) for p in prob.values())
            assert sum(round(p * 10_000) for p in prob.values()) == 10_000
            assert math.isclose(math.fsum(prob.values()), 1.0, abs_tol=1e-12)
            assert prob[prediction["label"]] == max(prob.values())


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


@each_system
def test_accuracy_is_realistic(name: str, system: str) -> None:
    """No system solves its data set, and none is useless on it."""
    pairs = zip(read_data(name), read_predictions(name, system), strict=True)
    correct = sum(row["label"] == p["label"] for row, p in pairs)
    assert 0.4 <= correct / ROWS[name] <= 0.85


def test_sentiment_systems_are_not_told_apart() -> None:
    """McNemar's exact test is undecided between VADER and AFINN."""
    b = c = 0
    for row, vader, afinn in zip(
        read_data("sample-sentiment"),
        read_predictions("sample-sentiment", "vader"),
        read_predictions("sample-sentiment", "afinn"),
        strict=True,
    ):
        vader_is_right = vader["label"] == row["label"]
        afinn_is_right = afinn["label"] == row["label"]
        b += vader_is_right and not afinn_is_right
        c += afinn_is_right and not vader_is_right
    assert b + c > 0
    assert mcnemar(b, c) > 0.2


@pytest.mark.parametrize(
    ("b", "c", "p"), [(0, 0, 1.0), (5, 5, 1.0), (0, 5, 0.0625), (1, 9, 22 / 1024)]
)
def test_mcnemar(b: int, c: int, p: float) -> None:
    """The exact test agrees with values worked out by hand."""
    assert mcnemar(b, c) == pytest.approx(p)
