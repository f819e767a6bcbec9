"""The page has every law, as it is checked."""

import runpy
from pathlib import Path

import evalkit_testing

DOCS = Path(__file__).parents[4] / "docs"
LAWS = [name for name in evalkit_testing.__all__ if name.endswith("LAWS")]


def test_the_page_of_laws_is_as_it_is_made() -> None:
    made = runpy.run_path(str(DOCS / "make_laws_page.py"))["laws_page"]()
    page = (DOCS / "reference" / "laws.md").read_text(encoding="utf-8")
    assert page == made, "run docs/make_laws_page.py"


def test_laws_have_names_and_statements_of_their_own() -> None:
    for name in LAWS:
        laws = getattr(evalkit_testing, name)
        assert len({law.name for law in laws}) == len(laws)
        assert all(law.statement for law in laws)
