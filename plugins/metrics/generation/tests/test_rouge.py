"""ROUGE against rouge-score."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

import evalkit
from evalkit_metrics_generation.rouge import Rouge
from evalkit_metrics_generation.words import WORDS

NAMES = {"1": "rouge1", "2": "rouge2", "L": "rougeL", "Lsum": "rougeLsum"}
MEASURES = {"f": "fmeasure", "precision": "precision", "recall": "recall"}

words = st.sampled_from(
    [
        *("the", "cat", "cats", "running", "runs", "Mat", "it's", "3.5", "a-b", "_"),
        *("\n", "\n\n", "!", "é", "straße", "a\u0301"),
    ]
)
texts = st.lists(words, max_size=9).map(" ".join)
readable = texts.map(lambda text: f"{text} sat" if text.strip() else text)


def scores(name: str, predictions: Any, targets: Any) -> dict[str, float | None]:
    result = evalkit.score(name, predictions, targets)
    return {part: result[f"{name}#{part}"].value for part in NAMES}


def full_name(measure: str, stems: bool) -> str:
    given = {"measure": measure, "stemmer": "true" if stems else "false"}
    default = {"measure": "f", "stemmer": "false"}
    chosen = [f"{k}={v}" for k, v in given.items() if v != default[k]]
    return "rouge" + (":" + ",".join(chosen) if chosen else "")


@pytest.mark.parametrize("stems", [False, True])
@pytest.mark.parametrize("measure", MEASURES)
@given(
    rows=st.lists(
        st.tuples(texts, st.lists(readable, min_size=1, max_size=3)),
        min_size=1,
        max_size=5,
    )
)
@pytest.mark.slow
def test_it_is_rouge_scores_mean(
    measure: str, stems: bool, rows: list[tuple[str, list[str]]]
) -> None:
    scorer = RougeScorer(list(NAMES.values()), use_stemmer=stems)
    expected = [scorer.score_multi(right, said) for said, right in rows]
    said, right = (list(column) for column in zip(*rows, strict=True))
    found = scores(full_name(measure, stems), said, right)
    for name, known in NAMES.items():
        values = [getattr(each[known], MEASURES[measure]) for each in expected]
        assert found[name] == pytest.approx(np.mean(values), abs=1e-12), name


@pytest.mark.parametrize(
    ("prediction", "references", "one", "two", "lcs", "lsum"),
    [
        ("the cat sat", "the cat sat", 1, 1, 1, 1),
        # one word has no pair, also where it is right, as in rouge-score
        ("cat", "cat", 1, 0, 1, 1),
        ("cat sat the", "the cat sat", 1, 0.5, 2 / 3, 2 / 3),
        # lines are compared with lines
        ("b b\na a", "a a\nb b", 1, 2 / 3, 0.5, 1),
        ("", "the cat", 0, 0, 0, 0),
        ("the cat", "", 0, 0, 0, 0),
        ("", "", 0, 0, 0, 0),
        ("!", "  ", 0, 0, 0, 0),
        (None, "the cat", 0, 0, 0, 0),
        ("the cat", ["a dog", "the cat"], 1, 1, 1, 1),
        # each score takes its own best reference
        ("a b c d", ["d c b a", "a b x y"], 1, 1 / 3, 0.5, 0.5),
        (12, "12", 1, 0, 1, 1),
        (12, 12, 1, 0, 1, 1),
    ],
)
def test_single_cases(
    prediction: Any, references: Any, one: float, two: float, lcs: float, lsum: float
) -> None:
    found = scores("rouge", [prediction], [references])
    expected = {"1": one, "2": two, "L": lcs, "Lsum": lsum}
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "better"),
    [("猫が座った", "characters"), ("第3只猫", "characters"), ("кошка", "unicode")],
)
def test_a_reference_of_another_script_is_not_scored_as_0(
    text: str, better: str
) -> None:
    said = right = ["the cat"] * 19 + [text]
    result = evalkit.score("rouge", said, right)
    assert (result.status, result["rouge#1"].n) == ("partial", 19)
    assert result["rouge#1"].value == 1
    assert f"see words={better}" in (result.problems[0].reason or "")
    assert evalkit.score(f"rouge:words={better}", said, right).status == "complete"


def test_an_example_without_references_is_not_scored() -> None:
    result = evalkit.score("rouge", ["a"] * 20, [["a"]] * 19 + [[]])
    assert (result.status, result["rouge#L"].n) == ("partial", 19)
    assert result.problems[0].reason == "it has no reference"


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("unicode", "Straße, l'été 3.5!", ["straße", "l", "été", "3", "5"]),
        # vowels and tone marks stay with their letters
        ("unicode", "नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("unicode", "cafe\u0301 _x_", ["cafe\u0301", "x"]),
        ("characters", "猫が 3", ["猫", "が", "3"]),
        ("characters", "e\u0301a \u0301", ["e\u0301", "a\u0301"]),
        ("ascii", "Straße x1", ["stra", "e", "x1"]),
        ("unicode", " ... ", []),
    ],
)
def test_words_are_cut(kind: Any, text: str, expected: list[str]) -> None:
    cutter = WORDS[kind](False)
    assert cutter.tokenize(text) == expected
    assert cutter.has_word(text) == bool(expected)


def test_unicode_words_are_stemmed_as_ascii_ones_are() -> None:
    text = "running runs easily the cats"
    assert WORDS["unicode"](True).tokenize(text) == WORDS["ascii"](True).tokenize(text)


def test_an_object_takes_words_from_each_dataset_anew() -> None:
    class Chinese(evalkit.Dataset):
        task = "text-generation"
        languages: ClassVar[Sequence[str]] = ("zh",)

        def load(self, split: str) -> list[dict[str, str]]:
            return [{"uid": "1", "text": "two cats"}]

    class English(Chinese):
        languages = ("en",)

    used, said = Rouge(), [{"id": "1", "text": "two bats"}]
    values = [
        evalkit.evaluate(each, said, metrics=[used])["rouge#1"].value
        for each in (English, Chinese, English)
    ]
    assert values[0] == values[2] == 0.5 != values[1]
