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
