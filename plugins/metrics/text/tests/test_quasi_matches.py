import json
import re
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from .drawn_rows import Row, check_mean, rows_of, texts, value

STANDARD = {
    "quasi-exact-match": "quasi_exact_match",
    "quasi-exact-match:articles=keep": "quasi_leave_articles_exact_match",
    "prefix-exact-match": "prefix_exact_match",
    "quasi-prefix-exact-match": "quasi_prefix_exact_match",
}


def bare(text: str, articles: bool = True) -> str:
    """Normalise as HELM says, word by word and mark by mark."""
    kept = "".join(mark for mark in text.lower() if mark not in string.punctuation)
    if articles:
        kept = re.sub(r"(?<!\w)(a|an|the)(?!\w)", " ", kept)
    return re.sub(r"\s+", " ", kept).strip()


DEFINITIONS = {
    "quasi-exact-match": lambda p, a: bare(p) == bare(a),
    "quasi-exact-match:articles=keep": lambda p, a: bare(p, False) == bare(a, False),
    "prefix-exact-match": lambda p, a: p.strip()[: len(a.strip())] == a.strip(),
    "quasi-prefix-exact-match": lambda p, a: bare(p)[: len(bare(a))] == bare(a),
}


@pytest.mark.parametrize("name", DEFINITIONS)
@given(rows=rows_of(texts))
@pytest.mark.slow
def test_it_is_the_definition_for_the_set_and_every_tag(
    name: str, rows: list[Row]
) -> None:
    is_right = DEFINITIONS[name]
    check_mean(name, rows, lambda p, t: float(any(is_right(p, a) for a in t)))


@pytest.mark.known_result
@pytest.mark.slow
def test_it_gives_what_helm_gives(oracles: Path) -> None:
    recorded = json.loads((oracles / "helm_golden.json").read_text("utf-8"))
    assert len(recorded["metrics"]) >= 13
    for case in recorded["metrics"]:
        for name, theirs in STANDARD.items():
            assert value(name, case["pred"], case["gold"]) == case[theirs], (name, case)
    for text, normalised, with_articles in recorded["normalize_text"]:
        assert value("quasi-exact-match", text, normalised) == 1
        assert value("quasi-exact-match:articles=keep", text, with_articles) == 1


@pytest.mark.parametrize(
    ("name", "prediction", "target", "expected"),
    [
        # empty texts are equal, where HELM counts the prediction as wrong
        ("quasi-exact-match", "", "", 1.0),
        ("prefix-exact-match", " ", "", 1.0),
        ("quasi-prefix-exact-match", "", "the", 1.0),
        ("quasi-prefix-exact-match", "red", "the", 1.0),
        ("quasi-prefix-exact-match", "x", "", 1.0),
        ("prefix-exact-match", "x", "", 1.0),
        ("prefix-exact-match", "334", "33", 1.0),
        ("prefix-exact-match", "Boston", ["York", "Bos"], 1.0),
        ("quasi-exact-match:articles=keep", "the cat", "cat", 0.0),
        ("quasi-exact-match", None, "", 0.0),
        ("prefix-exact-match", None, "", 0.0),
        ("quasi-exact-match", 3, 3.0, 1.0),
    ],
)
def test_single_cases(name: str, prediction: Any, target: Any, expected: float) -> None:
    assert value(name, prediction, target) == expected
