from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalkit
from evalkit_metrics_example.label_shift import get_label_shift

LABELS = "abcd"
SUBSETS = [
    set(subset)
    for subset in chain.from_iterable(combinations(LABELS, n) for n in range(5))
]


@given(
    st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1)
)
def test_it_is_the_largest_difference_of_any_set_of_labels(
    pairs: list[tuple[str, str]],
) -> None:
    predictions, targets = map(list, zip(*pairs, strict=True))
    expected = max(
        sum(label in subset for label in predictions)
        - sum(label in subset for label in targets)
        for subset in SUBSETS
    ) / len(pairs)
    assert get_label_shift(predictions, targets) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("predictions", "targets", "expected"),
    [
        (["a", "b"], ["b", "a"], 0.0),
        (["a", "a"], ["b", "b"], 1.0),
        (["a", "a", "a", "a"], ["a", "a", "b", "c"], 0.5),
    ],
    ids=["wrong everywhere, no shift", "nothing in common", "half"],
)
def test_landmarks(predictions: list[str], targets: list[str], expected: float) -> None:
    assert get_label_shift(predictions, targets) == expected


def test_evalkit_knows_what_the_number_means() -> None:
    score = evalkit.score(get_label_shift, ["a", "a", "b"], ["a", "b", "b"])[
        "label-shift"
    ]
    assert score.value == pytest.approx(1 / 3, abs=1e-12)
    assert (score.unit, score.scale, score.higher_is_better) == ("%", 100, False)
