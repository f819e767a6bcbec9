"""`evalkit cite`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalkit_cli.commanding import (
    complete_runs,
    echo,
    echo_lines,
    folder_option,
    plugin_output_to_stderr,
    run_paths,
)

if TYPE_CHECKING:
    from evalkit_commands_cite.works import Work, Works


@click.command("cite")
@click.argument("run", metavar="RUN", shell_complete=complete_runs)
@click.option(
    "--format",
    "style",
    type=click.Choice(("bibtex", "text")),
    default="bibtex",
    show_default=True,
    help="How citations are printed.",
)
@folder_option
def cite_command(run: str, style: str, folder: Path) -> None:
    """Say how to cite what a run used, and under which licences it is.

    \b
    Examples:
      evalkit cite latest > references.bib
      evalkit cite 3f2a --format text
      evalkit cite gpt@hatecheck

    A RUN is the path of a run folder, the start of its id, `latest`, or a model: its
    newest complete run, also as MODEL@DATASET. Data sets, tasks and
    metrics may declare a citation; evalkit itself is named with its version. In BibTeX
    the licences are comments.
    """  # noqa: D301 - click reads the backspace
    from evalkit import Registry, read_run
    from evalkit.catalog import Resolver
    from evalkit_commands_cite.works import cited_works

    [path] = run_paths([run], folder)
    result = read_run(path)
    with plugin_output_to_stderr():
        found = cited_works(result, Resolver(Registry()))
    if style == "bibtex":
        _print_bibtex(found)
    else:
        _print_text(found)
    for remark in found.remarks:
        echo(f"evalkit: notice: {remark}", err=True)


def _print_bibtex(found: Works) -> None:
    from evalkit_commands_cite.works import bibtex_entries

    echo_lines("\n\n".join(bibtex_entries(found.works)))
    echo()
    for line in _licenses(found.works):
        # BibTeX takes any text outside of an entry for a comment, but for an @
        echo(f"% {line.replace('@', '(at)')}")


def _print_text(found: Works) -> None:
    for work in found.works:
        if work.citation is None:
            continue
        echo(_title(work))
        for line in work.citation.strip().splitlines():
            echo(f"    {line}".rstrip())
        if work.source_url:
            echo(f"    {work.source_url}")
        echo()
    for line in _licenses(found.works):
        echo(line)


def _title(work: Work) -> str:
    return f"{work.id} {work.version}" if work.version else work.id


def _licenses(works: tuple[Work, ...]) -> list[str]:
    return [
        f"licence of {_title(work)}: {' '.join(work.license.split())}"
        for work in works
        if work.license is not None
    ]
