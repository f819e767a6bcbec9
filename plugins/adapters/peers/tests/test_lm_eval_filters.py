"""Filters of lm-evaluation-harness, against its own classes where they are there."""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from evalkit_adapters_peers.lm_eval_filters import LmEvalFilters

TEXTS = [
    "The answer is (B).",
    "no, 12 and then 1,300.50 or -7",
    "#### 42 \n#### 5",
    "Answer: C",
    "the RED one; not Dark blue",
    "darkblue",
    "(D) (A)",
]
CHOICES = ["Red", "Dark blue", "blue", "green!"]
CASES: list[list[dict[str, Any]]] = [
    [],
    [{"function": "regex"}],
    [{"function": "regex", "regex_pattern": r"(\d+)|\((\w)\)", "group_select": -1}],
    [{"function": "regex", "regex_pattern": "(?<=is )(.*)(?=.)", "fallback": "none"}],
    [{"function": "remove_whitespace"}, {"function": "lowercase"}],
    [{"function": "uppercase"}, {"function": "regex", "regex_pattern": "[A-Z]+"}],
    [{"function": "multi_choice_regex", "regex_pattern": r"(\([A-Z]\))"}],
    [
        {
            "function": "multi_choice_regex",
            "regex_pattern": r"(\([A-Z]\))",
            "group_select": -1,
            "ignore_case": True,
            "ignore_punctuation": True,
            "regexes_to_ignore": ["not", "the "],
        }
    ],
]


def filtered(filters: list[dict[str, Any]]) -> list[str | None]:
    given = LmEvalFilters.Parameters.model_validate({"filters": filters})
    choices = pl.Series([CHOICES] * len(TEXTS))
    found = LmEvalFilters(given).extract_texts(pl.Series(TEXTS), choices)
    return found["value"].to_list()


def test_filters_take_what_their_options_say() -> None:
    assert filtered(CASES[0]) == TEXTS
    assert filtered(CASES[1])[1:3] == ["[invalid]", "42"]
    assert filtered(CASES[2])[:3] == ["B", "7", "5"]
    assert filtered(CASES[6])[3:] == ["(C)", "(B)", "(C)", "(D)"]
    assert filtered(CASES[7])[3:] == ["(C)", "(B)", "(C)", "(A)"]
    named = {"function": "map", "mapping_dict": {"darkblue": "b"}}
    assert filtered([named])[4:6] == [None, "b"]
    assert filtered([{**named, "default_value": "?"}])[4:6] == ["?", "b"]


def test_options_are_needed_for_letters_alone() -> None:
    needs = [
        LmEvalFilters(LmEvalFilters.Parameters.model_validate({"filters": each})).needs
        for each in (CASES[1], CASES[6])
    ]
    assert needs == [(), ("choices",)]


@pytest.mark.parametrize(
    "given", [{"function": "custom"}, {"function": "regex", "regex_pattern": "("}]
)
def test_unknown_filters_and_patterns_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"function|invalid regular expression"):
        LmEvalFilters.Parameters.model_validate({"filters": [given]})


@pytest.mark.parametrize("filters", CASES[1:])
def test_they_equal_the_harness(
    filters: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = os.environ.get("EVALKIT_LM_EVAL")
    if not folder:
        pytest.skip("EVALKIT_LM_EVAL names no folder of lm_eval")
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path(folder).parent)])
    try:
        get_filter = importlib.import_module("lm_eval.filters").get_filter
    except ImportError as error:
        pytest.skip(f"lm_eval cannot be imported: {error}")
    replies: Any = [[text] for text in TEXTS]
    for given in filters:
        options = {key: each for key, each in given.items() if key != "function"}
        made = get_filter(given["function"])(**options)
        replies = list(made.apply(replies, [{"choices": CHOICES}] * len(TEXTS)))
    assert filtered(filters) == [reply for (reply,) in replies]
