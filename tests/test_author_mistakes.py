"""What evalkit says of the mistakes that authors make."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def _maker() -> ModuleType:
    name = "make_mistakes_page"
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


maker = _maker()
MISTAKES = maker.read_mistakes()
said_of = cache(lambda place: maker.said_of(MISTAKES[place]))

PARAMETERS = [
    pytest.param(
        place,
        id=f"{mistake.kind}-{mistake.title}",
        # the import is watched in a process of its own
        marks=[pytest.mark.slow] if mistake.law else [],
    )
    for place, mistake in enumerate(MISTAKES)
]


@pytest.mark.parametrize("place", PARAMETERS)
def test_a_mistake_is_told_with_who_what_where_and_the_mend(place: int) -> None:
    mistake: Any = MISTAKES[place]
    said = said_of(place)
    assert mistake.origin in said
    assert mistake.distribution in said
    for part in (mistake.what, mistake.where, mistake.mend):
        assert part in said


def test_the_catalogue_is_of_all_kinds_and_of_no_mistake_twice() -> None:
    import evalkit_testing

    assert len(MISTAKES) >= 60
    checks = {f"check_{mistake.kind.removesuffix('s')}" for mistake in MISTAKES}
    assert checks | {"check_distribution"} == {
        name for name in evalkit_testing.__all__ if name.startswith("check_")
    }
    titles = [(mistake.kind, mistake.title) for mistake in MISTAKES]
    assert len({*titles}) == len(titles)
    assert all(len(mistake.code.splitlines()) <= 32 for mistake in MISTAKES)


@pytest.mark.slow
def test_the_page_is_fresh() -> None:
    said = [(mistake, said_of(place)) for place, mistake in enumerate(MISTAKES)]
    assert maker.PAGE.read_text(encoding="utf-8") == maker.page(said)


def test_the_page_has_every_mistake() -> None:
    written = maker.PAGE.read_text(encoding="utf-8")
    for place, mistake in enumerate(MISTAKES):
        if mistake.law is None:
            assert maker.page([(mistake, said_of(place))]).splitlines()[-2] in written
