"""An option that takes one value is not given two."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from evalkit_cli.main import cli

OPTIONS = [
    pytest.param(name, option, id=f"{name} {option.opts[-1]}")
    for name, command in cli.commands.items()
    for option in command.params
    if isinstance(option, click.Option)
]


def may_be_repeated(option: click.Option) -> bool:
    is_switch = option.is_bool_flag and not option.secondary_opts
    return option.multiple or is_switch


def test_there_are_commands_and_options_to_walk() -> None:
    walked = [parameter.values for parameter in OPTIONS]
    assert {name for name, _ in walked} == set(cli.commands) - {"help"}
    options = [option for _, option in walked if isinstance(option, click.Option)]
    single = [option for option in options if not may_be_repeated(option)]
    assert len(single) > 60
    assert any(option.secondary_opts for option in single)


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_every_option_is_repeatable_or_refused(
    command: str, option: click.Option, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    target = cli.commands[command]
    monkeypatch.setattr(target, "invoke", lambda _: called.append(command))
    # only how often it is given matters here, not whether there is such a file
    for parameter in target.params:
        monkeypatch.setattr(parameter, "required", False)
    monkeypatch.setattr(option, "callback", None)
    is_flag = option.is_flag
    if not is_flag:
        monkeypatch.setattr(option, "type", click.STRING)
    words = [
        word
        for name in (option.opts[0], option.opts[-1])
        for word in ([name] if is_flag else [name, "1"])
    ]
    done = CliRunner().invoke(cli, [command, *words])
    if may_be_repeated(option):
        assert done.exit_code == 0, done.output
        assert called == [command]
    else:
        spelled = " / ".join((*option.opts, *option.secondary_opts))
        assert done.exit_code == 2
        assert not called
        assert f"Error: {spelled} was given 2 times; give it once." in done.stderr
        assert f"Usage: cli {command}" in done.stderr


def test_two_folders_of_predictions_are_not_taken_for_one(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
        rows = '{"id": "1", "label": "positive"}\n'
        (folder / "sample-sentiment.jsonl").write_text(rows, encoding="utf-8")
    given = [word for path in folders for word in ("--predictions-dir", str(path))]
    out = tmp_path / "runs"
    done = CliRunner().invoke(
        cli, ["eval", *given, "--on-missing", "skip", "-o", str(out)]
    )
    assert done.exit_code == 2
    assert "--predictions-dir was given 2 times; give it once" in done.stderr
    assert not out.exists()


def test_an_environment_variable_is_no_repetition(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EVALKIT_OUT", str(tmp_path / "other"))
    done = CliRunner().invoke(cli, ["runs", "-o", str(tmp_path / "named")])
    assert done.exit_code == 0
    assert f"there is no folder {tmp_path / 'named'}" in done.stderr


def test_commands_and_groups_that_are_added_are_checked_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called = []

    @click.command()
    @click.option("--size")
    @click.option("-l", "--loud/--soft", "loud")
    @click.option("--upper", "case", flag_value="upper")
    @click.option("--lower", "case", flag_value="lower")
    @click.option("-v", count=True)
    @click.argument("rest", nargs=-1)
    def later(**given: object) -> None:
        called.append(given)

    @cli.group("rooms")
    def rooms() -> None:
        """Hold a command."""

    rooms.add_command(later)
    try:
        for words, told in [
            (["--size", "1", "--size=1"], "--size was given 2 times"),
            (["--loud", "--soft"], "-l / --loud / --soft was given 2 times"),
            (["--upper", "--lower"], "--upper / --lower was given 2 times"),
        ]:
            done = CliRunner().invoke(cli, ["rooms", "later", *words])
            assert done.exit_code == 2
            assert told in done.stderr
        harmless = ["-vv", "-v", "--size", "1", "--", "--size", "--size"]
        assert CliRunner().invoke(cli, ["rooms", "later", *harmless]).exit_code == 0
        assert called[0]["v"] == 3
        assert called[0]["rest"] == ("--size", "--size")
    finally:
        del cli.commands["rooms"]
