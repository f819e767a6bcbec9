"""The page has every law, as it is checked."""

from pathlib import Path

import pytest

import evalkit_testing

PAGE = Path(__file__).parents[4] / "docs" / "testing.md"
LAWS = [name for name in evalkit_testing.__all__ if name.endswith("LAWS")]


@pytest.mark.parametrize("name", LAWS)
def test_the_page_has_each_law(name: str) -> None:
    rows = PAGE.read_text(encoding="utf-8").splitlines()
    for law in getattr(evalkit_testing, name):
        assert any(row.startswith(f"| `{law.name}` |") for row in rows), law.name


def test_laws_have_names_and_statements_of_their_own() -> None:
    for name in LAWS:
        laws = getattr(evalkit_testing, name)
        assert len({law.name for law in laws}) == len(laws)
        assert all(law.statement for law in laws)
