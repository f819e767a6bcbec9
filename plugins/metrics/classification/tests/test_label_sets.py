"""Scores of sets of labels, against scikit-learn's of their indicator matrices."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, hamming_loss
from sklearn.preprocessing import MultiLabelBinarizer

import evalkit

LABELS = ["a", "b", "ü", "never"]
GOLD = LABELS[:3]
NAMES = ["exact-set-match", "hamming", "multilabel-f1"]
F1_SCORES = ("micro", "macro", "samples")

Row = tuple[list[str], list[str], list[str]]
"""Prediction, answer and tags."""

rows_of_sets = st.lists(
    st.tuples(
        st.lists(st.sampled_from(LABELS), max_size=4),
        st.lists(st.sampled_from(GOLD), max_size=3),
        st.lists(st.sampled_from(["t", "u:v"]), unique=True),
    ),
    min_size=1,
    max_size=20,
)


def values(
    name: str, rows: Sequence[Row], labels: list[str] | None = LABELS
) -> dict[tuple[str | None, str], float | None]:
    """Return the value of each score by tag and name of the score."""
    said, gold, tags = (list(column) for column in zip(*rows, strict=True))
    result = evalkit.score(
        name, said, gold, tags=tags, labels=labels, answer_kind="all-of"
    )
    return {
        (score.tag, score.metric.partition("#")[2]): score.value
        for score in result.scores
    }


def by_tag(rows: Sequence[Row]) -> dict[str | None, list[Row]]:
    tags = {tag for *_, of in rows for tag in of}
    return {None: list(rows)} | {tag: [r for r in rows if tag in r[2]] for tag in tags}


def matrices(rows: Sequence[Row], labels: Sequence[str]) -> tuple[Any, Any]:
    """Return which labels the answers and the predictions have."""
    binarizer = MultiLabelBinarizer(classes=list(labels))
    binarizer.fit([list(labels)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of labels that are not listed
        gold, said = (
            binarizer.transform([row[place] for row in rows]) for place in (1, 0)
        )
    return gold, said


def mean_f1(gold: Any, said: Any) -> float:
    """Return scikit-learn's mean of F1 over labels."""
    each = [
        f1_score(*columns, zero_division=0)
        for columns in zip(gold.T, said.T, strict=True)
    ]
    return float(np.mean(each))


@settings(max_examples=20, deadline=None)
@given(rows=rows_of_sets)
@pytest.mark.slow
def test_hamming_and_exact_match_equal_scikit_learn(rows: list[Row]) -> None:
    match, loss = values("exact-set-match", rows), values("hamming", rows)
    for tag, part in by_tag(rows).items():
        gold, said = matrices(part, LABELS)
        assert match[tag, ""] == pytest.approx(accuracy_score(gold, said), abs=1e-12)
        assert loss[tag, ""] == pytest.approx(hamming_loss(gold, said), abs=1e-12)


@settings(max_examples=12, deadline=None)
@given(rows=rows_of_sets, choice=st.sampled_from(["gold", "seen", "declared", "b/a"]))
@pytest.mark.slow
def test_f1_equals_scikit_learn(rows: list[Row], choice: str) -> None:
    name = "multilabel-f1" + (f":labels={choice}" if choice != "gold" else "")
    found = values(name, rows)
    for tag, part in by_tag(rows).items():
        answers = {label for _, target, _ in part for label in target}
        seen = answers | {label for said, *_ in part for label in said}
        macro_over = {
            **{"gold": sorted(answers), "seen": sorted(seen)},
            **{"declared": LABELS, "b/a": ["b", "a"]},
        }[choice]
        every = macro_over if choice == "b/a" else LABELS
        gold, said = matrices(part, every)
        if seen & {*every}:
            micro = f1_score(gold, said, average="micro", zero_division=0)
            assert found[tag, "micro"] == pytest.approx(micro, abs=1e-12)
        else:
            assert found[tag, "micro"] is None
        samples = f1_score(gold, said, average="samples", zero_division=1)
        assert found[tag, "samples"] == pytest.approx(samples, abs=1e-12)
        if macro_over:
            macro = mean_f1(*matrices(part, macro_over))
            assert found[tag, "macro"] == pytest.approx(macro, abs=1e-12)
        else:
            assert found[tag, "macro"] is None


def test_nothing_against_nothing_is_right() -> None:
    rows: list[Row] = [([], [], [])]
    assert values("exact-set-match", rows) == {(None, ""): 1.0}
    assert values("hamming", rows) == {(None, ""): 0.0}
    found = values("multilabel-f1", rows)
    assert [found[None, name] for name in F1_SCORES] == [None, None, 1.0]


def test_a_predicted_label_that_is_not_declared_counts_as_wrong() -> None:
    result = evalkit.score(
        *("hamming", [["a", "x"], ["x", "y", "z"]], [["a"], ["a", "b"]]),
        labels=["a", "b"],
        answer_kind="all-of",
    )
    # 1 of 2, and 5 wrong of 2, which count as all
    assert result["hamming"].value == 0.75
    assert result["hamming"].flag == "labels not declared: 4; fewer than 10 examples"
    found = values("multilabel-f1", [(["a", "x"], ["a"], [])], ["a"])
    assert found[None, "micro"] == pytest.approx(2 / 3)
    assert found[None, "macro"] == 1.0
    assert values("exact-set-match", [(["a", "x"], ["a"], [])], ["a"])[None, ""] == 0


def test_hamming_needs_declared_labels_and_f1_only_if_asked() -> None:
    rows: list[Row] = [(["a"], ["a"], [])]
    with pytest.raises(evalkit.MetricError, match="declares no labels"):
        values("hamming", rows, None)
    assert values("multilabel-f1", rows, None)[None, "macro"] == 1.0
    found = values("multilabel-f1:labels=declared", rows, None)
    assert [found[None, name] for name in F1_SCORES] == [1.0, None, 1.0]


def test_a_listed_label_must_be_declared() -> None:
    with pytest.raises(evalkit.MetricError, match="'x' is none of the declared"):
        values("multilabel-f1:labels=x", [(["a"], ["a"], [])])


class Topic(evalkit.TaskIO):
    """Which topics a text has."""

    from pydantic import BaseModel

    class Input(BaseModel):
        uid: str
        text: str

    class Output(BaseModel):
        id: str
        topics: list[str]

    labels = ("a", "b")
    answer_field = "topics"
    answer_kind = "all-of"
    perf_metric = "exact-set-match"
    example = {"uid": "1", "text": "Tax."}


class Texts(evalkit.Dataset):
    """Two texts."""

    name, task = "texts", Topic

    def load(self, split: str) -> list[dict[str, Any]]:
        """Return them."""
        return [
            {"uid": "1", "text": "Tax.", "topics": ["a", "b"]},
            {"uid": "2", "text": "Rain.", "topics": []},
        ]


@pytest.mark.parametrize(
    ("score", "value"),
    [
        *(("exact-set-match", 0.5), ("hamming", 0.5)),
        *(("multilabel-f1#micro", 0.8), ("multilabel-f1#samples", 0.5)),
    ],
)
def test_a_missing_prediction_is_wrong_even_where_nothing_is_right(
    score: str, value: float
) -> None:
    responses = [{"id": "1", "topics": ["a", "b"]}]
    name = score.partition("#")[0]
    result = evalkit.evaluate(Texts, responses, metrics=[name], on_missing="wrong")
    # nothing predicted for a text without labels would have been right
    expected = 1.0 if score == "multilabel-f1#micro" else value
    assert result[score].value == pytest.approx(expected)
    assert result[score].n == 2


def test_they_have_intervals() -> None:
    random = np.random.default_rng(1)
    gold = [[label for label in GOLD if random.random() < 0.4] for _ in range(80)]
    said = [
        [label for label in GOLD if (label in g) != (random.random() < 0.2)]
        for g in gold
    ]
    for name in NAMES:
        result = evalkit.score(name, said, gold, labels=GOLD, answer_kind="all-of")
        for score in result.scores:
            assert score.ci is not None
            assert score.value is not None
            assert score.ci.low < score.value < score.ci.high
