"""Judges gender-swap by 200 texts that were not looked at while its rules were written.

They were written with their answers by somebody who did not see the rules; names stay.
Counted are changed words: those that were changed as they should (or as an alternative
says), of all that were changed (precision) and of all that should be (recall).
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evalkit import Edit
from evalkit_commands_perturb import find_difference, perturb

LINES = Path(__file__).with_name("gender_swap_held_out.jsonl").read_text("utf-8")
CASES: list[dict[str, Any]] = [json.loads(line) for line in LINES.splitlines()]


class Judged(NamedTuple):
    made: int
    wanted: int
    right: int

    @property
    def errors(self) -> int:
        return self.made + self.wanted - 2 * self.right


def swapped(text: str) -> str:
    row = {"uid": "1", "statement": text}
    found = [*perturb([row], "gender-swap:names=false", task="sentiment")]
    return str(found[0]["statement"]) if found else text


def edits(before: str, after: str) -> set[Edit]:
    return {*find_difference(before, after)}


def judge(case: dict[str, Any]) -> Judged:
    made = edits(case["text"], swapped(case["text"]))
    answers = [case["expected"], *case["alternatives"]]
    wanted = [edits(case["text"], answer) for answer in answers]
    return min(
        (Judged(len(made), len(each), len(made & each)) for each in wanted),
        key=lambda judged: judged.errors,
    )


def test_the_set_is_what_it_says() -> None:
    assert len(CASES) == len({case["text"] for case in CASES}) == 200
    unchanged = [case for case in CASES if case["text"] == case["expected"]]
    assert len(unchanged) == 42
    assert {case["kind"] for case in unchanged} == {"nothing"}


@pytest.mark.slow
def test_precision_and_recall() -> None:
    judged = [judge(case) for case in CASES]
    made, wanted, right = (sum(each) for each in zip(*judged, strict=True))
    assert right / made >= 0.97
    assert right / wanted >= 0.90
    assert sum(each.errors == 0 for each in judged) >= 195


@pytest.mark.slow
def test_the_published_figures_are_those() -> None:
    judged = [judge(case) for case in CASES]
    made, wanted, right = (sum(each) for each in zip(*judged, strict=True))
    whole = sum(each.errors == 0 for each in judged)
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    precision, recall = right / made, right / wanted
    assert f"precision {precision:.3f}, recall {recall:.3f}" in " ".join(readme.split())
    assert f"{whole} of 200" in " ".join(readme.split())
