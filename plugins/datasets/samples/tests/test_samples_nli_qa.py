"""The samples ``sample-nli`` and ``sample-qa`` and the predictions beside them."""

from __future__ import annotations

import difflib
import itertools
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "evalkit_datasets_samples"
SCRIPTS = ROOT / "scripts"
LABELS = {"entailed", "neutral", "contradictory"}
SYSTEMS = [
    ("sample-nli", "overlap"),
    ("sample-nli", "rules"),
    ("sample-qa", "overlap"),
    ("sample-qa", "typed"),
]


def read(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines and check its outer form."""
    content = path.read_bytes().decode("utf-8")
    assert content.endswith("\n")
    assert not content.startswith("\ufeff")
    return [json.loads(line) for line in content[:-1].split("\n")]


def data(name: str) -> list[dict[str, Any]]:
    """Read the rows of a data set."""
    return read(PACKAGE / "data" / f"{name}.jsonl")


def similarity(one: str, other: str) -> float:
    """Measure how alike two texts are, from 0 to 1; cheap where they are not."""
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    # Both are upper bounds of the ratio.
    quick = min(matcher.real_quick_ratio(), matcher.quick_ratio())
    return matcher.ratio() if quick >= 0.7 else quick


def accepted(row: dict[str, Any]) -> list[str]:
    """List the acceptable answers of a question."""
    answer = row["answer"]
    return answer if isinstance(answer, list) else [answer]


def words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


@pytest.mark.parametrize(
    ("name", "least", "keys"),
    [
        ("sample-nli", 72, ["uid", "context", "hypothesis", "label", "tags"]),
        ("sample-qa", 66, ["uid", "context", "question", "answer", "tags"]),
    ],
)
def test_rows_are_complete_and_have_ids_of_their_own(
    name: str, least: int, keys: list[str]
) -> None:
    rows = data(name)
    assert len(rows) >= least
    assert len({row["uid"] for row in rows}) == len(rows)
    for row in rows:
        assert list(row) == keys
        for key in keys[:3]:
            assert isinstance(row[key], str)
            assert row[key] == row[key].strip() != ""


@pytest.mark.parametrize(
    ("name", "facets"),
    [
        ("sample-nli", ["negation", "length", "phenomenon", "genre"]),
        ("sample-qa", ["question", "length", "answer", "negation"]),
    ],
)
def test_every_row_has_every_facet_and_every_facet_varies(
    name: str, facets: list[str]
) -> None:
    values: defaultdict[str, set[str]] = defaultdict(set)
    for row in data(name):
        pairs = [tag.split(":", 1) for tag in row["tags"]]
        assert [facet for facet, _ in pairs] == facets
        for facet, value in pairs:
            values[facet].add(value)
    assert all(len(values[facet]) >= 2 for facet in facets)
    assert values["length"] == {"short", "medium", "long"}
    assert values["negation"] == {"yes", "no"}


@pytest.mark.parametrize("name", ["sample-nli", "sample-qa"])
def test_longer_contexts_have_the_longer_tag(name: str) -> None:
    lengths: defaultdict[str, list[int]] = defaultdict(list)
    for row in data(name):
        tag = next(tag for tag in row["tags"] if tag.startswith("length:"))
        lengths[tag].append(words(row["context"]))
    assert max(lengths["length:short"]) < min(lengths["length:medium"])
    assert max(lengths["length:medium"]) < min(lengths["length:long"])


def test_every_nli_label_has_its_share() -> None:
    rows = data("sample-nli")
    counts = Counter(row["label"] for row in rows)
    assert set(counts) == LABELS
    assert min(counts.values()) >= 0.2 * len(rows)


@pytest.mark.slow
def test_no_two_nli_rows_are_alike() -> None:
    rows = data("sample-nli")
    for key in ("context", "hypothesis"):
        assert len({row[key] for row in rows}) == len(rows)
    texts = [f"{row['context']} {row['hypothesis']}" for row in rows]
    for one, other in itertools.combinations(texts, 2):
        assert similarity(one, other) < 0.8, (one, other)


@pytest.mark.slow
def test_no_two_passages_or_questions_are_alike() -> None:
    rows = data("sample-qa")
    questions = [row["question"] for row in rows]
    assert len(set(questions)) == len(rows)
    passages = Counter(row["context"] for row in rows)
    assert len(passages) >= 22
    assert max(passages.values()) <= 3
    for texts in (questions, list(passages)):
        for one, other in itertools.combinations(texts, 2):
            assert similarity(one, other) < 0.8, (one, other)


def test_every_acceptable_answer_is_in_its_passage() -> None:
    rows = data("sample-qa")
    for row in rows:
        answers = accepted(row)
        assert len(set(answers)) == len(answers) > 0
        for answer in answers:
            assert answer.strip()
            assert answer in row["context"], (row["uid"], answer)
    assert sum(len(accepted(row)) >= 2 for row in rows) >= 15


@pytest.mark.parametrize(("name", "system"), SYSTEMS)
def test_predictions_follow_the_data_and_are_valid(name: str, system: str) -> None:
    rows = data(name)
    predictions = read(PACKAGE / "predictions" / name / f"{system}.jsonl")
    assert [item["id"] for item in predictions] == [row["uid"] for row in rows]
    for row, item in zip(rows, predictions, strict=True):
        if name == "sample-nli":
            assert list(item) == ["id", "label", "prob"]
            assert set(item["prob"]) == LABELS
            assert all(0 <= value <= 1 for value in item["prob"].values())
            assert all(round(value, 4) == value for value in item["prob"].values())
            assert abs(sum(item["prob"].values()) - 1) <= 1e-6
            assert item["prob"][item["label"]] == max(item["prob"].values())
        else:
            assert list(item) == ["id", "answer", "conf"]
            assert item["answer"].strip()
            assert item["answer"] in row["context"]
            assert 0 <= item["conf"] <= 1


@pytest.mark.parametrize(("name", "system"), SYSTEMS)
def test_predictions_are_what_the_script_writes(
    name: str, system: str, tmp_path: Path
) -> None:
    task = name.removeprefix("sample-")
    result = subprocess.run(
        [sys.executable, str(SCRIPTS / f"predict_{task}_{system}.py"), "--check"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert result.returncode == 0, result.stderr


def nli_errors(system: str) -> list[bool]:
    """Tell of each row whether a system's label is wrong."""
    predictions = read(PACKAGE / "predictions" / "sample-nli" / f"{system}.jsonl")
    pairs = zip(data("sample-nli"), predictions, strict=True)
    return [row["label"] != item["label"] for row, item in pairs]


def test_rules_are_better_than_overlap_but_not_perfect() -> None:
    overlap, rules = nli_errors("overlap"), nli_errors("rules")
    assert 0.1 * len(rules) < sum(rules) < sum(overlap)
    # Each system is right somewhere the other is wrong, as a comparison needs.
    assert any(one and not other for one, other in zip(overlap, rules, strict=True))
    assert any(other and not one for one, other in zip(overlap, rules, strict=True))
