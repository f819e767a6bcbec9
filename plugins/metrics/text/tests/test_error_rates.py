import unicodedata
from collections.abc import Sequence
from typing import Any, ClassVar

import jiwer
import numpy as np
import pytest
from hypothesis import given
from row_groups import rows_by_group
from scipy import stats

import evalkit
from evalkit import Score
from evalkit_metrics_text.comparison import TokenF1
from evalkit_metrics_text.error_rate import WordErrorRate

from .drawn_rows import Row, rows_of, texts, value

NAMES = ["wer", "cer"]


def expected_rate(name: str, prediction: str, answer: str) -> tuple[int, int]:
    """Return edits and length as jiwer counts them."""
    given, wanted = prediction.strip(), answer.strip()
    if not wanted:
        words = jiwer.wer_default(given)[0] if given else []
        return len(words) if name == "wer" else len(given), 0
    process = jiwer.process_words if name == "wer" else jiwer.process_characters
    found = process(wanted, given)
    edits = found.substitutions + found.deletions + found.insertions
    return edits, found.hits + found.substitutions + found.deletions


def closest(name: str, prediction: str | None, answers: list[str]) -> tuple[int, int]:
    if prediction is None:
        lengths = [expected_rate(name, "", answer)[1] for answer in answers]
        return max(lengths), max(lengths)
    found = [expected_rate(name, prediction, answer) for answer in answers]
    return min(found, key=lambda f: (f[0] / f[1] if f[1] else 1e9 * f[0], f[0]))


@pytest.mark.parametrize("name", NAMES)
@given(rows=rows_of(texts))
@pytest.mark.slow
def test_it_is_jiwers_edits_over_the_closest_answers_lengths(
    name: str, rows: list[Row]
) -> None:
    predictions, targets, given = (list(column) for column in zip(*rows, strict=True))
    result = evalkit.score(name, predictions, targets, tags=given)
    groups = rows_by_group(rows)
    for found in result.scores:
        counted = [closest(name, p, t) for p, t in groups[found.tag]]
        edits, length = (sum(column) for column in zip(*counted, strict=True))
        if not length:
            parts = {"wer": "words", "cer": "characters"}[name]
            assert (found.value, found.reason) == (None, f"the answers hold no {parts}")
        else:
            assert found.value == pytest.approx(edits / length, abs=1e-12)
        assert found.n == len(counted)


@pytest.mark.parametrize(
    ("name", "prediction", "target", "expected"),
    [
        ("wer", "the cat", "a cat", 0.5),
        ("wer", "a b c d", "x", 4.0),
        ("wer", "", "a b", 1.0),
        ("wer", None, "a b", 1.0),
        ("wer", "", "", None),
        ("wer", "a", "", None),
        ("wer", None, "", None),
        ("wer", "a b", ["x y", "a c d"], 2 / 3),
        ("wer", "Cat", "cat", 1.0),
        ("wer:lowercase=true", "Cat", "cat", 0.0),
        ("wer:punctuation=false", "«cat».", "cat", 0.0),
        ("wer", "cat.", "cat", 1.0),
        ("wer", "a\u00a0b", "a b", 1.0),
        ("wer", "a\u00a0 b", "a b", 0.0),
        ("cer", "ab c", "abc", 1 / 3),
        ("cer", " abc\n", "abc", 0.0),
        ("cer", "🙂", "🙃🙃", 1.0),
        ("cer", "\u00e9", "e\u0301", 1.0),
        ("cer:lowercase=true", "ABC", "abc", 0.0),
        ("wer", 3, 3.0, 0.0),
    ],
)
def test_single_cases(
    name: str, prediction: Any, target: Any, expected: float | None
) -> None:
    found = value(name, prediction, target)
    assert found == (None if expected is None else pytest.approx(expected))


def test_a_missing_prediction_has_all_words_of_the_longest_answer_deleted() -> None:
    found = evalkit.score("wer", ["a b", None], [["a b"], ["", "c d e"]])["wer"]
    assert (found.value, found.n) == (3 / 5, 2)


def test_punctuation_is_what_unicode_calls_so() -> None:
    marks = "".join(
        chr(code)
        for code in range(0x3000)
        if unicodedata.category(chr(code)).startswith("P")
    )
    assert value("wer:punctuation=false", f"a {marks} b", "a b") == 0.0
    assert value("wer:punctuation=false", "a$b", "ab") == 1.0


def delta_interval(pairs: Sequence[tuple[int, int]]) -> tuple[float, float]:
    edits, lengths = (np.array(column) for column in zip(*pairs, strict=True))
    rate = edits.sum() / lengths.sum()
    influences = (edits - rate * lengths) / lengths.mean()
    half = stats.t.isf(0.025, len(pairs) - 1) * stats.sem(influences)
    return rate * np.exp(-half / rate), rate * np.exp(half / rate)


def test_the_interval_is_that_of_a_ratio() -> None:
    random = np.random.default_rng(3)
    words = ["red", "blue", "car", "sky", "a"]
    wanted = [random.choice(words, random.integers(1, 9)).tolist() for _ in range(60)]
    said = [[w for w in each if random.random() < 0.8] for each in wanted]
    texts = [[" ".join(each) for each in part] for part in (said, wanted)]
    found: Score = evalkit.score("wer", *texts)["wer"]
    pairs = [expected_rate("wer", *pair) for pair in zip(*texts, strict=True)]
    assert found.ci == pytest.approx(delta_interval(pairs), rel=1e-6)
    assert found.ci_method == "delta-log"


@pytest.mark.parametrize(
    ("languages", "expected"), [(("zh-CN", "ja"), 0.2), ((), 1.0), (("en", "zh"), 1.0)]
)
def test_the_dataset_language_says_what_words_are(
    languages: tuple[str, ...], expected: float
) -> None:
    spoken = languages

    class Weather(evalkit.Dataset):
        name = "weather"
        task = "math-qa"
        languages = spoken

        def load(self, split: str) -> list[dict[str, str]]:
            return [
                {"uid": "1", "question": "?", "answer": "今天天气很好我们去公园"},
                {"uid": "2", "question": "?", "answer": "他是学生"},
            ]

    said = [
        {"id": "1", "answer": "今天天气很好我们去学校"},
        {"id": "2", "answer": "她是学生"},
    ]
    names = ["wer", "wer:tokens=words", "wer:tokens=characters", "token-f1"]
    found = evalkit.evaluate(Weather, said, metrics=names)
    assert found["wer"].value == expected
    for name in ("wer", "token-f1"):
        is_warned = "no blanks between words" in (found[name].flag or "")
        assert is_warned is (expected == 1)
    assert found["wer:tokens=words"].value == 1
    assert found["wer:tokens=characters"].value == 0.2
    assert (found["token-f1"].value == 0) is (expected == 1)
    options = evalkit.EvaluationOptions(metrics=names)
    plan = evalkit.plan_partitions(Weather, options)
    parts = evalkit.partition_tallies(plan, Weather().load("all"), said)
    assert evalkit.finalize(plan, parts).scores == found.scores


@pytest.mark.parametrize("metric", [TokenF1, WordErrorRate])
def test_an_object_takes_words_from_each_dataset_anew(metric: Any) -> None:
    class Chinese(evalkit.Dataset):
        task = "math-qa"
        languages: ClassVar[Sequence[str]] = ("zh",)

        def load(self, split: str) -> list[dict[str, str]]:
            return [{"uid": "1", "question": "?", "answer": "two cats"}]

    class English(Chinese):
        languages = ("en",)

    used, said = metric(), [{"id": "1", "answer": "two bats"}]
    values = [
        evalkit.evaluate(each, said, metrics=[used]).scores[0].value
        for each in (English, Chinese, English)
    ]
    assert values[0] == values[2] == 0.5 != values[1]
