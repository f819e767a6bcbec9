"""`evalkit site`."""

from __future__ import annotations

from pathlib import Path

import click

from evalkit_cli.commanding import (
    RunsFolder,
    complete_names,
    echo,
    echo_json,
    json_option,
    plugin_output_to_stderr,
    quiet_with,
    watched,
)


@click.command("site")
@click.argument(
    "folders",
    nargs=-1,
    metavar="[FOLDER…]",
    type=RunsFolder(),
    envvar="EVALKIT_OUT",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("public"),
    show_default=True,
    help="Folder of the site. Replaces an existing site.",
)
@click.option(
    "--suite",
    "suites",
    multiple=True,
    metavar="NAME|FILE",
    shell_complete=complete_names("suites"),
    help="Show the leaderboard of this suite. Repeatable. Default: all installed "
    "suites that have runs.",
)
@click.option(
    "--title",
    default="Evaluation results",
    show_default=True,
    help="Title of the site.",
)
@click.option(
    "--examples",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    metavar="N",
    help="Maximum wrong answers on the page of a run; 0 shows none.",
)
@json_option
@quiet_with("Print nothing if all runs could be read.")
def site_command(
    folders: tuple[Path, ...],
    out: Path,
    suites: tuple[str, ...],
    title: str,
    examples: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write a static site of folders of runs (default: runs).

    \b
    Examples:
      evalkit site
      evalkit site runs other-runs -o public --title "Our models"
      evalkit site --suite tweeteval --examples 0

    The site has leaderboards, and pages of runs, datasets and models. It needs no
    server: open index.html, or publish the folder as it is.

    Exit codes: 0 done; 1 an error, such as no run that can be read; 2 wrong usage.
    """  # noqa: D301 - click reads the backspace
    from evalkit.errors import DataError
    from evalkit.places import is_remote, uri_of
    from evalkit_commands_site.building import make_boards, site_files
    from evalkit_commands_site.folder import check_replaceable, write_site
    from evalkit_commands_site.gathering import Collection

    if is_remote(str(out)):
        raise click.UsageError(
            f"{uri_of(out)}: a site is written to a folder of this machine. Copy it to "
            "the store."
        )
    check_replaceable(out)
    places = folders or (Path("runs"),)
    with plugin_output_to_stderr(), watched(quiet) as progress:
        collection = Collection(places)
        if not collection.runs:
            shown = ", ".join(map(str, places))
            raise DataError(
                f"{shown}: no run that can be read. `evalkit eval` writes runs"
            )
        boards, reasons = make_boards(places, suites, progress)
        pages = site_files(collection, boards, reasons, title, examples, progress)
        files = write_site(out, pages)
    problems = dict(sorted(collection.problems.items()))
    for place, why in problems.items():
        echo(f"notice: {place} cannot be read: {why}", err=True)
    for reason in reasons:
        echo(f"notice: {reason}", err=True)
    if as_json:
        echo_json(
            {
                "path": str(out),
                "files": len(files),
                "runs": len(collection.runs),
                "datasets": len(collection.datasets),
                "models": len(collection.models),
                "leaderboards": [board.name for board in boards],
                "problems": problems,
            }
        )
    elif not quiet:
        echo(f"written to {out / 'index.html'}", err=True)
