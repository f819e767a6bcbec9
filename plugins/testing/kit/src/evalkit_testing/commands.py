"""Checks that a command explains itself, starts fast, and fails with a message."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit import Registry
from evalkit.catalog import Component, find_component, import_component
from evalkit.errors import UnknownPluginError
from evalkit_testing.laws import (
    Law,
    LawBroken,
    LawError,
    NotTried,
    check_laws,
    chosen_laws,
    told_alone,
)

HEAVY = ("polars", "pyarrow", "numpy", "pandas", "pydantic", "torch", "rich", "boto3")
"""What no command imports before it does its work."""

SECONDS = 120
"""How long a process may take."""

_IMPORTED = """
import importlib.metadata, json, sys
point = importlib.metadata.EntryPoint("it", sys.argv[1], "evalkit.commands")
point.load()
print(json.dumps([name for name in sys.argv[2:] if name in sys.modules]))
"""


class CommandLawError(LawError):
    """A command breaks a law; `law` is its name, one of `COMMAND_LAWS`."""


@dataclass
class _Trial:
    component: Component
    runs: Sequence[Sequence[str]]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        name = f"{self.component.name}@{self.component.distribution}"
        return run_python("-m", "evalkit", name, *arguments)

    @property
    def command(self) -> Any:
        return import_component(self.component)


def run_python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in an empty folder, with the variables of this process."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return subprocess.run(
                [sys.executable, *arguments],
                cwd=folder,
                env={**os.environ, "NO_COLOR": "1", **variables},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            words = " ".join(arguments)[:200]
            raise LawBroken(
                f"python {words} has not ended after {SECONDS} seconds"
            ) from error


@told_alone
def check_command(
    command: str,
    *,
    runs: Sequence[Sequence[str]] = (),
    laws: Collection[str] | None = None,
    registry: Registry | None = None,
) -> None:
    """Check that a command keeps the laws of `evalkit_testing.COMMAND_LAWS`.

    It is run in processes of its own, in an empty folder.

    Args:
        command: Name of an installed command.
        runs: Arguments with which it is run, as in `[["--json"]]`: it has to end with a
            result or a message. Files that they name are absolute paths.
        laws: Names of the laws to check; all by default.
        registry: Where plugins are found; all that are installed by default.

    Raises:
        CommandLawError: It breaks a law; the message has the law, and what was printed.
            It is an AssertionError.
        EvalkitError: There is no such law.
        PluginError: The command is unknown or broken.
    """
    chosen = chosen_laws(COMMAND_LAWS, laws)
    component = find_component((registry or Registry()).catalog, "commands", command)
    if component is None:
        raise UnknownPluginError(f"there is no command {command!r}")
    trial = _Trial(component, runs)
    check_laws(chosen, trial, component.origin, CommandLawError)


def _check_name(trial: _Trial) -> None:
    done = run_python("-m", "evalkit", "list", "commands", "--json")
    found = json.loads(done.stdout)
    mine = trial.component
    for problem in found["problems"]:
        if problem["distribution"] == mine.distribution and mine.id in str(problem):
            raise LawBroken(f"{problem['message']}; give it another name")
    for other in found["components"]:
        is_other = other["distribution"] != mine.distribution
        if is_other and other["name"] == mine.name:
            raise LawBroken(
                f"{other['distribution']} has a command {mine.name}, too; give it "
                "another name"
            )
    own = getattr(trial.command, "name", None)
    if own is not None and own != mine.name:
        raise LawBroken(
            f"click calls it {own!r}, and its entry point {mine.name!r}: write "
            f"@click.command({mine.name!r})"
        )


def _check_help(trial: _Trial) -> None:
    done = trial.run("--help")
    if done.returncode or not done.stdout.startswith("Usage:"):
        raise LawBroken(f"--help ends with {done.returncode}: {_said(done)}")
    if done.stderr.strip():
        raise LawBroken(f"--help says on the standard error: {done.stderr.strip()!r}")


def _said(done: subprocess.CompletedProcess[str]) -> str:
    text = done.stderr.strip() or done.stdout.strip()
    return repr(text[-400:])


def _check_documented(trial: _Trial) -> None:
    command = trial.command
    if not (getattr(command, "help", None) or "").strip():
        raise LawBroken("it says nothing of itself: give it a docstring")
    for option in getattr(command, "params", ()):
        is_option = getattr(option, "param_type_name", "") == "option"
        is_hidden = getattr(option, "hidden", False)
        if is_option and not is_hidden and not getattr(option, "help", None):
            raise LawBroken(
                f"nothing is said of the option {option.opts[-1]}: give help="
            )


def _check_light(trial: _Trial) -> None:
    done = run_python("-c", _IMPORTED, trial.component.value, *HEAVY)
    if done.returncode:
        raise LawBroken(f"it cannot be imported: {_said(done)}")
    *noise, last = done.stdout.splitlines()
    if noise:
        raise LawBroken(f"importing it prints {noise[0]!r}")
    if heavy := json.loads(last):
        raise LawBroken(
            f"importing it imports {', '.join(heavy)}: do so in the function, as "
            "completion in the shell imports the module"
        )


def _check_usage(trial: _Trial) -> None:
    done = trial.run("--no-such-option-as-this")
    if done.returncode != 2:
        raise LawBroken(
            f"--no-such-option-as-this ends with {done.returncode}: {_said(done)}"
        )


def _check_runs(trial: _Trial) -> None:
    if not trial.runs:
        raise NotTried("give runs=…, lists of arguments")
    for arguments in trial.runs:
        done, words = trial.run(*arguments), " ".join(arguments)
        where = f"evalkit {trial.component.name} {words}"
        if "Traceback" in done.stderr or "running it failed with" in done.stderr:
            raise LawBroken(
                f"{where}: {_said(done)}; raise an evalkit.EvalkitError with what is "
                "to be done"
            )
        if done.returncode and not done.stderr.strip():
            raise LawBroken(f"{where} ends with {done.returncode} without a word")
        if "--json" in arguments and done.returncode == 0:
            _refuse_no_json(where, done.stdout)


def _refuse_no_json(where: str, text: str) -> None:
    try:
        json.loads(text)
    except ValueError as error:
        raise LawBroken(
            f"{where} prints {text[:200]!r}, which is no JSON: print it by "
            "evalkit_cli.commanding.echo_json, and what is for people with err=True"
        ) from error


COMMAND_LAWS: tuple[Law[_Trial], ...] = (
    Law("name", "nobody else has its name.", _check_name),
    Law("help", "--help says how it is used.", _check_help),
    Law("documented", "it says what it and its options are.", _check_documented),
    Law("light", "importing it imports nothing heavy.", _check_light),
    Law("usage", "an option that there is not is refused, with 2.", _check_usage),
    Law("runs", "it ends with a result or a message.", _check_runs),
)
"""What holds of every command."""
