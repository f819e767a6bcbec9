import itertools
import string
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_groups import rows_by_group
from scipy import stats

import evalkit
from evalkit import Score

NAMES = ["squad-f1", "squad-em"]

# SQuAD 2.0's definition again, by characters and by pairing off words, not by regular
# expressions and counters ------------------------------------------------------------


def is_of_a_word(mark: str) -> bool:
    return mark.isalnum() or mark == "_"


def words_of(text: str) -> list[str]:
    kept = [mark for mark in text.lower() if mark not in string.punctuation]
    # an article is a whole word: what is beside it is no letter, digit or underscore
    parts = [
        (is_word, "".join(marks))
        for is_word, marks in itertools.groupby(kept, is_of_a_word)
    ]
    without = [
        " " if is_word and part in ("a", "an", "the") else part
        for is_word, part in parts
    ]
    return "".join(without).split()


def f1_of(prediction: str, answer: str) -> float:
    given, left = words_of(prediction), words_of(answer)
    total = len(given) + len(left)
    if not given or not left:
        return 1.0 if total == 0 else 0.0
    shared = 0
    for word in given:
        if word in left:
            left.remove(word)
            shared += 1
    if not shared:
        return 0.0
    precision, recall = shared / len(given), shared / (len(left) + shared)
    return 2 * precision * recall / (precision + recall)


def expected_score(name: str, prediction: str | None, answers: Sequence[str]) -> float:
    if prediction is None:
        return 0.0
    kept = [answer for answer in answers if words_of(answer)] or [""]
    if name == "squad-em":
        return float(words_of(prediction) in map(words_of, kept))
    return max(f1_of(prediction, answer) for answer in kept)


# random data ------------------------------------------------------------------------

words = st.sampled_from(
    [
        *("a", "an", "the", "The", "AN", "cat", "Cat", "cats", "theme", "_the", "an_"),
        *("U.S.", "it's", "the-cat", "3,000", "«the»", "the«", "İ", "ΣΑΣ", "straße"),
        *("\u00e9", "e\u0301", "a\u0301", "日本", "a日", "\u200bthe", "the\u00a0cat"),
        *("", "!", "—", "\x00a", "\x1f", "_"),
    ]
)
blanks = st.sampled_from([" ", "  ", "\t", "\n", "\u00a0", "\u3000", "-", "\u0085"])
texts = st.one_of(
    st.lists(st.one_of(words, blanks), max_size=8).map("".join),
    st.lists(words, max_size=6).map(" ".join),
    st.text(max_size=12),
)
predictions_or_none = st.one_of(st.none(), texts)


def one(name: str, predictions: Any, targets: Any, **options: Any) -> Score:
    return evalkit.score(name, predictions, targets, **options)[name]


@pytest.mark.parametrize("name", NAMES)
@given(
    rows=st.lists(
        st.tuples(predictions_or_none, st.lists(texts, max_size=3)),
        min_size=1,
        max_size=8,
    )
)
def test_it_is_squads_definition_with_several_acceptable_answers(
    name: str, rows: list[tuple[str | None, list[str]]]
) -> None:
    predictions, targets = (list(column) for column in zip(*rows, strict=True))
    expected = [expected_score(name, p, t) for p, t in rows]
    found = one(name, predictions, targets)
    assert found.value == pytest.approx(np.mean(expected), abs=1e-12)
    assert (found.n, found.min, found.max) == (
        len(rows),
        pytest.approx(min(expected), abs=1e-12),
        pytest.approx(max(expected), abs=1e-12),
    )


@pytest.mark.parametrize("name", NAMES)
@given(
    rows=st.lists(
        st.tuples(
            predictions_or_none,
            texts,
            st.lists(st.sampled_from(["t", "u:v"]), unique=True),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_it_is_squads_definition_for_the_set_and_every_tag(
    name: str, rows: list[tuple[str | None, str, list[str]]]
) -> None:
    predictions, targets, tags = (list(column) for column in zip(*rows, strict=True))
    result = evalkit.score(name, predictions, targets, tags=tags)
    groups = rows_by_group(rows)
    assert {score.tag for score in result.scores} == set(groups)
    for found in result.scores:
        expected = [expected_score(name, p, [t]) for p, t in groups[found.tag]]
        assert found.value == pytest.approx(np.mean(expected), abs=1e-12)
        assert found.n == len(expected)


# single cases -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prediction", "answers", "f1", "is_equal"),
    [
        ("The Denver Broncos!", "denver broncos", 1.0, True),
        ("Broncos Denver", "Denver Broncos", 1.0, False),
        ("the cat sat", "a cat", 2 / 3, False),
        # each word counts as often as it occurs in both
        ("cat cat cat", "cat cat dog", 2 / 3, False),
        ("cat", "cat cat", 2 / 3, False),
        # punctuation is deleted, not replaced: words grow together
        ("state-of-the-art", "state of the art", 0.0, False),
        ("it's", "its", 1.0, True),
        ("1.25", "12.5", 1.0, True),
        # articles are whole words
        ("theme", "me", 0.0, False),
        ("an apple a day", "apple day", 1.0, True),
        # only ASCII's punctuation is punctuation
        ("«cat»", "cat", 0.0, False),
        ("cat—dog", "cat dog", 0.0, False),
        # the guillemets are no letters, so the article is a word of its own
        ("« the »", "«»", 0.0, False),
        ("«the»", "« »", 1.0, True),
        # one text in two Unicode normal forms is two texts
        ("caf\u00e9", "cafe\u0301", 0.0, False),
        # the decomposed á is an article and a mark that is no letter
        ("a\u0301 cat", "cat", 2 / 3, False),
        ("\u00e1 cat", "cat", 2 / 3, False),
        ("cat\u00a0dog", "cat dog", 1.0, True),
        # texts of which nothing is left
        ("", "", 1.0, True),
        ("The, a!", "an", 1.0, True),
        ("", "cat", 0.0, False),
        ("cat", "", 0.0, False),
        ("cat", "the", 0.0, False),
        # no acceptable answer is the empty answer
        ("", [], 1.0, True),
        ("the", [], 1.0, True),
        ("cat", [], 0.0, False),
        # the best of several, without those that normalise to nothing
        ("blue sky", ["red", "sky", "blue sky"], 1.0, True),
        ("blue sky", ["red", "sky", "the blue house"], 2 / 3, False),
        ("a", ["the", "cat"], 0.0, False),
        ("a", ["the", "an"], 1.0, True),
        # a missing prediction is not an empty one
        (None, "", 0.0, False),
        (None, [], 0.0, False),
        (None, "cat", 0.0, False),
        # a number is taken as its text
        (3, 3, 1.0, True),
        (3, "3", 1.0, True),
        (3, 3.0, 1.0, True),
        (3, 4, 0.0, False),
        (3, ["4", "3"], 1.0, True),
        (True, True, 1.0, True),
    ],
)
def test_single_cases(prediction: Any, answers: Any, f1: float, is_equal: bool) -> None:
    found = one("squad-f1", [prediction], [answers]).value
    assert found == pytest.approx(f1, abs=1e-15)
    assert one("squad-em", [prediction], [answers]).value == float(is_equal)


def test_the_tokens_of_a_long_answer_are_compared_in_reasonable_time() -> None:
    long = " ".join(str(number) for number in range(100_000))
    found = one("squad-f1", [long], ["x " + long])
    assert found.value == pytest.approx(200_000 / 200_001)


# intervals and what else is declared ------------------------------------------------


def test_f1_has_wilsons_interval_of_a_mean() -> None:
    scores = [1.0, 0.0, 2 / 3, 0.8, 1.0]
    predictions = ["x", "x", "x y", "blue sky", "z"]
    targets = ["x", "y", "x", "sky is blue", "z"]
    found = one("squad-f1", predictions, targets)
    assert found.value == pytest.approx(np.mean(scores))
    error = stats.sem(scores)
    expected = stats.t.interval(0.95, 4, loc=np.mean(scores), scale=error)
    assert found.ci == pytest.approx(expected, abs=1e-9)
    assert found.se == pytest.approx(error)
    assert found.stddev == pytest.approx(np.std(scores))
    assert found.ci_method == "t"
