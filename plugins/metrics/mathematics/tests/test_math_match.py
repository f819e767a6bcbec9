import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from math_verify import parse, verify

import evalkit

fractions = st.tuples(st.integers(-12, 12), st.integers(1, 8)).map(
    lambda p: Fraction(*p)
)
latex_pieces = st.sampled_from(
    [
        *(r"\frac{1}{2}", "0.5", r"50\%", r"\sqrt{2}", r"2^{\frac12}", "x+1", "1+x"),
        *("x=5", "5", "-1", r"\pi"),
    ]
)
wholes = st.one_of(
    latex_pieces,
    st.lists(latex_pieces, min_size=2, max_size=3).map(", ".join),
    st.lists(latex_pieces, max_size=3).map(lambda s: rf"\{{{', '.join(s)}\}}"),
    st.tuples(st.sampled_from("[("), st.sampled_from("])")).map(
        lambda ends: f"{ends[0]}1, 2{ends[1]}"
    ),
    st.tuples(st.sampled_from(["p", "b"]), latex_pieces).map(
        lambda m: rf"\begin{{{m[0]}matrix}}1 & {m[1]}\end{{{m[0]}matrix}}"
    ),
)


def score(name: str, rows: list[tuple[Any, Any]]) -> Any:
    predictions, answers = (list(column) for column in zip(*rows, strict=True))
    [found] = evalkit.score(name, predictions, answers).scores
    return found


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(pairs=st.lists(st.tuples(wholes, wholes), min_size=1, max_size=5))
def test_it_is_math_verify_of_latex(pairs: list[tuple[str, str]]) -> None:
    expected = [verify(parse(f"${gold}$"), parse(f"${said}$")) for said, gold in pairs]
    assert score("math-match", pairs).value == pytest.approx(sum(expected) / len(pairs))


@settings(max_examples=10, deadline=None)
@given(
    pairs=st.lists(st.tuples(fractions, fractions), min_size=1, max_size=5),
    shape=st.sampled_from(
        ["{0}/{1}", r"\frac{{{0}}}{{{1}}}", r"So \boxed{{{0}/{1}}}.", "x = {0}/{1}"]
    ),
)
def test_numbers_are_equal_by_value_in_any_notation(
    pairs: list[tuple[Fraction, Fraction]], shape: str
) -> None:
    rows = [
        (shape.format(said.numerator, said.denominator), rf"{float(gold):.10f}")
        for said, gold in pairs
    ]
    expected = sum(said == gold for said, gold in pairs) / len(pairs)
    assert score("math-match", rows).value == pytest.approx(expected)


@pytest.mark.known_result
def test_the_equal_cases_are_equal(cases: Path) -> None:
    data, said = (
        [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for path in sorted(cases.glob("equal-mathematics-*.jsonl"))
    )
    rows = [(r["answer"], d["answer"]) for r, d in zip(said, data, strict=True)]
    assert [row for row in rows if score("math-match", [row]).value != 1] == []


@pytest.mark.parametrize(
    ("prediction", "answer", "expected"),
    [
        ("3 1/2", r"\frac72", 1),
        ("3½", "3.5", 1),
        ("1.5e-3", "0.0015", 1),
        ("2**10", "1024", 1),
        ("sin(x)", r"\sin x", 1),
        ("€5", "5", 1),
        (r"\boxed{\$12}", "12", 1),
        (r"\sqrt{2} meters", r"\sqrt2", 1),
        ("no solution.", r"\text{No solution}", 1),
        ("yes", "sey", 0),  # words are no products of letters
        ("1,2,3", "1.2", 0),
        ("(1, 2]", "[1, 2]", 0),
        (r"\boxed{5}? no: \boxed{4}", "5", 0),
        ("7", ["8", "7.0"], 1),
        ("7", 7, 1),
        ("The car!", ["The car!", "a"], 1),
        (None, "7", 0),
        ("", "7", 0),
        ("7", "", None),
    ],
)
def test_single_cases(prediction: Any, answer: Any, expected: float | None) -> None:
    assert score("math-match", [(prediction, answer)]).value == expected


@pytest.mark.slow
def test_a_comparison_without_end_is_wrong_and_flagged() -> None:
    found = score("math-match", [("9^{9^{9^{9}}}", "1"), ("1", "1")])
    assert found.value == 0.5
    assert found.flag == (
        "comparisons that failed or took longer than 5 seconds, counted as wrong: 1"
    )
