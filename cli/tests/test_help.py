"""Help texts: complete, and the same words for the same options."""

from typing import Any

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
SHARED = {
    *("--data", "--task", "--split", "--limit", "--filter", "--on-missing"),
    *("--on-invalid", "--on-duplicate"),
}


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_every_option_says_what_it_does(
    command: click.Command, option: click.Option
) -> None:
    assert option.help is not None
    assert option.help[0].isupper()
    assert option.help.endswith(".")


def test_commands_share_the_options_of_data_and_policies() -> None:
    def shared(name: str) -> dict[str, Any]:
        return {
            option.opts[-1]: option.to_info_dict()
            for option in cli.commands[name].params
            if option.opts[-1] in SHARED
        }

    found = shared("eval")
    assert found.keys() == SHARED
    assert shared("validate") == found


@pytest.mark.parametrize("command", ["eval", "validate"])
def test_help_names_exit_codes_and_formats(command: str) -> None:
    done = CliRunner().invoke(cli, [command, "--help"], terminal_width=80)
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    for words in ("Examples:", "Exit codes: 0", "- for the standard input", "`tag`"):
        assert words in text
