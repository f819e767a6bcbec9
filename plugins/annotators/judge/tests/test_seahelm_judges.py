"""Verdicts as SEA-HELM reads them, and where ours say more."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evalkit_annotators_judge.columns import (
    INCONSISTENT,
    NO_POINTS,
    of_both_orders,
    of_criteria,
)
from evalkit_annotators_judge.declaration import Declaration, VerdictRule
from evalkit_annotators_judge.judge import Heard, Judge
from evalkit_annotators_judge.parsing import (
    WORTH,
    Verdict,
    last_object,
    read_correct,
    read_mark,
    read_scaled,
    read_verdict,
    tagged,
)
from evalkit_annotators_judge.questions import Asked
from evalkit_models_base import Reply, Request

pytestmark = pytest.mark.known_result

Case = Mapping[str, Any]

CLASSES = {
    "CLASS_UNMET": 0.0,
    "CLASS_SLIGHTLY_MET": 0.25,
    "CLASS_MODERATELY_MET": 0.5,
    "CLASS_LARGELY_MET": 0.75,
    "CLASS_EXACTLY_MET": 1.0,
}
MARKS = ("[[A]]", "[[B]]", "[[C]]")
OURS = {"win": "WIN", "loss": "LOSE", "tie": "TIE", None: "ERROR"}
THEIRS = {theirs: ours for ours, theirs in OURS.items()}


def check_no_reply() -> None:
    """A judge that did not reply has a status, and nothing is read of it."""
    said = Declaration.model_validate(
        {
            "model": "echo",
            "rubric": "Good?",
            "prompt": {"user": "{rubric} {response}"},
            "verdict": {"kind": "correct"},
        }
    )
    heard = Heard(Reply(error="busy"), is_cached=False)
    request = Request(prompt="Good? x")
    found = Judge(said)._read(Asked(0, 0, False, request), heard)
    assert found.verdict == Verdict(reason="failed: busy")


def check_criteria(case: Case) -> None:
    text = case["input"].get("judge_response")
    if case["function"].endswith("get_score"):
        # theirs is 0; of what is no label ours says so
        found = read_verdict("<c>CLASS_UNKNOWN</c>", rule("c"))
        assert found == Verdict(reason="unparsed: a label that is not declared")
        return
    take = "first" if case["function"].startswith("CriteriaJudge") else "last"
    if text is None:
        check_no_reply()
        return
    if case["function"].endswith("extract_reflection"):
        found = tagged(text, "reflection")
        assert (found[0] if take == "first" else found[-1]) == case["output"]
    else:
        verdict = read_verdict(text, rule("classification", take))
        assert verdict.label == case["output"]
        assert (verdict.reason is None) == (case["output"] is not None)


def rule(tag: str, take: str = "last") -> VerdictRule:
    said = {"kind": "label", "values": CLASSES, "tag": tag, "take": take}
    return VerdictRule.model_validate(said)


def check_pair(case: Case) -> None:
    if case["input"]["judgement"] is None:  # theirs raises a TypeError
        check_no_reply()
        return
    marks = VerdictRule(kind="pair", marks=MARKS)
    text, is_swapped = case["input"]["judgement"], case["input"]["reverse"]
    found = read_verdict(text, marks, is_swapped)
    assert OURS[found.label] == case["output"]
    assert (found.reason is not None) == (case["output"] == "ERROR")


def check_final(case: Case) -> None:
    given = case["input"]
    verdicts = [verdict_of(given[f"judgement_{n}"]) for n in (1, 2)]
    found = of_both_orders(verdicts, given["ties_allowed"])
    if case["verdict"] == "match":
        assert OURS[found.label] == case["output"]
        return
    # a verdict that is lacking is no tie
    assert case["output"] == "TIE"
    assert found == Verdict(reason="unparsed: no verdict")


def verdict_of(theirs: str) -> Verdict:
    label = THEIRS[theirs]
    if label is None:
        return read_mark("nothing", MARKS)
    return Verdict(WORTH[label], label)


def check_fine(case: Case) -> None:
    given = case["input"]
    if "judgement" in given:
        values = dict(zip(given["labels"], given["scores"], strict=True))
        found = read_scaled(given["judgement"], values, given["reverse"])
    else:
        both = [
            Verdict(each, str(each)) if each is not None else Verdict(reason="none")
            for each in (given["a"], given["b"])
        ]
        found = of_both_orders(both, ties=True, is_scaled=True)
    assert found.value == case["output"]


def check_correct(case: Case) -> None:
    text = case["input"]["judge_response"]
    if text is None:
        check_no_reply()
        return
    found = read_correct(text, ("CORRECT", "INCORRECT"))
    if case["verdict"] == "match":
        assert found.value == case["output"]
    else:
        assert (text, case["output"]) == ("NOT CORRECT", 1)
        assert found == Verdict(0.0, "incorrect")


def check_object(case: Case) -> None:
    text = case["input"]["judge_response"]
    if text is None:
        check_no_reply()
        return
    assert (last_object(text) or {}) == case["output"]


def check_points(case: Case) -> None:
    points = [float(each) for each in case["input"]["points"]]
    verdicts = [Verdict(float(met)) for met in case["input"]["met"]]
    names = [str(number) for number in range(len(points))]
    found = of_criteria(verdicts, names, points)
    if case["verdict"] == "match":
        wanted = case["output"]["metrics"]["average_criteria_score"]
        assert found.value == pytest.approx(wanted / 100, abs=1e-12)
    elif case["output"] is None:
        assert found == Verdict(reason=NO_POINTS)
    else:  # theirs sorts criterion 10 before criterion 2
        assert found.value == pytest.approx(0.64102564102564, abs=1e-12)


GROUPS: Mapping[str, Callable[[Case], None]] = {
    "criteria_parse": check_criteria,
    "pairwise_parse": check_pair,
    "pairwise_final": check_final,
    "pairwise_fine": check_fine,
    "correct_incorrect": check_correct,
    "healthbench_parse": check_object,
    "healthbench": check_points,
}


@pytest.mark.parametrize("group", GROUPS)
def test_verdicts_of_seahelm(group: str, oracles: Path) -> None:
    lines = (oracles / "seahelm.jsonl").read_text(encoding="utf-8").split("\n")
    cases = [json.loads(line) for line in lines if line]
    found = [case for case in cases if case["group"] == group]
    assert found
    for case in found:
        GROUPS[group](case)


def test_verdicts_that_differ_by_order_are_a_tie_or_inconsistent() -> None:
    both = [Verdict(1.0, "win"), Verdict(0.0, "loss")]
    assert of_both_orders(both, ties=True) == Verdict(0.5, "tie")
    assert of_both_orders(both, ties=False) == Verdict(reason=INCONSISTENT)
