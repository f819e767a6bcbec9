from collections.abc import Callable
from typing import Any

import pytest

from evalkit import UnknownPluginError
from evalkit_testing import COMMAND_LAWS, CommandLawError, check_command

CODE = """
import sys

import click
from evalkit import EvalkitError


@click.command("count-words")
@click.argument("text", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def count_words(text, as_json):
    "Count the words of a text."
    if text is None:
        raise EvalkitError("give a text")
    print(len(text.split()))


@click.command("count")
@click.option("--words")
def count(words):
    print(len(words.split()))


@click.command("noisy")
@click.option("--json", is_flag=True, help="Print JSON.")
def noisy(json):
    "Count nothing."
    print("counting ...")
    print({})


@click.command("silent")
def silent():
    "End with 1."
    sys.exit(1)


class Careless(click.Command):
    def parse_args(self, ctx, args):
        if "--help" in args:
            raise SystemExit(5)
        return super().parse_args(ctx, args)


@click.command(
    "careless", cls=Careless, context_settings={"ignore_unknown_options": True}
)
@click.argument("words", nargs=-1)
def careless(words):
    "Take anything."
"""
HEAVY = "import polars\n\nprint('loaded')\n" + CODE


@pytest.fixture
def commands(fake_distribution: Callable[..., Any]) -> None:
    names = {"count-words": "count_words", "other": "count", "noisy": "noisy"}
    names |= {"silent": "silent", "careless": "careless", "eval": "count_words"}
    fake_distribution(CODE, {"evalkit.commands": names}, name="counting")
    fake_distribution(HEAVY, {"evalkit.commands": {"heavy": "count_words"}})


BROKEN = [
    ("name", "other", "click calls it 'count'"),
    ("name", "eval", "evalkit's own command eval comes first"),
    ("help", "careless", "--help ends with 5"),
    ("documented", "other", "give it a docstring"),
    ("light", "heavy", "importing it prints 'loaded'"),
    ("usage", "careless", "ends with 0"),
    ("runs", "noisy", "which is no JSON"),
    ("runs", "other", "running it failed with AttributeError"),
    ("runs", "silent", "ends with 1 without a word"),
]


def test_each_law_is_broken_by_a_command_below() -> None:
    names = [law.name for law in COMMAND_LAWS]
    assert [*dict.fromkeys(law for law, _, _ in BROKEN)] == names


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize(
    ("law", "command", "text"),
    # each runs one or two processes
    [
        pytest.param(
            *each,
            marks=() if each[0] in ("documented", "light") else pytest.mark.slow,
            id="-".join(each[:2]),
        )
        for each in BROKEN
    ],
)
def test_a_command_that_breaks_a_law_is_told_which(
    law: str, command: str, text: str
) -> None:
    runs = [["--json"] if command == "noisy" else []]
    with pytest.raises(CommandLawError) as caught:
        check_command(command, runs=runs, laws=[law])
    assert caught.value.law == law
    assert text in str(caught.value)


@pytest.mark.slow
@pytest.mark.usefixtures("commands")
def test_a_command_that_keeps_the_laws_passes() -> None:
    check_command("count-words", runs=[["a b", "--json"], []])


def test_a_command_that_nobody_has_is_unknown() -> None:
    with pytest.raises(UnknownPluginError, match="there is no command 'no-such'"):
        check_command("no-such")
