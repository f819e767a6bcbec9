"""The command `evalkit`.

This module imports click and nothing heavy: commands import what they need when they
run.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from evalkit_cli.commands.adapt import adapt_command
from evalkit_cli.commands.cache import cache_command
from evalkit_cli.commands.compare import compare_command
from evalkit_cli.commands.eval import eval_command
from evalkit_cli.commands.help import help_command
from evalkit_cli.commands.inputs import inputs_command
from evalkit_cli.commands.list import list_command
from evalkit_cli.commands.merge import merge_command
from evalkit_cli.commands.perturb import perturb_command
from evalkit_cli.commands.plan import plan_command
from evalkit_cli.commands.publish import publish_command
from evalkit_cli.commands.rescore import rescore_command
from evalkit_cli.commands.runs import runs_command
from evalkit_cli.commands.show import show_command
from evalkit_cli.commands.validate import validate_command
from evalkit_cli.commands.verify import verify_command
from evalkit_cli.endings import (
    READER_GONE,
    Ended,
    die_by,
    drop_output_without_reader,
    drop_output_without_room,
    unwind_when_ended,
)
from evalkit_cli.installed_commands import (
    InstalledCommand,
    InstalledCommands,
    find_installed,
)
from evalkit_cli.options.endpoints import endpoint, endpoint_option
from evalkit_cli.options.repeated import refuse_repeated_options
from evalkit_cli.printing.corrected_commands import echo_error, remember_arguments
from evalkit_cli.printing.defects import (
    DEFECT,
    TRACEBACK_VARIABLE,
    show_defect,
    show_traceback,
)
from evalkit_cli.printing.streams import buffer_stdout, echo, echo_lines

if TYPE_CHECKING:
    from evalkit import Component

INTERRUPTED = 130

NEW_OBJECTS = 50_000
"""After so many new objects, Python looks for circles of objects that nobody uses."""

_OUR_PACKAGES = ("evalkit", "evalkit_cli")
"""Their warnings, also those that they give in the name of a command that calls them,
are told as their errors are."""


class _Group(click.Group):
    """A group that prints evalkit's errors without a traceback.

    It also refuses repeated options, so that no command can forget to. Commands of
    other distributions join its own; only if one of them is meant, or all are listed,
    the metadata of distributions are read.

    Attributes:
        running: The command of another distribution that was loaded, if it is one.
    """

    group_class = type
    running: Component | None = None

    def invoke(self, ctx: click.Context) -> Any:
        from evalkit.errors import EvalkitError

        try:
            value = super().invoke(ctx)
            return value if self.running is None else None
        except EvalkitError as error:
            if error.__cause__ is not None:
                show_traceback(error.__cause__)
            echo_error(error)
            ctx.exit(1)
        except Ended as ended:  # what it had begun is cleaned up now
            die_by(ended.number)
        except KeyboardInterrupt as interrupt:
            _say_interrupted(interrupt)
            ctx.exit(INTERRUPTED)
        except (click.ClickException, click.Abort, click.exceptions.Exit) as error:
            if isinstance(error, click.NoSuchOption):
                self._refuse_misplaced(error)
            raise
        except SystemExit:  # it ended itself
            raise
        except BaseException as error:
            self._end_with(ctx, error)

    def _refuse_misplaced(self, error: click.NoSuchOption) -> None:
        """Say where an option stands that the command does not have."""
        if not any(error.option_name in each.opts for each in self.params):
            return
        command = error.ctx.info_name if error.ctx else "COMMAND"
        raise click.UsageError(
            f"{error.format_message()} It stands before the command: evalkit "
            f"{error.option_name} … {command}.",
            error.ctx,
        ) from error

    def _end_with(self, ctx: click.Context, error: BaseException) -> NoReturn:
        """End for a reason that is no error of evalkit's own kind."""
        if isinstance(error, BrokenPipeError):
            if drop_output_without_reader():
                ctx.exit(READER_GONE)
            raise error
        if self.running is None:
            raise error
        _show_failure(self.running, error)
        ctx.exit(1)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        given = [*args]
        try:
            context = super().make_context(info_name, args, parent, **extra)
        except BrokenPipeError:  # --help and --version print here
            if drop_output_without_reader():
                sys.exit(READER_GONE)
            raise
        remember_arguments(context, given)
        return context

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        self.running = None
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, InstalledCommand):
            command = self._load(ctx, command)
        if command is not None and not ctx.resilient_parsing:
            settings = command.context_settings
            inner = click.Context(command, parent=ctx, info_name=name, **settings)
            refuse_repeated_options(inner, rest)
        return name, command, rest

    def _load(self, ctx: click.Context, stand_in: InstalledCommand) -> click.Command:
        from evalkit.errors import PluginError

        try:
            command = stand_in.load()
        except PluginError:
            if ctx.resilient_parsing:  # a shell completes nothing then
                return stand_in
            raise
        self.running = stand_in.component
        return command

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*self.commands, *self._installed(ctx).by_name])

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        super().format_commands(ctx, formatter)
        hidden = self._installed(ctx).hidden()
        if hidden:
            with formatter.section("Hidden commands"):
                for line in hidden:
                    formatter.write_text(line)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is None:
            command = self._installed(ctx).by_name.get(cmd_name)
        if command is None and not ctx.resilient_parsing:
            from evalkit.catalog import find_component

            catalog = self._installed(ctx).catalog
            found = find_component(catalog, "commands", cmd_name)
            command = InstalledCommand(found) if found else self._refuse(ctx, cmd_name)
        return command

    def _installed(self, ctx: click.Context) -> InstalledCommands:
        """Read the metadata of all distributions, once in a run of the command."""
        found: InstalledCommands | None = ctx.meta.get(__name__)
        if found is None:
            found = ctx.meta[__name__] = find_installed(self.commands)
        return found

    def _refuse(self, ctx: click.Context, name: str) -> NoReturn:
        import difflib

        near = difflib.get_close_matches(name, self.list_commands(ctx), n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise click.UsageError(f"No such command {name!r}.{hint}", ctx)


def _say_interrupted(interrupt: KeyboardInterrupt) -> None:
    """Say that the user ended it, and what that leaves."""
    # a terminal has just shown ^C on the line that it would go to
    if sys.stderr.isatty():
        echo(err=True)
    message = "interrupted; what was not finished was not written"
    for said in (message, *dict.fromkeys(getattr(interrupt, "__notes__", ()))):
        echo(f"evalkit: {said}", err=True)


def _show_failure(component: Component, error: BaseException) -> None:
    """Print what the command of a distribution raised, in one line that names it."""
    from evalkit.catalog import located

    show_traceback(error)
    failure = f"{component.origin}: running it failed with {located(error)}"
    echo_lines(f"evalkit: error: {failure}", err=True)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="evalkit-cli", prog_name="evalkit")
@click.option(
    "--traceback",
    is_flag=True,
    help="Show the traceback of what fails in a plugin; before the command. "
    "EVALKIT_TRACEBACK=1 does the same.",
)
@endpoint_option
@click.pass_context
def cli(context: click.Context, /, traceback: bool, endpoint_url: str | None) -> None:
    """Score what models said.

    Tasks, data sets and metrics are plugins: `evalkit list` shows those that are
    installed, `evalkit eval DATASET --predictions FILE` scores a file of predictions.

    \b
    Shell completion (bash; zsh and fish alike):
      eval "$(_EVALKIT_COMPLETE=bash_source evalkit)"
    """  # noqa: D301 - click reads the backspace
    if traceback or os.environ.get(TRACEBACK_VARIABLE):
        from evalkit_cli.printing.tracebacks import tracebacks_shown

        context.with_resource(tracebacks_shown())
    if endpoint_url is not None:
        context.with_resource(endpoint(endpoint_url))


cli.add_command(inputs_command)
cli.add_command(list_command)
cli.add_command(show_command)
cli.add_command(validate_command)
cli.add_command(eval_command)
cli.add_command(adapt_command)
cli.add_command(perturb_command)
cli.add_command(compare_command)
cli.add_command(plan_command)
cli.add_command(runs_command)
cli.add_command(rescore_command)
cli.add_command(merge_command)
cli.add_command(verify_command)
cli.add_command(publish_command)
cli.add_command(cache_command)
cli.add_command(help_command)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print evalkit's own warnings as its errors are, and others as Python does."""
    if _is_ours(Path(filename)):
        echo_lines(f"evalkit: warning: {message}", err=True)
        return
    text = warnings.formatwarning(message, category, filename, lineno, line)
    echo_lines(text.removesuffix("\n"), err=True)


def _show_misuse(error: click.ClickException) -> None:
    """Print what click says about wrong usage, which may quote arguments and names."""
    message = io.StringIO()
    error.show(file=message)
    echo_lines(message.getvalue().removesuffix("\n"), err=True)


def _is_ours(file: Path) -> bool:
    packages = [*_OUR_PACKAGES]
    if cli.running is not None:
        packages.append(cli.running.value.partition(":")[0].partition(".")[0])
    for name in packages:
        home = getattr(sys.modules.get(name), "__file__", None)
        if home is None:
            continue
        if file == Path(home):
            return True
        if Path(home).name == "__init__.py" and Path(home).parent in file.parents:
            return True
    return False


def _show_unforeseen(error: BaseException) -> int:
    """Print what nothing else has handled; return the exit code."""
    if isinstance(error, MemoryError):
        echo("evalkit: error: there is not enough memory for this", err=True)
        return 1
    if cli.running is not None:  # in completing its words
        _show_failure(cli.running, error)
        return 1
    show_defect(error)
    return DEFECT


def _collect_seldom() -> None:
    """Have Python look for unused circles of objects less often than by default.

    Imports make many objects and hardly any such circle: looking for them takes a
    fifth of a small evaluation. At the end the system takes all memory back anyway.
    """
    gc.set_threshold(NEW_OBJECTS)
    atexit.register(gc.freeze)


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the caller closed it
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    # pydantic reads the metadata of every distribution for plugins of its own, and
    # fails where one of them is malformed
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    warnings.showwarning = _show_warning
    _collect_seldom()
    unwind_when_ended()
    buffer_stdout()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(prog_name="evalkit", standalone_mode=False) or 0
        sys.stdout.flush()
        sys.exit(code)
    except click.ClickException as error:
        _show_misuse(error)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(INTERRUPTED)
    except OSError as error:
        if isinstance(error, BrokenPipeError) and drop_output_without_reader():
            sys.exit(READER_GONE)
        echo_lines(f"evalkit: error: {error}", err=True)
        drop_output_without_room()
        sys.exit(1)
    except SystemExit:
        raise
    except BaseException as error:
        sys.exit(_show_unforeseen(error))
