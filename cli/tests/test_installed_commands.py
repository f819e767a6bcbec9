"""Commands of other distributions: found by metadata, run as evalkit's own are."""

import json
from collections.abc import Callable
from subprocess import CompletedProcess
from typing import Any

import pytest
from click.testing import Result

import evalkit

Run = Callable[..., CompletedProcess[str]]
Invoke = Callable[..., Result]
Complete = Callable[[str, int], Result]
Make = Callable[..., Any]

CODE = """
import click
import evalkit
from click.shell_completion import CompletionItem

print("printed while it is imported")

def names(ctx, param, incomplete):
    if incomplete == "boom":
        raise ValueError("no names")
    return [CompletionItem(name) for name in ("ada", "bob") if name[0] in incomplete]

@click.command(short_help="Greet somebody.")
@click.argument("name", shell_complete=names)
@click.option("--word", default="hello")
@click.option("--fail", "problem")
def greet(name, word, problem):
    '''Greet somebody, at length.'''
    failures = {
        "value": ValueError("two\\nlines \\x1b[31m"),
        "base": BaseException("of no kind"),
        "os": FileNotFoundError(2, "No such file", "x.txt"),
        "data": evalkit.DataError("rows are missing"),
        "usage": click.UsageError("say it otherwise"),
        "exit": click.exceptions.Exit(7),
        "system": SystemExit(9),
        "interrupt": KeyboardInterrupt(),
    }
    if problem:
        raise failures[problem]
    click.echo(f"{word} {name}")
    return "a value that is nobody's exit code"

@click.group()
def tree():
    '''Holds others.'''

@tree.command()
@click.option("--depth", type=int)
def leaf(depth):
    click.echo(f"leaf {depth}")

def plain():
    pass
"""
GROUP = "evalkit.commands"


@pytest.fixture
def greeter(fake_distribution: Make) -> Any:
    names = {"greet": "greet", "tree": "tree"}
    return fake_distribution(CODE, {GROUP: names}, name="greeter", version="4.5")


def test_a_command_runs_and_what_its_import_prints_goes_to_stderr(
    run_evalkit: Run, greeter: Any
) -> None:
    done = run_evalkit("greet", "ada", "--word", "hi")
    assert (done.returncode, done.stdout) == (0, "hi ada\n")
    assert done.stderr == "printed while it is imported\n"
    assert run_evalkit("tree", "leaf", "--depth", "3").stdout == "leaf 3\n"
    usage = run_evalkit("greet", "-h").stdout
    assert usage.startswith("Usage: evalkit greet [OPTIONS] NAME\n")
    assert "Greet somebody, at length." in usage


def test_help_lists_it_with_the_distributions_summary_and_imports_nothing(
    run_evalkit: Run, fake_distribution: Make
) -> None:
    fake_distribution("1 / 0", {GROUP: {"boom": "command"}})
    done = run_evalkit("--help")
    assert done.returncode == 0
    lines = done.stdout.partition("Commands:\n")[2].splitlines()
    assert "  boom         A distribution made by a test" in lines
    assert "  eval         Score predictions" in done.stdout
    assert lines == sorted(lines)


def test_help_says_of_a_command_what_its_source_says(
    invoke: Invoke, fake_distribution: Make
) -> None:
    code = '1 / 0\ndef greet(name):\n    """Greet somebody.\n\n    More."""\n'
    fake_distribution(code, {GROUP: {"greet": "greet"}})
    assert "  greet        Greet somebody.\n" in invoke("--help").stdout


def test_a_mistyped_name_is_told_its_neighbour(invoke: Invoke, greeter: Any) -> None:
    done = invoke("gret", "ada")
    assert done.exit_code == 2
    assert "No such command 'gret'. Did you mean 'greet'?" in done.stderr
    assert "No such command 'greet@nobody'" in invoke("greet@nobody").stderr


ORIGIN = "commands/greet (greeter 4.5)"


@pytest.mark.parametrize(
    ("problem", "code", "message"),
    [
        (
            "value",
            1,
            f"evalkit: error: {ORIGIN}: running it failed with ValueError: two lines "
            "\\x1b[31m\n",
        ),
        (
            "base",
            1,
            f"evalkit: error: {ORIGIN}: running it failed with BaseException: of no "
            "kind\n",
        ),
        (
            "os",
            1,
            f"evalkit: error: {ORIGIN}: running it failed with FileNotFoundError: "
            "[Errno 2] No such file: 'x.txt'; if it is a file of the plugin's package, "
            "importlib.resources.files(__package__) finds it wherever evalkit runs\n",
        ),
        ("data", 1, "evalkit: error: rows are missing\n"),
        ("exit", 7, ""),
        ("system", 9, ""),
        (
            "interrupt",
            130,
            "evalkit: interrupted; what was not finished was not written\n",
        ),
    ],
)
def test_what_it_raises_names_it_and_is_no_traceback(
    invoke: Invoke, greeter: Any, problem: str, code: int, message: str
) -> None:
    done = invoke("greet", "ada", "--fail", problem)
    assert done.exit_code == code
    assert done.stderr.removeprefix("printed while it is imported\n") == message


def test_a_traceback_is_printed_when_asked_for(invoke: Invoke, greeter: Any) -> None:
    done = invoke("greet", "ada", "--fail", "value", EVALKIT_TRACEBACK="1")
    assert "Traceback (most recent call last)" in done.stderr
    assert "in greet" in done.stderr


def test_wrong_usage_is_shown_as_ever(invoke: Invoke, greeter: Any) -> None:
    done = invoke("greet", "ada", "--fail", "usage")
    assert (done.exit_code, "say it otherwise" in done.stderr) == (2, True)
    assert invoke("greet").exit_code == 2
    done = invoke("greet", "ada", "--word", "a", "--word", "b")
    assert done.exit_code == 2
    assert "--word was given 2 times; give it once." in done.stderr
    done = invoke("tree", "leaf", "--depth", "1", "--depth", "2")
    assert done.exit_code == 2
    assert "--depth was given 2 times; give it once." in done.stderr


@pytest.mark.parametrize(
    ("code", "value", "message"),
    [
        ("def plain(): pass", "plain", "is of the type function, not a click command"),
        ("1 / 0", "gone", "failed with ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "gone", "failed with SystemExit: 3"),
        ("", "gone", "has no attribute 'gone'"),
        ("", "not a value:", "is not of the form package.module:object"),
    ],
)
@pytest.mark.slow
def test_what_is_no_command_is_refused_by_name(
    invoke: Invoke, fake_distribution: Make, code: str, value: str, message: str
) -> None:
    fake_distribution(code, {GROUP: {"wrong": value}}, name="bad", version="2")
    done = invoke("wrong", "--help")
    assert done.exit_code == 1
    assert done.stderr.startswith("evalkit: error: commands/wrong (bad 2): ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    checked = invoke("list", "commands", "--check", "--search", "wrong")
    assert checked.exit_code == 1
    assert "broken  commands/wrong (bad 2): " in checked.stdout
    assert message in checked.stdout
    marked = "(unusable)" in invoke("--help").stdout
    assert marked == (value == "not a value:")  # what the metadata alone can tell


@pytest.mark.slow
def test_commands_are_listed_when_asked_for(invoke: Invoke, greeter: Any) -> None:
    lines = invoke("list", "commands", "-v").stdout.splitlines()
    assert [line.split()[:3] for line in lines if "greeter" in line] == [
        ["commands/greet", "greeter", "4.5"],
        ["commands/tree", "greeter", "4.5"],
    ]
    assert "commands/greet" in invoke("list").stdout
    done = invoke("list", "commands", "--check", "--search", "greet")
    assert done.exit_code == 0
    assert f"ok      {ORIGIN}  0." in done.stdout
    done = invoke("show", "commands/greet")
    assert done.exit_code == 0
    assert done.stdout.startswith("commands/greet\n")


@pytest.mark.parametrize("entry", ["commands/greet", "greeter"])
def test_a_hidden_command_is_hidden(invoke: Invoke, greeter: Any, entry: str) -> None:
    hidden = {"EVALKIT_DISABLE_PLUGINS": entry}
    done = invoke("greet", "ada", **hidden)
    assert (done.exit_code, done.stderr) == (
        1,
        f"evalkit: error: {ORIGIN}: it is disabled by EVALKIT_DISABLE_PLUGINS\n",
    )
    shown = invoke("--help", **hidden).stdout
    assert "  greet " not in shown
    assert "  greet: it is disabled by EVALKIT_DISABLE_PLUGINS" in shown
    assert "Hidden commands" not in invoke("--help").stdout
    assert "commands/greet" not in invoke("list", "commands", **hidden).stdout
    allowed = {"EVALKIT_ALLOW_PLUGINS": "commands/tree"}
    assert "EVALKIT_ALLOW_PLUGINS" in invoke("greet", "ada", **allowed).stderr
    shown = invoke("--help", **allowed).stdout
    assert "  cite: it is not among those of EVALKIT_ALLOW_PLUGINS" in shown
    assert "  tree " in invoke("--help", **allowed).stdout


def test_two_of_one_name_are_refused_and_both_are_named(
    invoke: Invoke, greeter: Any, fake_distribution: Make
) -> None:
    code = "import click\n@click.command()\ndef greet():\n    click.echo('other')\n"
    fake_distribution(code, {GROUP: {"greet": "greet"}}, name="other", version="1")
    done = invoke("greet", "ada")
    assert done.exit_code == 1
    assert done.stderr == (
        "evalkit: error: commands/greet is declared by several distributions: "
        "greeter 4.5, other 1. Name one as greet@greeter or greet@other\n"
    )
    assert invoke("greet@other").stdout == "other\n"
    assert invoke("greet@Greeter", "ada").stdout.endswith("hello ada\n")
    usage = invoke("--help").stdout
    assert "  greet@greeter  Greet somebody" in usage
    assert "  greet@other    A distribution" in usage
    assert "(only as greet@other)" in invoke("list", "commands").stdout


@pytest.mark.slow
def test_evalkits_own_command_comes_first_and_the_list_says_so(
    invoke: Invoke, fake_distribution: Make
) -> None:
    code = "import click\n@click.command()\ndef runs():\n    click.echo('stranger')\n"
    fake_distribution(code, {GROUP: {"runs": "runs"}}, name="thief", version="3")
    assert "stranger" not in invoke("runs").stdout
    assert invoke("runs@thief").stdout == "stranger\n"
    assert "  runs@thief" in invoke("--help").stdout
    warning = (
        "warning: thief: commands/runs: evalkit's own command runs comes first; this "
        "one runs as runs@thief\n"
    )
    assert warning in invoke("list", "commands").stderr
    done = invoke("list", "commands", "--check", "--search", "thief")
    assert (done.exit_code, warning in done.stderr) == (1, True)
    report = json.loads(invoke("list", "commands", "--json").stdout)
    assert [problem["distribution"] for problem in report["problems"]] == ["thief"]
    assert "thief" not in invoke("list").stderr


def test_evalkits_own_commands_read_no_metadata_for_this(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("the metadata are read")

    monkeypatch.setattr(evalkit, "find_components", refuse)
    assert invoke("runs").exit_code == 0
    assert invoke("eval", "--help").exit_code == 0
    assert isinstance(invoke("--help").exception, AssertionError)


@pytest.mark.parametrize(
    ("words", "position", "expected"),
    [
        ("evalkit gre", 1, ["plain,greet"]),
        ("evalkit greet a", 2, ["plain,ada"]),
        ("evalkit greet --w", 2, ["plain,--word"]),
        ("evalkit tree l", 2, ["plain,leaf"]),
        ("evalkit list c", 2, ["plain,commands"]),
        ("evalkit show commands/gre", 2, ["plain,commands/greet"]),
        ("evalkit wrong ", 2, []),
    ],
)
def test_it_is_completed(
    complete: Complete,
    greeter: Any,
    fake_distribution: Make,
    words: str,
    position: int,
    expected: list[str],
) -> None:
    fake_distribution("1 / 0", {GROUP: {"wrong": "gone"}})
    done = complete(words, position)
    assert done.exit_code == 0
    assert done.stdout.split() == expected
    assert "Traceback" not in done.stderr


def test_a_completer_that_raises_is_named(run_evalkit: Run, greeter: Any) -> None:
    how = {"_EVALKIT_COMPLETE": "bash_complete", "COMP_CWORD": "2"}
    done = run_evalkit(**how, COMP_WORDS="evalkit greet boom")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].startswith(
        f"evalkit: error: {ORIGIN}: running it failed with ValueError: no names (fake_"
    )


def test_a_group_that_is_nearly_ours_is_a_warning(
    invoke: Invoke, fake_distribution: Make
) -> None:
    fake_distribution("", {"evalkit.comands": {"x": "x"}}, name="typo")
    expected = "there is no group evalkit.comands; did you mean evalkit.commands?"
    assert expected in invoke("list").stderr
