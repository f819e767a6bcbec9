"""BLEU, chrF, chrF++ and TER against sacrebleu's own scores of the same texts."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.base import Metric as Scorer

import evalkit
from evalkit import MetricError, Score

SCORERS: dict[str, Scorer] = {
    "bleu": sacrebleu.BLEU(),
    "bleu:lowercase=true,smoothing=floor,smoothing_value=0.2": sacrebleu.BLEU(
        lowercase=True, smooth_method="floor", smooth_value=0.2
    ),
    "bleu:order=2,smoothing=add-k,tokenize=intl": sacrebleu.BLEU(
        max_ngram_order=2, smooth_method="add-k", tokenize="intl"
    ),
    "bleu:effective_order=true,smoothing=none,tokenize=char": sacrebleu.BLEU(
        effective_order=True, smooth_method="none", tokenize="char"
    ),
    "bleu:effective_order=true,tokenize=zh": sacrebleu.BLEU(
        effective_order=True, tokenize="zh"
    ),
    "bleu:smoothing=add-k,smoothing_value=0.5,tokenize=none": sacrebleu.BLEU(
        smooth_method="add-k", smooth_value=0.5, tokenize="none", force=True
    ),
    "chrf": sacrebleu.CHRF(),
    "chrf:beta=1,char_order=3,lowercase=true,whitespace=true": sacrebleu.CHRF(
        char_order=3, beta=1, lowercase=True, whitespace=True
    ),
    "chrf:eps_smoothing=true,word_order=1": sacrebleu.CHRF(
        word_order=1, eps_smoothing=True
    ),
    "chrf-plus-plus": sacrebleu.CHRF(word_order=2),
    "ter": sacrebleu.TER(),
    "ter:asian_support=true,case_sensitive=true,no_punctuation=true,normalized=true": (
        sacrebleu.TER(
            normalized=True, no_punct=True, asian_support=True, case_sensitive=True
        )
    ),
}
NAMES = ["bleu", "chrf", "chrf-plus-plus", "ter"]
of_every_name = pytest.mark.parametrize("name", NAMES)

Pair = tuple[str | None, list[str]]

words = st.sampled_from(
    [
        *("the", "The", "cat", "cats", "sat", "on", "a", "mat", ".", ",", "3.5"),
        *("it's", "\u00e9", "e\u0301", "straße", "猫", "マット", "ไทย", "«x»", "&amp;"),
        *("\n", "\x85"),
    ]
)
texts = st.one_of(
    st.lists(words, max_size=9).map(" ".join), st.lists(words, max_size=9).map("".join)
)
pairs = st.tuples(st.one_of(st.none(), texts), st.lists(texts, min_size=1, max_size=3))


def one(name: str, predictions: Any, targets: Any, **options: Any) -> Score:
    return evalkit.score(name, predictions, targets, **options)[name]


def expected_score(scorer: Scorer, rows: Sequence[Pair]) -> float | None:
    """Return sacrebleu's score; None where it divides nothing by nothing."""
    said = [prediction or "" for prediction, _ in rows]
    references: Any = list(zip_longest(*(targets for _, targets in rows)))
    found = scorer.corpus_score(said, references)
    counts = np.sum(scorer._extract_corpus_statistics(said, references), axis=0)
    if isinstance(scorer, sacrebleu.BLEU):
        is_empty = counts[0] + counts[1] == 0
    elif isinstance(scorer, sacrebleu.CHRF):
        is_empty = counts[1::3].sum() == 0
    else:
        is_empty = counts[1] == 0
    return None if is_empty else float(found.score)


def assert_is(found: Score, expected: float | None) -> None:
    if expected is None:
        assert found.value is None
        assert found.reason in (
            "neither predictions nor the nearest references have a word",
            "no reference has a character",
            "no reference has a word",
        )
    else:
        assert found.value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", SCORERS)
@given(rows=st.lists(pairs, min_size=1, max_size=6))
@pytest.mark.slow
def test_it_is_sacrebleus_score_with_several_references(
    name: str, rows: list[Pair]
) -> None:
    predictions, targets = (list(column) for column in zip(*rows, strict=True))
    assert_is(one(name, predictions, targets), expected_score(SCORERS[name], rows))


# single cases ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prediction", "references", "bleu", "chrf", "ter"),
    [
        # one word: no 4-gram exists, so that BLEU is 0; chrF is not
        ("cat", ["cat"], 0.0, 100.0, 0.0),
        ("cat", ["dog"], 0.0, 0.0, 100.0),
        ("the cat sat down", ["the cat sat down"], 100.0, 100.0, 0.0),
        # a reference that fits is enough
        ("a b c d", ["x", "a b c d"], 100.0, 100.0, 0.0),
        # an empty prediction: no matches, all words lacking
        ("", ["the cat sat down"], 0.0, 0.0, 100.0),
        (None, ["the cat sat down"], 0.0, 0.0, 100.0),
        # an empty reference: nothing to match
        ("the cat sat down", [""], 0.0, None, None),
        ("", [""], None, None, None),
        (None, ["", " "], None, None, None),
        # a number is its text
        (12, ["12"], 0.0, 100.0, 0.0),
        # two Unicode forms are two texts
        ("\u00e9", ["e\u0301"], 0.0, 0.0, 100.0),
    ],
)
def test_single_cases(
    prediction: Any,
    references: list[str],
    bleu: float | None,
    chrf: float | None,
    ter: float | None,
) -> None:
    for name, expected in (("bleu", bleu), ("chrf", chrf), ("ter", ter)):
        found = one(name, [prediction], [references])
        assert found.value == (
            expected if expected is None else pytest.approx(expected)
        )
        assert (found.reason is None) == (expected is not None) or found.n == 1


@of_every_name
def test_an_example_without_references_is_not_scored(name: str) -> None:
    said = ["the cat sat on the mat"] * 20
    right: list[list[str]] = [["the cat sat on a mat"]] * 19
    result = evalkit.score(name, said, [*right, []])
    found = result[name]
    assert (result.status, found.n) == ("partial", 19)
    assert found.value == pytest.approx(one(name, said[:19], right).value)
    [problem] = result.problems
    assert (problem.id, problem.reason) == ("19", "it has no reference")


@of_every_name
def test_no_example_has_references(name: str) -> None:
    found = one(name, ["a", "b"], [[], []])
    assert (found.value, found.n) == (None, 0)
    assert found.reason


def test_a_bleu_of_short_texts_is_flagged() -> None:
    found = one("bleu", ["cat", "a dog"], ["cat", "a dog"])
    assert found.value == 0
    assert found.flag is not None
    assert found.flag.startswith("no prediction has 4 words, so that BLEU is 0")
    name = "bleu:effective_order=true"
    better = one(name, ["cat", "a dog"], ["cat", "a dog"])
    assert (better.value, better.flag) == (pytest.approx(100), None)
    assert one("bleu", ["", None], ["cat", "dog"]).flag is None


def test_texts_that_look_tokenized_are_flagged() -> None:
    said = ["the cat sat on the mat ."] * 99
    assert one("bleu", said, said).flag is None
    said.append("so it is .")
    flag = one("bleu", said, said).flag
    assert flag is not None
    assert flag.startswith("100 predictions end with a blank and a full stop")


@of_every_name
def test_intervals_are_of_resampled_examples(name: str) -> None:
    random = np.random.default_rng(4)
    pool = ["the", "cat", "sat", "on", "mat", "here"]
    right = [" ".join(random.choice(pool, 8)) for _ in range(60)]
    said = [
        " ".join(w for w in text.split() if random.random() < 0.8) for text in right
    ]
    found = one(name, said, right)
    assert found.ci_method == "bootstrap"
    assert found.ci is not None
    scorer = SCORERS[name]
    counts = np.array(scorer._extract_corpus_statistics(said, [right]))
    drawn = [
        scorer._compute_score_from_stats(
            list(counts[random.integers(0, 60, 60)].sum(axis=0))
        ).score
        for _ in range(1000)
    ]
    assert found.se == pytest.approx(np.std(drawn), rel=0.15)
    assert found.ci == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=found.se)


def test_what_is_named_wrong_is_refused() -> None:
    with pytest.raises(MetricError, match=r'pip install "sacrebleu\[ko\]"'):
        evalkit.score("bleu:tokenize=ko-mecab", ["a"], ["a"])
    with pytest.raises(evalkit.EvalkitError, match="must be '13a', 'intl'"):
        evalkit.score("bleu:tokenize=flores200", ["a"], ["a"])
