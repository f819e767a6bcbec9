"""What evalkit says of the mistakes that authors make."""

import importlib.util
import re
import sys
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
PAGE = maker.PAGE.read_text(encoding="utf-8")

PARAMETERS = [
    pytest.param(place, id=f"{mistake.kind}-{mistake.title}")
    for place, mistake in enumerate(MISTAKES)
]


@pytest.mark.slow
@pytest.mark.parametrize("place", PARAMETERS)
def test_a_mistake_is_told_with_who_what_where_and_the_mend(place: int) -> None:
    mistake: Any = MISTAKES[place]
    said = maker.said_of(mistake)
    assert mistake.origin in said
    assert mistake.distribution in said
    for part in (mistake.what, mistake.where, mistake.mend):
        assert part in said
    assert maker.page([(mistake, said)]).splitlines()[-2] in PAGE.splitlines()


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


def test_the_page_has_all_of_them_and_nothing_else() -> None:
    without_messages = re.sub(r"<code>.*</code>", "", PAGE)
    assert without_messages == maker.page([(mistake, "") for mistake in MISTAKES])
