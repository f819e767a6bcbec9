"""What other systems computed, in files that are not in this repository."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import evalkit

FOLDER = Path(os.environ.get("EVALKIT_TEST_ORACLES", ""))

# the fixture skips where the folder is not named, and fails where it is not there
pytestmark = [pytest.mark.known_result, pytest.mark.usefixtures("oracles")]


def seahelm(group: str) -> list[dict[str, Any]]:
    lines = (FOLDER / "seahelm.jsonl").read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if case["group"] == group]


def helm() -> dict[str, Any]:
    known: dict[str, Any] = json.loads((FOLDER / "helm_golden.json").read_text("utf-8"))
    return known


def test_seahelms_rouge_l() -> None:
    cases = seahelm("rougeL")
    assert len(cases) == 2
    for case in cases:
        said, right = [case["input"]["prediction"]], [case["input"]["target"]]
        for measure, name in (("precision", ":measure=precision"), ("fmeasure", "")):
            found = evalkit.score(f"rouge{name}", said, right)[f"rouge{name}#L"]
            assert found.value == pytest.approx(case["output"][measure], abs=1e-12)


def test_seahelms_chrf() -> None:
    [case] = [each for each in seahelm("translation") if each["verdict"] == "match"]
    right = [row[1] for row in case["input"]["rows"]]
    found = evalkit.score("chrf-plus-plus", case["output"]["cleaned"], right)
    expected = case["output"]["metrics"]["chrf_score"]
    assert found["chrf-plus-plus"].value == pytest.approx(expected, abs=1e-9)


def test_no_translations_have_no_score_where_seahelm_fails() -> None:
    [case] = [c for c in seahelm("translation") if c["input"].get("predictions") == []]
    assert case["verdict"] == "differ"
    found = evalkit.score("chrf-plus-plus", [], [])["chrf-plus-plus"]
    assert (found.value, found.reason) == (None, "no example was scored")


def test_all_lines_of_a_translation_are_scored_where_seahelm_scores_the_first() -> None:
    [case] = [c for c in seahelm("translation") if c["id"] == "translation-002"]
    [(said, right)] = case["input"]["rows"]
    text = said.partition("\n")[2]
    assert text == right
    found = evalkit.score("chrf-plus-plus", [text], [right])["chrf-plus-plus"]
    assert found.value == 100 > case["output"]["metrics"]["chrf_score"]


def test_helms_words_by_the_standard_bleu() -> None:
    cases = helm()["bleu"]
    assert len(cases) == 3
    for case in cases:
        said, right = [" ".join(case["pred"])], [" ".join(case["gold"])]
        for name, known in (
            ("bleu:order=1,smoothing=none,tokenize=none", "bleu_1"),
            ("bleu:smoothing=none,tokenize=none", "bleu_4_standard"),
        ):
            found = evalkit.score(name, said, right)[name]
            assert found.value == pytest.approx(100 * case[known], abs=1e-9)


def test_helms_rouge() -> None:
    cases = [case for case in helm()["metrics"] if "rouge_1" in case]
    assert len(cases) > 10
    for case in cases:
        result = evalkit.score("rouge:stemmer=true", [case["pred"]], [case["gold"]])
        for part, known in (("1", "rouge_1"), ("2", "rouge_2"), ("L", "rouge_l")):
            found = result[f"rouge:stemmer=true#{part}"]
            if found.value is None:
                assert "no word" in found.reason
            else:
                assert found.value == pytest.approx(case[known], abs=1e-12)


def test_dynabenchs_bleu() -> None:
    known = json.loads((FOLDER / "dynabench_metrics.json").read_text("utf-8"))
    cases = [case for case in known["cases"] if case["metric"].startswith("bleu")]
    assert len(cases) == 4
    for case in cases:
        found = evalkit.score("bleu", case["predictions"], case["targets"])["bleu"]
        if "error" in case:
            assert (found.value, found.reason) == (None, "no example was scored")
        else:
            assert found.value == pytest.approx(case["value"], abs=1e-9)
