from __future__ import annotations

import pytest

from evalkit.perturbation_names import camel_case, row_suffix, split_composition


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("lowercase", ["lowercase"]),
        ("lowercase+gender-swap", ["lowercase", "gender-swap"]),
        ("typos:prob=0.3+lowercase@dist:x=1", ["typos:prob=0.3", "lowercase@dist:x=1"]),
        ("suffix:suffix= +1 or so", ["suffix:suffix= +1 or so"]),
        ("suffix:suffix=C++", ["suffix:suffix=C++"]),
    ],
)
def test_compositions_are_split(name: str, steps: list[str]) -> None:
    assert split_composition(name) == steps


def test_names_in_uids() -> None:
    assert camel_case("gender-swap") == "GenderSwap"
    assert row_suffix(["gender-swap"], {}) == "GenderSwap"
    assert row_suffix(["lowercase", "gender-swap"], {}) == "Lowercase+GenderSwap"
    first, second = (row_suffix(["typos"], {"seed": seed}) for seed in (1, 2))
    assert first != second
    name, _, digits = first.partition("-")
    assert name == "Typos"
    assert len(digits) == 8
    assert set(digits) <= set("0123456789abcdef")
