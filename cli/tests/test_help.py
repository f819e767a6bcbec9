"""Help texts: complete, and the same words for the same options."""

import click
import pytest
from click.testing import CliRunner

from evalkit_cli.main import cli

OPTIONS = [
    pytest.param(command, option, id=f"{name} {option.opts[-1]}")
    for name, command in cli.commands.items()
    for option in command.params
    if isinstance(option, click.Option)
]


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_every_option_says_what_it_does(
    command: click.Command, option: click.Option
) -> None:
    assert option.help is not None
    assert option.help[0].isupper()
    assert option.help.endswith(".")


@pytest.mark.parametrize("command", ["eval", "validate"])
def test_help_names_exit_codes_and_formats(command: str) -> None:
    done = CliRunner().invoke(cli, [command, "--help"], terminal_width=80)
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    for words in ("Examples:", "Exit codes: 0", "- for the standard input", "`tag`"):
        assert words in text
