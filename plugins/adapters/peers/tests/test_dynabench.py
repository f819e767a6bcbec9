"""Perturbed copies in Dynabench's form.

Dynabench's scripts need services that are gone; the rows are as its code writes them: a
copy of the original with `input_id`, and a `uid` that ends in what made it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit_adapters_rows import Rows, as_pipeline
from evalkit_analysis_robustness import evaluate_perturbed, find_effects

ROWS = [
    {"uid": str(number), "statement": f"text {number}", "label": label, "tags": ["x"]}
    for number, label in enumerate(["positive", "negative", "neutral"])
]
SAID = [{"id": row["uid"], "label": "positive"} for row in ROWS]
COPIES: list[dict[str, Any]] = [
    {**row, "input_id": row["uid"], "uid": f"{row['uid']}_{name}"}
    for row in ROWS
    for name in ("pgen", "InsertPunctuationChars")
]
SAID_OF_COPIES = [{"id": row["uid"], "label": "positive"} for row in COPIES]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    found = {}
    for name, rows in (("data", ROWS), ("copies", COPIES), ("said", SAID_OF_COPIES)):
        found[name] = tmp_path / f"{name}.jsonl"
        found[name].write_text("".join(json.dumps(row) + "\n" for row in rows))
    return found


def evaluate(files: dict[str, Path], adapter: Any, **options: Any) -> evalkit.Result:
    return evaluate_perturbed(
        files["data"],
        SAID,
        task="sentiment",
        perturbed=[files["copies"]],
        perturbed_predictions=[files["said"]],
        rows=Rows(adapters=None if adapter is None else {"perturbed": adapter}),
        **options,
    )


def test_the_perturbation_is_what_follows_the_uid() -> None:
    through = as_pipeline("dynabench:family=fairness")
    assert through is not None
    assert list(through(COPIES[:1])) == [
        {
            **COPIES[0],
            "perturbation": "pgen",
            "families": ["fairness"],
            "label_effect": "invariant",
        }
    ]
    plain = as_pipeline("dynabench")
    assert plain is not None
    assert [row["perturbation"] for row in plain(COPIES[:2])] == [
        "pgen",
        "InsertPunctuationChars",
    ]
    assert "families" not in next(plain(COPIES))


def test_a_file_without_perturbations_is_refused_and_says_what_to_do(
    files: dict[str, Path],
) -> None:
    with pytest.raises(evalkit.SchemaError, match="--adapter perturbed=NAME"):
        evaluate(files, None)


@pytest.mark.slow
def test_copies_are_scored_and_the_run_says_how(
    files: dict[str, Path], tmp_path: Path
) -> None:
    result = evaluate(files, "dynabench:family=robustness", out=tmp_path / "runs")
    scored = {score.perturbation for score in find_effects(result).scores}
    assert {"pgen", "InsertPunctuationChars", "family:robustness"} <= scored
    assert result.perturbed
    copies = result.perturbed[0].record
    assert [each.kind for each in copies.data.adapters] == ["dynabench"]
    kinds = {(each.kind, each.name) for each in copies.components}
    assert ("adapters", "dynabench") in kinds
    again = evaluate(files, "dynabench:family=robustness")
    assert again.run_id == result.run_id
    assert again.perturbed
    assert again.perturbed[0].run_id == result.perturbed[0].run_id
    other = evaluate(files, "dynabench:family=fairness")
    assert other.perturbed
    assert other.perturbed[0].run_id != result.perturbed[0].run_id
    for run in (result, *result.perturbed):
        assert run.path is not None
        assert evalkit.verify(run.path).agrees


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"uid": "other"}, "does not begin with its original's, '0'"),
        ({"uid": "0_"}, "nobody knows what made it"),
        ({"uid": None}, "'uid' must be an id, got null"),
        ({"input_id": True}, "'input_id' must be an id, got true or false"),
        ({"perturbation": "x"}, "has a 'perturbation' already"),
    ],
)
def test_rows_that_do_not_say_it_are_refused(
    files: dict[str, Path], changes: dict[str, Any], problem: str
) -> None:
    files["copies"].write_text(json.dumps({**COPIES[0], **changes}) + "\n")
    with pytest.raises(evalkit.SchemaError, match=f"line 1: .*{problem}"):
        evaluate(files, "dynabench")
