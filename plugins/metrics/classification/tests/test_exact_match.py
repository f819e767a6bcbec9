import re
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalkit
from evalkit.errors import PluginContractError

pieces = ("The ", "the ", *("cat", "Cat", "7", "٣", "$,", "!", "«"), *"ÉéßİΣ", "")
texts = st.lists(st.sampled_from(pieces), max_size=4).map("".join)
flags = st.fixed_dictionaries(
    dict.fromkeys(
        ["ignore_case", "ignore_punctuation", "ignore_numbers"], st.booleans()
    )
)
patterns = st.lists(
    st.sampled_from([r"\bThe ", r"\$", r"\x2c", "[0-9]+", "(?i)cat"]), max_size=2
)


def harness_match(
    prediction: str, answer: str, regexes: list[str], **flag: bool
) -> bool:
    """Compare as the harness does: expressions, case, punctuation, numbers."""
    pair = [prediction, answer]
    for regex in regexes:
        pair = [re.sub(regex, "", text) for text in pair]
    if flag["ignore_case"]:
        pair = [text.lower() for text in pair]
    if flag["ignore_punctuation"]:
        pair = [re.sub(f"[{re.escape(string.punctuation)}]", "", text) for text in pair]
    if flag["ignore_numbers"]:
        pair = [re.sub("[0-9]", "", text) for text in pair]
    return pair[0] == pair[1]


@given(
    rows=st.lists(
        st.tuples(texts, st.lists(texts, max_size=3)), min_size=1, max_size=9
    ),
    regexes=patterns,
    flag=flags,
)
def test_parameters_ignore_what_the_harness_ignores(
    rows: list[tuple[str, list[str]]], regexes: list[str], flag: dict[str, bool]
) -> None:
    settings = [f"{name}={str(value).lower()}" for name, value in flag.items()]
    name = "exact-match:" + ",".join(
        [*settings, *([f"regexes_to_ignore={'/'.join(regexes)}"] if regexes else [])]
    )
    predictions, answers = (list(column) for column in zip(*rows, strict=True))
    expected = [
        any(harness_match(prediction, answer, regexes, **flag) for answer in acceptable)
        for prediction, acceptable in rows
    ]
    [score] = evalkit.score(name, predictions, answers).scores
    assert score.value == pytest.approx(sum(expected) / len(rows))


@pytest.mark.parametrize(
    ("settings", "prediction", "answer", "expected"),
    [
        ("ignore_case=true", "МОСКВА", "Москва", 1),
        ("ignore_case=true", "A", ["b", "a"], 1),
        ("ignore_case=true", None, "a", 0),
        ("ignore_punctuation=true", "«a»", "a", 0),
        ("ignore_numbers=true", "a1", "a", 1),
        ("ignore_numbers=true", 1, 2, 0),  # numbers are no texts
        # case comes after the expressions, and is theirs to ignore
        ("ignore_case=true,regexes_to_ignore=the ", "The a", "a", 0),
        (r"regexes_to_ignore=\x2c/\$/(?s).*####\x20/\.$", "x\n#### $1,200.", "1200", 1),
    ],
)
def test_single_cases(
    settings: str, prediction: Any, answer: Any, expected: float
) -> None:
    [score] = evalkit.score(f"exact-match:{settings}", [prediction], [answer]).scores
    assert score.value == expected


def test_an_invalid_expression_is_refused() -> None:
    with pytest.raises(PluginContractError, match="invalid regular expression"):
        evalkit.score("exact-match:regexes_to_ignore=(", ["a"], ["a"])
