"""The cases of SEA-HELM's extraction, those to reproduce and those to do better."""

import json
import os
import re
import unicodedata
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalkit_adapters_rows import extraction

_ORACLES = os.environ.get("EVALKIT_TEST_ORACLES")
_GROUPS = ("extract_f1acc", "extract_freetext", "extract_lindsea", "boxed")

# the fixture skips where the folder is not named
pytestmark = [pytest.mark.known_result, pytest.mark.usefixtures("oracles")]


def _cases(verdict: str) -> list[Any]:
    if not _ORACLES:
        return [pytest.param(None, id="not-given")]
    lines = (Path(_ORACLES) / "seahelm.jsonl").read_text("utf-8").split("\n")
    cases = [json.loads(line) for line in lines if line]
    chosen = [
        case
        for case in cases
        if case["group"] in _GROUPS and case["verdict"] == verdict
    ]
    return [pytest.param(case, id=case["id"]) for case in chosen]


def _as_seahelm(group: str, given: Any) -> list[Any]:
    """Declare what SEA-HELM does: a pattern of tag and labels, or the whole text."""
    if group == "boxed":
        return ["boxed:otherwise=text"]
    tag = given["answer_tag"]
    if group == "extract_freetext":
        after = {"cue": tag, "which": "first", "case": True, "otherwise": "text"}
        first_line = {"pattern": r"^[^\r\n]*"}
        return [
            {"kind": "after", "configuration": after},
            "strip",
            {"kind": "regex", "configuration": first_line},
        ]
    labels = [*map(str, given["labels"])]
    either = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    flags = "(?i)" if group == "extract_f1acc" else ""
    pattern = {
        "pattern": rf"{flags}{re.escape(tag)}[\s*]*({either})",
        "otherwise": "text",
    }
    named = {"labels": labels, "where": "whole"}
    return [
        {"kind": "regex", "configuration": pattern},
        {"kind": "labels", "configuration": named},
    ]


def _better(group: str, given: Any) -> list[Any]:
    """Declare what we advise in its place."""
    after = {"cue": given["answer_tag"], "otherwise": "text"}
    start = [
        "without-thinking",
        {"kind": "after", "configuration": {**after, "which": "first"}},
    ]
    if group == "extract_freetext":
        return [*start, "strip"]
    named = {"labels": [*map(str, given["labels"])], "where": "start"}
    labels = {"kind": "labels", "configuration": named}
    return [*start, "boxed:otherwise=text", labels]


def _value(stages: list[Any], response: str | None) -> str | None:
    found = extraction(stages).extract(pl.Series([response], dtype=pl.String))
    value = found.values[0]
    return None if value is None else str(value)


@pytest.mark.parametrize("case", _cases("match"))
def test_cases_to_reproduce(case: Any) -> None:
    given, wanted = case["input"], case["output"]
    if case["group"] in ("extract_f1acc", "extract_lindsea") and wanted == "null":
        wanted = None
    assert _value(_as_seahelm(case["group"], given), given["response"]) == wanted


_WANTED = {
    "extract_f1acc-008": "Positif",
    "extract_f1acc-012": None,
    "extract_f1acc-013": "Positif",
    "extract_f1acc-016": None,
    "extract_f1acc-017": None,
    "extract_f1acc-018": None,
    "extract_f1acc-019": None,
    "extract_f1acc-020": "B",
    "extract_f1acc-023": "A",
    "extract_f1acc-024": "A",
    "extract_f1acc-026": "B",
    "extract_f1acc-030": "B",
    "extract_f1acc-033": "Yes.",
    "extract_f1acc-034": "(A)",
    "extract_f1acc-035": "(A)",
    "extract_f1acc-038": "Tích cực",
    "extract_f1acc-039": None,
    "extract_f1acc-040": "1",
    "extract_lindsea-002": "Benar",
    "extract_lindsea-006": "A",
    "extract_freetext-003": "Jakarta",
    "extract_freetext-004": "Jakarta",
    "extract_freetext-007": "Jakarta",
}
"""What a reader would say; None where nothing can be said for sure."""

_LEFT_OUT = {
    "extract_f1acc-041": "a cue of null, which is refused: see test_wrong_use",
    "extract_f1acc-042": "a cue that ends in a bracket: see the test below",
}


@pytest.mark.parametrize("case", _cases("differ"))
def test_cases_to_do_better(case: Any) -> None:
    if case["id"] in _LEFT_OUT:
        return
    given = case["input"]
    response = given["response"]
    if given.get("response_form") == "NFD":
        response = unicodedata.normalize("NFD", response)
    assert _value(_better(case["group"], given), response) == _WANTED[case["id"]]


def test_every_case_to_do_better_is_judged() -> None:
    ids = {each.values[0]["id"] for each in _cases("differ")}
    assert ids <= {*_WANTED, *_LEFT_OUT}


def test_a_cue_is_no_pattern() -> None:
    stages = [{"kind": "after", "configuration": {"cue": "\\boxed{"}}, "labels:A/B"]
    assert _value(stages, r"\boxed{A}") == "A"
