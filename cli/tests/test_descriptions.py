"""A plugin's description is read from its source, and nothing is imported."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from evalkit.catalog import Component, find_components
from evalkit_cli.printing.descriptions import describe_component

SUMMARY = "A distribution made by a test"
SINGLE = "class Single:\n    '''Says twice. Or more.'''\n\n"
SOURCE = (
    SINGLE
    + '''"""A module."""

from somewhere import borrowed

raise RuntimeError("imported")


class Plain:
    """Counts the words.  Slowly.

    More."""


class Wrapped(dict[str, int],
              metaclass=type):
    """Counts words, e.g. of
    poems, as `wc` does. It is fast.
    """


@decorated("x")
def function(
    a: str = """no docstring""",
) -> dict[str, "int"]:
    r"""Divides by \\d. And more"""


async def waits(a: int) -> None:
    """Waits"""


class Bare:
    x = 1

    def method(self):
        """A method, not the class."""


class Escaped:
    """Says \\"hello\\" in caf\\u00e9s."""


class Empty:
    """"""


class Unended:
    """Never ends
'''
)


@pytest.fixture
def describe(fake_distribution: Callable[..., Any]) -> Callable[[str], str]:
    fake = fake_distribution(SOURCE, {"evalkit.metrics": {"x": "Plain"}})
    component = Component("metrics", "x", "", fake.name, "1", SUMMARY)

    def _describe(name: str) -> str:
        return describe_component(component._replace(value=f"{fake.module}:{name}"))

    return _describe


@pytest.mark.parametrize(
    ("name", "described"),
    [
        ("Plain", "Counts the words"),
        ("Plain.inner", "Counts the words"),
        ("Wrapped", "Counts words, e.g. of poems, as `wc` does"),
        ("waits", "Waits"),
        ("Single", "Says twice"),
        ("Escaped", 'Says "hello" in cafés'),
    ],
)
def test_the_first_sentence_of_the_docstring_describes(
    describe: Callable[[str], str], name: str, described: str
) -> None:
    assert describe(name) == described


@pytest.mark.parametrize(
    "name", ["borrowed", "Bare", "Empty", "Unended", "function", "", "Absent", "Pl"]
)
def test_without_a_docstring_the_summary_of_the_distribution_does(
    describe: Callable[[str], str], name: str
) -> None:
    assert describe(name) == SUMMARY


@pytest.mark.parametrize(
    "value",
    [
        *("absent:X", "absent.inner:X", "sys:X", "math:X", "json.absent:X", ":X"),
        *("", "json", "..:X", "json.decoder.more:X"),
    ],
)
def test_a_module_that_cannot_be_read_leaves_the_summary(value: str) -> None:
    component = Component("metrics", "x", value, "d", "1", "A summary")
    assert describe_component(component) == "A summary"


def test_a_finder_that_fails_leaves_the_summary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Finder:
        def find_spec(self, *arguments: object) -> None:
            raise RuntimeError

    monkeypatch.setattr(sys, "meta_path", [Finder()])
    component = Component("metrics", "x", "absent_module:X", "d", "1", "S")
    assert describe_component(component) == "S"


def test_every_class_and_function_of_this_repository_is_described() -> None:
    made_by_a_call = "schemas/run.Score"
    for component in find_components().components:
        is_described = describe_component(component) != component.summary
        assert is_described == (component.id != made_by_a_call), component.id
