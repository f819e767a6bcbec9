"""What is read out of real habits of replies, in many languages and scripts."""

import json
import os
import runpy
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalkit_adapters_rows import extraction

_CASES = os.environ.get("EVALKIT_TEST_CASES")
_extraction = cache(extraction)
_KINDS = ("choice", "labels", "final-number")
_BENCHMARK = Path(__file__).parents[4] / "benchmarks" / "extraction.py"


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _read(kind: str, row: dict[str, Any]) -> str | None:
    options, language = row.get("options"), row.get("language")
    found = _extraction(f"without-thinking|{kind}").extract(
        pl.Series([row["reply"]]),
        pl.Series([options], dtype=pl.List(pl.String)),
        options,
        languages=[language] if language else (),
    )
    value = found.values[0]
    return None if value is None else str(value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", _KINDS)
def test_answers_of_own_replies(kind: str) -> None:
    rows = [row for row in _rows(Path(__file__).with_name("replies.jsonl"))]
    own = [row for row in rows if row["kind"] == kind]
    answers = {(row["reply"], _read(kind, row)) for row in own}
    assert answers == {(row["reply"], row["answer"]) for row in own}


@pytest.mark.slow
def test_shares_of_600_replies_in_20_languages() -> None:
    counts = runpy.run_path(str(_BENCHMARK))["measure_replies"]()
    total = sum(counts.values(), Counter[str]())
    assert total["right"] + total["wrong"] + total["unparsed"] == 600
    assert total["wrong"] <= 0.005 * 600
    assert total["agreed, right"] >= 0.92 * total["agreed"] > 0


def _cases(*names: str) -> list[Any]:
    if not _CASES:
        reason = "EVALKIT_TEST_CASES is not set"
        return [pytest.param({}, {}, marks=pytest.mark.skip(reason=reason))]
    return [
        pytest.param(example, response, id=f"{name}-{example['uid']}")
        for name in names
        for example, response in zip(
            _rows(Path(_CASES, f"{name}-data.jsonl")),
            _rows(Path(_CASES, f"{name}-pred.jsonl")),
            strict=True,
        )
    ]


_NUMBERS = {"06": "6.02e23"}
"""The replies with a plain number; all others may be read in several ways."""


@pytest.mark.parametrize(("example", "response"), _cases("numbers-in-latex"))
def test_numbers_in_latex(example: Any, response: Any) -> None:
    reply = {"reply": response["answer"]}
    assert _read("final-number", reply) == _NUMBERS.get(example["uid"])


@pytest.mark.parametrize(
    ("example", "response"), _cases("letters-in-other-scripts", "one-letter-options")
)
def test_letters_of_options(example: Any, response: Any) -> None:
    row = {"reply": response["answer"], "options": example["choices"]}
    place = "ABCD".index(example["answer"])
    assert _read("choice", row) == example["choices"][place]


@pytest.mark.parametrize(("example", "response"), _cases("negation"))
@pytest.mark.parametrize("kind", ["choice", "labels"])
def test_what_is_denied_is_no_answer(kind: str, example: Any, response: Any) -> None:
    row = {"reply": response["answer"], "options": example["choices"]}
    assert _read(kind, row) is None


@pytest.mark.parametrize(("example", "response"), _cases("labels-thai", "labels-tamil"))
def test_labels_of_other_scripts(example: Any, response: Any) -> None:
    labels = ["บวก", "ลบ", "เป็นกลาง", "நேர்மறை", "எதிர்மறை", "நடுநிலை"]
    row = {"reply": response["label"], "options": labels}
    assert _read("labels", row) == example["label"]


@pytest.mark.parametrize(
    ("reply", "place"), [("AA", 26), ("Answer: AB", 27), ("27", 26), ("(C)", 2)]
)
def test_more_than_26_options_have_two_letters_or_numbers(
    reply: str, place: int
) -> None:
    options = [f"town{number:02}x" for number in range(30)]
    assert _read("choice", {"reply": reply, "options": options}) == options[place]


@pytest.mark.slow
@pytest.mark.parametrize("kind", _KINDS)
def test_a_reply_that_repeats_a_cue_is_read_in_linear_time(kind: str) -> None:
    row = {"reply": "The answer is not Rome, not 5 " * 20_000, "options": ["Rome"]}
    assert _read(kind, row) is None
