"""`evalkit report`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalkit_cli.commanding import (
    RunsFolder,
    complete_runs,
    echo,
    plugin_output_to_stderr,
    quiet_with,
    run_paths,
    watched,
)

if TYPE_CHECKING:
    from evalkit import Result
    from evalkit_analysis_compare import Comparison
    from evalkit_commands_report.gathering import Gathered

PLOTS = ("tags", "confusion", "reliability", "comparison", "perturbations")


@click.command("report")
@click.argument(
    "runs", nargs=-1, required=True, metavar="RUN…", shell_complete=complete_runs
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="File to write, - for the standard output; by default report.html, or "
    "PLOT.svg or PLOT.png.",
)
@click.option(
    "--runs",
    "folder",
    type=RunsFolder(),
    default=Path("runs"),
    show_default=True,
    envvar="EVALKIT_OUT",
    help="Folder that runs were written to.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(("html", "svg", "png")),
    default="html",
    show_default=True,
    help="A page, or a single plot (needs the extra `plots`).",
)
@click.option(
    "--plot",
    type=click.Choice(PLOTS),
    default="tags",
    show_default=True,
    help="Which plot --format svg or png draws.",
)
@click.option(
    "--bars", is_flag=True, help="Print bars of the tags on the terminal instead."
)
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Show this metric alone, as the run calls it; repeatable.",
)
@click.option(
    "--compare/--no-compare",
    default=None,
    help="Whether runs of the same data set are compared. By default they are, tag by "
    "tag where there are at most 500 tags; --compare compares more, which may take "
    "minutes.",
)
@click.option(
    "--all-pairs", is_flag=True, help="Compare every pair, not only with the first."
)
@quiet_with("Say nothing where all went well.")
def report_command(
    runs: tuple[str, ...],
    out: Path | None,
    folder: Path,
    kind: str,
    plot: str,
    bars: bool,
    metrics: tuple[str, ...],
    compare: bool | None,
    all_pairs: bool,
    quiet: bool,
) -> None:
    """Show runs as one self-contained page, as a plot, or as bars.

    \b
    Examples:
      evalkit report latest
      evalkit report gpt roberta -o report.html
      evalkit report gpt roberta --format svg --plot comparison -o figure.svg
      evalkit report latest --bars

    A RUN is the path of a run folder, the start of its id, its model, or `latest`. Runs
    of the same data set stand beside each other and are compared with the first. The
    page loads nothing from a network and holds no texts of examples.

    Exit codes: 0 done; 1 an error; 2 wrong usage.
    """  # noqa: D301 - click reads the backspace
    from evalkit import read_run
    from evalkit.places import is_remote, uri_of
    from evalkit_commands_report.gathering import gather, only_metrics

    if out is not None and is_remote(str(out)):
        raise click.UsageError(
            f"{uri_of(out)}: pages and plots are written to files of this machine; "
            "copy them to the store."
        )
    if bars and (kind != "html" or out is not None):
        raise click.UsageError(
            "--bars prints to the terminal: leave out -o and --format."
        )
    paths = run_paths(list(dict.fromkeys(runs)), folder, quiet=quiet)
    results = [read_run(path) for path in dict.fromkeys(paths)]
    results = only_metrics(results, metrics)
    is_page = kind == "html"
    needed = compare is not False and not bars and (is_page or plot == "comparison")
    with plugin_output_to_stderr(), watched(quiet) as progress:
        # a plot shows the whole set alone
        tags = (compare or None) if is_page else False
        comparer = _comparer(folder, metrics, all_pairs, tags, progress)
        groups = gather(results, comparer if needed else None)
        made = None if bars else _made(groups, kind, plot)
    if made is None:
        from evalkit_commands_report.bars import bar_lines

        for line in bar_lines(groups, shutil.get_terminal_size().columns):
            echo(line)
        return
    target = out or Path("report.html" if kind == "html" else f"{plot}.{kind}")
    _write(made, target)
    if not quiet and str(target) != "-":
        echo(f"written to {target}", err=True)


def _comparer(
    folder: Path,
    metrics: Sequence[str],
    all_pairs: bool,
    tags: bool | None,
    progress: Callable[[str, float], None],
) -> Callable[[Sequence[Result]], Comparison]:
    """Return what compares runs: tag by tag, or where there are few, for None."""
    from evalkit_analysis_compare import compare
    from evalkit_commands_report.gathering import (
        FEWEST_EXAMPLES,
        MOST_COMPARED_TAGS,
        comparable_tags,
    )

    def run(results: Sequence[Result]) -> Comparison:
        is_short = comparable_tags(results) <= MOST_COMPARED_TAGS
        return compare(
            *results,
            tags=is_short if tags is None else tags,
            metrics=list(metrics) or None,
            all_pairs=all_pairs,
            min_n=FEWEST_EXAMPLES,
            runs=folder,
            progress=progress,
        )

    return run


def _made(groups: Sequence[Gathered], kind: str, plot: str) -> bytes:
    if kind == "html":
        from evalkit_commands_report.page import make_page

        return make_page(groups).encode("utf-8", "backslashreplace")
    from evalkit_commands_report.plots import draw_plot

    return draw_plot(groups, plot, kind)


def _write(content: bytes, target: Path) -> None:
    from evalkit.reporting import new_file

    if str(target) == "-":
        sys.stdout.buffer.write(content)
        return
    with new_file(target, overwrite=True) as part:
        part.write_bytes(content)
