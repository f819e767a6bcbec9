"""SEA-HELM's metrics, against scikit-learn and by their definition."""

import string
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_groups import rows_by_group
from sklearn.metrics import f1_score

import evalkit

LABELS = ["Yes", "no", "Not sure"]
SAID = {"Yes": "Yes", " yes.": "Yes", "NO": "no", "not  sure": "Not sure", "?": "null"}
rows = st.lists(
    st.tuples(
        st.sampled_from([*SAID, None]),
        st.sampled_from(LABELS),
        st.lists(st.sampled_from("xy"), max_size=2),
    ),
    min_size=1,
    max_size=12,
)
some = settings(max_examples=12, deadline=None)


def expected(name: str, pairs: list[tuple[str, str]]) -> float:
    said, gold = zip(*pairs, strict=True)
    options: dict[str, Any] = {"average": "macro", "zero_division": 0}
    if name == "seahelm-macro-f1":
        return float(f1_score(gold, said, **options))
    of_gold = f1_score(gold, said, labels=sorted(set(gold)), **options)
    return float(of_gold * (1 - said.count("null") / len(said)))


@pytest.mark.parametrize("name", ["seahelm-macro-f1", "seahelm-null-weighted-f1"])
@some
@given(drawn=rows)
def test_it_is_what_scikit_learn_makes_of_null_as_a_label(
    name: str, drawn: list[Any]
) -> None:
    said, gold, tags = (list(column) for column in zip(*drawn, strict=True))
    result = evalkit.score(name, said, gold, labels=LABELS, tags=tags)
    groups = rows_by_group(drawn)
    assert {each.tag for each in result.scores} == set(groups)
    for each in result.scores:
        pairs = [(SAID.get(said, "null"), gold) for said, gold in groups[each.tag]]
        wanted = expected(name, pairs)
        assert each.value == pytest.approx(wanted, abs=1e-12)


def one(name: str, said: list[Any], gold: list[Any], **options: Any) -> evalkit.Score:
    return evalkit.score(name, said, gold, **options)[name]


def test_a_form_of_two_labels_names_none_but_a_label_names_itself() -> None:
    labels, name = ["A", "a", "b"], "seahelm-null-weighted-f1"
    assert one(name, ["a"], ["a"], labels=labels).value == 1.0
    assert one(name, ["a."], ["a"], labels=labels).value == 0.0


def test_without_declared_labels_every_text_is_one() -> None:
    found = one("seahelm-macro-f1", ["Yes.", "perhaps", None], ["yes", "no", "no"])
    assert found.value == pytest.approx(1 / 4)  # yes, no, perhaps and none


def test_no_examples_and_several_answers_have_no_score() -> None:
    name = "seahelm-macro-f1"
    assert one(name, [], []).reason == "no example was scored"
    several = one(name, ["a", "b"], [["a", "b"], "b"])
    assert str(several.reason).startswith("examples have several acceptable answers;")


def test_the_interval_is_that_of_counts_of_labels() -> None:
    random = np.random.default_rng(1)
    gold = random.choice(LABELS, 150)
    said = np.where(random.random(150) < 0.7, gold, "?")
    found = one("seahelm-macro-f1", said.tolist(), gold.tolist(), labels=LABELS)
    assert found.ci_method == "multinomial"
    assert found.ci is not None
    assert found.value is not None
    assert found.ci[0] < found.value < found.ci[1]


words = st.sampled_from(["a cat", "The cat!", "cat", "", "...", "cats and a cat", "a"])


def words_of(text: str) -> list[str]:
    return "".join(c for c in text.lower() if c not in string.punctuation).split()


@some
@given(pairs=st.lists(st.tuples(words, words), min_size=1))
def test_answers_are_compared_by_their_words(pairs: list[tuple[str, str]]) -> None:
    said, gold = (list(column) for column in zip(*pairs, strict=True))
    result = evalkit.score("seahelm-qa", said, gold)
    f1, exact, found = [], [], []
    for prediction, target in pairs:
        mine, right = words_of(prediction), words_of(target)
        shared = sum((Counter(mine) & Counter(right)).values())
        sizes = len(mine) + len(right)
        f1.append(2 * shared / sizes if sizes else 1.0)
        exact.append(mine == right)
        found.append(" ".join(right) in " ".join(mine))
    for part, values in (("", f1), ("#exact-match", exact), ("#found", found)):
        wanted = sum(values) / len(values)
        assert result[f"seahelm-qa{part}"].value == pytest.approx(wanted, abs=1e-12)


def test_the_best_answer_counts_for_each_score() -> None:
    result = evalkit.score("seahelm-qa", ["in the city"], [["the city hall", "city"]])
    assert result["seahelm-qa"].value == pytest.approx(2 / 3)
    assert result["seahelm-qa#found"].value == 1.0
    assert evalkit.score("seahelm-qa", [None], ["a"])["seahelm-qa"].value == 0.0
