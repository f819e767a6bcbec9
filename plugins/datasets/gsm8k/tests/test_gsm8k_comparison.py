"""GSM8K: the publisher's models compared with each other."""

import json
from pathlib import Path

import pytest
from scipy import stats

import evalkit
from evalkit_analysis_compare import ComparedScore, Comparison, compare

pytestmark = pytest.mark.known_result


@pytest.fixture
def folder(external_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point to the publisher's files."""
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(external_data))
    return external_data / "gsm8k"


def compared(folder: Path, *models: str) -> Comparison:
    text = (folder / "example_model_solutions.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    results = []
    for model in models:
        responses = [
            {"id": str(number), "answer": row[model]["solution"]}
            for number, row in enumerate(rows, start=1)
        ]
        results.append(
            evalkit.evaluate("gsm8k", responses, model=model, metrics=["exact-match"])
        )
    return compare(*results)


def whole(comparison: Comparison) -> ComparedScore:
    (row,) = comparison.whole
    return row


def test_the_large_verifier_is_better_than_the_small_one(folder: Path) -> None:
    row = whole(compared(folder, "175b_verification", "6b_verification"))
    assert (row.wins, row.losses, row.n) == (306, 79, 1319)
    assert row.ties == 1319 - 306 - 79
    assert round(row.difference or 0, 6) == 0.172100
    assert (round(row.ci_low or 0, 5), round(row.ci_high or 0, 5)) == (0.14458, 0.19995)
    assert row.ci_method == "tango"
    assert f"{row.p_value:.2e}" == "7.79e-33"
    reference = stats.binomtest(79, 385).pvalue - stats.binom.pmf(79, 385, 0.5)
    assert row.p_value == pytest.approx(reference, rel=1e-9, abs=0)
    assert row.conclusion == (
        "175b_verification is better than 6b_verification by 17.2 points "
        "(95 % CI 14.5 to 20.0, p = 7.8e-33)"
    )


def test_verification_is_better_than_size_but_only_for_two_steps(folder: Path) -> None:
    comparison = compared(folder, "6b_verification", "175b_finetuning")
    row = whole(comparison)
    assert (row.wins, row.losses) == (209, 152)
    assert round(row.p_value or 0, 7) == 0.0026874
    assert row.p_adjusted is None
    tags = {row.tag: row for row in comparison.rows if row.tag}
    assert set(tags) == {f"steps:{steps}" for steps in range(8)}  # 8: n is 2
    surviving = [tag for tag, row in tags.items() if (row.p_adjusted or 0) < 0.05]
    assert surviving == ["steps:2"]
    two = tags["steps:2"]
    assert (two.wins, two.losses) == (76, 31)
    assert f"{two.p_adjusted:.2e}" == "8.92e-05"
    assert two.conclusion.startswith("6b_verification is better than 175b_finetuning")
    others = [row.conclusion for tag, row in tags.items() if tag != "steps:2"]
    assert all(text.startswith("undecided: ") for text in others)
