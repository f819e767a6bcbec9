"""`evalkit help` prints what `--help` prints."""

from collections.abc import Callable

import pytest
from click.testing import Result

Invoke = Callable[..., Result]


@pytest.mark.parametrize(
    "words", ["", "eval", "help", "adapt", "cite", "schema", "schema show"]
)
def test_help_is_what_the_option_prints(invoke: Invoke, words: str) -> None:
    done = invoke("help", *words.split())
    assert done.exit_code == 0
    assert done.stdout == invoke(*words.split(), "--help").stdout
    assert done.stdout.startswith("Usage: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("evall", "No such command 'evall'. Did you mean 'eval'?"),
        ("schema shw", "No such command 'shw'"),
        ("list metrics", "list has no commands."),
    ],
)
def test_what_is_no_command_is_wrong_usage(
    invoke: Invoke, words: str, said: str
) -> None:
    done = invoke("help", *words.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_command_that_cannot_be_imported_is_named(
    invoke: Invoke, fake_distribution: Callable[..., object]
) -> None:
    fake_distribution("raise OSError", {"evalkit.commands": {"rude": "x"}}, name="rude")
    done = invoke("help", "rude")
    assert done.exit_code == 1
    assert "commands/rude (rude 1.2.3)" in done.stderr
