"""HELM's metrics, against the library that it calls and by their definition."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.metrics.scores import f_measure
from nltk.translate.bleu_score import sentence_bleu
from row_groups import rows_by_group

import evalkit
from evalkit_metrics_compat.helm_text import words_of

texts = st.text(st.sampled_from("abcthe .,1-é\n"), max_size=12)
rows = st.lists(
    st.tuples(texts, texts, st.lists(st.sampled_from("xy"), max_size=2)),
    min_size=1,
    max_size=8,
)
some = settings(max_examples=15, deadline=None)


def check_means(
    metric: str, drawn: list[Any], expected: Callable[[str, str], float], part: str = ""
) -> None:
    """Compare a metric with the mean of a score of examples, for every group."""
    said, right, tags = (list(column) for column in zip(*drawn, strict=True))
    result = evalkit.score(metric, said, right, tags=tags)
    groups = rows_by_group(drawn)
    found = [each for each in result.scores if each.metric == f"{metric}{part}"]
    assert {each.tag for each in found} == set(groups)
    for each in found:
        values = [expected(*pair) for pair in groups[each.tag]]
        assert each.n == len(values)
        assert each.value == pytest.approx(sum(values) / len(values), abs=1e-12)


def f1_of_nltk(said: str, right: str) -> float:
    return f_measure(set(words_of(right)), set(words_of(said))) or 0.0


def bleu_of_nltk(length: int) -> Callable[[str, str], float]:
    weights = tuple(float(each == length) for each in range(1, length + 1))

    def bleu(said: str, right: str) -> float:
        if not said.split():
            return 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of texts without a common n-gram
            return float(sentence_bleu([right.split()], said.split(), weights))

    return bleu


@some
@given(drawn=rows)
def test_f1_is_that_of_nltk_for_the_set_and_every_tag(drawn: list[Any]) -> None:
    check_means("helm-f1", drawn, f1_of_nltk)


@pytest.mark.parametrize("length", [1, 4])
@some
@given(drawn=rows)
def test_bleu_is_that_of_nltk(length: int, drawn: list[Any]) -> None:
    name = f"helm-bleu-{length}:tokenize=blanks"
    check_means(name, drawn, bleu_of_nltk(length))


@some
@given(drawn=rows)
def test_exact_match_is_equality_but_for_outer_blanks(drawn: list[Any]) -> None:
    check_means(
        "helm-exact-match",
        drawn,
        lambda said, right: float(said != "" and said.strip() == right.strip()),
    )


def set_of(text: str) -> set[str]:
    if text == "Nothing.":
        return set()
    return set("".join(text.split(".")).rsplit(" is ", 1)[-1].split(" and "))


PHRASES = ["Nothing.", "It is red and tall.", "It is red.", "red", "tall and red", ""]
phrases = st.sampled_from([*PHRASES, "red\nIt is tall.", "Red", "tall and  red"])


@some
@given(drawn=st.lists(st.tuples(phrases, phrases, st.just([])), min_size=1))
@pytest.mark.slow
def test_sets_are_compared_in_three_ways(drawn: list[Any]) -> None:
    def compared(name: str) -> Callable[[str, str], float]:
        def compare(said: str, right: str) -> float:
            mine, gold = set_of(said.split("\n")[0]), set_of(right)
            if not gold:
                return float(not mine)
            shared = mine & gold
            return {
                "exact": float(mine == gold),
                "iou": len(shared) / len(mine | gold),
                "f1": 2 * len(shared) / (len(mine) + len(gold)),
            }[name]

        return compare

    for name in ("exact", "iou", "f1"):
        check_means("helm-set-match", drawn, compared(name), f"#{name}")


def one(metric: str, said: Any, right: Any) -> float | None:
    return evalkit.score(metric, [said], [right]).scores[0].value


def test_the_best_of_several_answers_counts() -> None:
    assert one("helm-f1", "a red cat", ["dog", "cat"]) == pytest.approx(2 / 3)
    assert one("helm-exact-match", "b ", ["a", "b"]) == 1.0
    assert one("helm-bleu-1", "a b", ["c", "a b"]) == 1.0
    assert one("helm-absolute-value-difference", "5", ["1", "4"]) == 1.0


def test_an_empty_list_of_answers_is_the_empty_answer() -> None:
    found = evalkit.score("helm-f1", ["", "b"], [[], ["b"]])["helm-f1"]
    assert found.value == 0.5


def test_words_are_split_as_sentences_end() -> None:
    name = "helm-bleu-1"
    assert one(name, "It is. So", "It is . So") == 1.0
    assert one(name, "don't", "do n't") == 1.0
    assert evalkit.score(name, ["a"], ["a"]).status == "complete"


def test_what_is_no_number_counts_as_right_and_is_flagged() -> None:
    name = "helm-absolute-value-difference"
    found = evalkit.score(name, ["1,003", "x", "2.5"], ["1000", "1", "2"])[name]
    assert (found.value, found.n) == (1.0, 3)
    assert found.flag == (
        "2 examples have no whole number and count 0; fewer than 10 examples"
    )
    numbers = evalkit.score(name, [3, 8], [1, 8])[name]
    assert (numbers.value, numbers.flag) == (1.0, "fewer than 10 examples")


def test_a_missing_prediction_has_the_declared_worst_value() -> None:
    for name in ("helm-f1", "helm-exact-match", "helm-bleu-4"):
        assert (
            evalkit.score(name, [None, "a b c d"], ["a", "a b c d"])[name].value == 0.5
        )
    name = "helm-absolute-value-difference"
    lacking = evalkit.score(name, [None, "1"], ["1", "1"])[name]
    assert lacking.value is None
    assert lacking.reason
    assert "declares no worst value" in lacking.reason


def test_an_indicator_at_the_end_is_wrong() -> None:
    name = "helm-exact-match-indicator"
    assert one(name, "it is 5", "5") == 1.0
    assert one(name, "5 ", "5") == 0.0
    assert one(f"{name}:indicator=A:", "x A: 5", "A: 5") == 1.0
    with pytest.raises(evalkit.PluginContractError, match="indicator"):
        one(f"{name}:indicator=", "a", "a")
