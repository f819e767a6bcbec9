"""`evalkit new`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from evalkit_cli.commanding import echo, echo_json, json_option

_LICENSES = ("Apache-2.0", "MIT")


def _complete_kinds(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    from evalkit_commands_authoring.templates import template_kinds

    return [kind for kind in template_kinds() if kind.startswith(incomplete)]


@click.command("new")
@click.argument("kind", metavar="KIND", required=False, shell_complete=_complete_kinds)
@click.argument("name", metavar="NAME", required=False)
@click.option(
    "--from",
    "source",
    metavar="FILE.py[:OBJECT]",
    help="A file with the plugin, which becomes the package's module.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Where the package's folder is made; here by default.",
)
@click.option("--description", help="What the plugin does, in a few words.")
@click.option("--author", help="Who publishes it; git's user.name by default.")
@click.option(
    "--license",
    "license_",
    type=click.Choice(_LICENSES),
    default=_LICENSES[0],
    show_default=True,
    help="The licence of the package.",
)
@json_option
def new_command(
    kind: str | None,
    name: str | None,
    source: str | None,
    folder: Path,
    description: str | None,
    author: str | None,
    license_: str,
    as_json: bool,
) -> None:
    """Begin a package with a plugin of your own.

    \b
    Examples:
      evalkit new metric brevity
      evalkit new dataset cinema-reviews --author "Ada Lovelace" --license MIT
      evalkit new metric brevity --from ./my_metric.py:Brevity

    KIND is a kind of plugin, in the singular or plural: metric, task, dataset,
    benchmark, perturbation, annotator, model, adapter, schema, observer, command or
    storage. NAME is what users will type. The package is whole: a plugin that works,
    typed and documented, tests that pass, a README, a licence, and a file for CI. What
    is left out is asked for, on a terminal.
    """  # noqa: D301 - click reads the backspace
    from datetime import date

    from evalkit_commands_authoring.names import kind_of, names_of, refuse_taken
    from evalkit_commands_authoring.packages import (
        Author,
        entry_points,
        package_files,
        write_package,
    )
    from evalkit_commands_authoring.sources import read_source, refuse_function
    from evalkit_commands_authoring.templates import module_text, read_template

    kind = kind_of(kind or _asked("Kind of plugin", "KIND"))
    name = name or _asked("Name, as users will type it", "NAME")
    names = names_of(kind, name, module_text(kind))
    template = read_template(kind)
    read = None if source is None else read_source(source, kind)
    if read is not None:
        refuse_function(names, read)
        description = description or read.summary or f"A {names.singular}"
    if description is not None:
        template = template.model_copy(
            update={"summary": " ".join(description.split())}
        )
    points = entry_points(names, template, read)
    plugins = [
        (group.removeprefix("evalkit."), each)
        for group, values in points.items()
        for each in values
    ]
    refuse_taken(names, plugins, _commands())
    by = Author(author or _user_name(), license_, date.today().year)
    files = package_files(names, template, by, read)
    made = folder / names.distribution
    write_package(made, files)
    for module in read.unknown if read else ():
        echo(
            f"evalkit: notice: no installed distribution has the module {module!r}: "
            "add the one that does to the dependencies in pyproject.toml",
            err=True,
        )
    if as_json:
        echo_json(
            {
                "folder": str(made),
                "distribution": names.distribution,
                "kind": names.kind,
                "name": names.put_into(template.name),
                "plugins": [f"{each}/{called}" for each, called in plugins],
                "files": sorted(files),
            }
        )
    else:
        _print_made(made, plugins, sorted(files))


def _asked(what: str, argument: str) -> str:
    """Ask for what was left out; an error where there is nobody to ask."""
    if not sys.stdin.isatty():
        raise click.UsageError(f"Missing argument '{argument}'.")
    answer: str = click.prompt(what, err=True)
    return answer


def _commands() -> frozenset[str]:
    context = click.get_current_context().find_root()
    group = context.command
    return frozenset(
        group.list_commands(context) if isinstance(group, click.Group) else ()
    )


def _user_name() -> str:
    import subprocess

    try:
        done = subprocess.run(
            ["git", "config", "user.name"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError:
        return "Your Name"
    return done.stdout.strip() or "Your Name"


def _print_made(folder: Path, plugins: list[tuple[str, str]], files: list[str]) -> None:
    from evalkit_commands_authoring.templates import singular

    held = " and ".join(f"the {singular(kind)} {name}" for kind, name in plugins)
    echo(f"{folder} is a package with {held}:")
    for name in files:
        echo(f"  {name}")
    echo("Next:")
    echo(f"  cd {folder}")
    echo("  make test")
