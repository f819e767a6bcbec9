"""`evalkit rescore`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.options.completion import complete_runs
from evalkit_cli.options.local_plugins import plugin_option
from evalkit_cli.options.metrics import chosen_metrics, metric_with, params_option
from evalkit_cli.options.run_names import run_paths
from evalkit_cli.options.runs import new_run_options
from evalkit_cli.options.scoring import jobs_option, observer_option
from evalkit_cli.printing.progress_bar import watched
from evalkit_cli.printing.streams import echo, echo_json, plugin_output_to_stderr

if TYPE_CHECKING:
    from evalkit.catalog import Bound


@click.command("rescore")
@click.argument(
    "run", metavar="[RUN]", required=False, default="", shell_complete=complete_runs
)
@click.option(
    "--all", "is_all", is_flag=True, help="Rescore all complete runs of the folder."
)
@metric_with("Compute this metric; repeatable.")
@click.option(
    "--data",
    metavar="FILE",
    help="The file of examples that RUN was made from, where that was no installed "
    "data set and a metric reads a field of the input.",
)
@params_option
@jobs_option
@observer_option
@new_run_options
@plugin_option
def rescore_command(
    run: str,
    is_all: bool,
    metrics: tuple[str, ...],
    params: Path | None,
    data: str | None,
    jobs: int,
    observers: tuple[str, ...],
    folder: Path,
    quiet: bool,
    **how: Any,
) -> None:
    """Compute further metrics of a run from its folder.

    \b
    Examples:
      evalkit rescore latest -m macro-f1
      evalkit rescore 3f2a -m macro-f1:labels=seen -m accuracy
      evalkit rescore gpt@hatecheck -m my-metric -o runs --json
      evalkit rescore --all -m squad-em

    Writes a new run that names RUN (a path, the start of an id, a model or `latest`) as
    its parent and holds its scores too. Only metrics of a field of the input read the
    data. To read responses in another way: evalkit eval DATASET --predictions RUN.

    Exit codes: 0 done; 1 an error, such as a run that is not there, or a metric that
    failed; 2 wrong usage.
    """  # noqa: D301 - click reads the backspace
    from evalkit import Registry, rescore
    from evalkit.errors import EvalkitError
    from evalkit_cli.printing.reports import print_report
    from evalkit_cli.printing.run_views import print_new_run

    if not metrics or is_all == bool(run):
        raise click.UsageError("name a metric (-m NAME), and a RUN or --all.")
    registry, results, is_failed = Registry(), [], False
    shared: dict[str, Any] = {"data": data, "folder": folder, "out": folder}
    shared |= {"jobs": jobs, "observers": observers, "registry": registry}
    with plugin_output_to_stderr(), watched(quiet) as progress:
        chosen = chosen_metrics(registry, metrics, params) or []
        if is_all:
            targets = _leaves(folder, chosen)
        else:
            targets = [(run_paths([run], folder, quiet=quiet)[0], chosen)]
        for path, lacking in targets:
            try:
                results.append(rescore(path, lacking, progress=progress, **shared))
            except EvalkitError as error:
                if not is_all:
                    raise
                is_failed = True
                echo(f"evalkit: error: {path}: {error}", err=True)
    if not is_all:
        print_new_run(results[0], quiet=quiet, **how)
    elif how.pop("as_json"):
        echo_json([result.to_dict() for result in results])
    else:
        form, names = how.pop("table_format"), {str(each.dataset) for each in results}
        for name in [None] if form == "csv" and results else sorted(names):
            group = [each for each in results if name in (None, each.dataset)]
            print_report(group, form, quiet=quiet, **how)
    if is_failed or any(result.is_failed for result in results):
        raise click.exceptions.Exit(1)


def _leaves(folder: Path, metrics: list[Bound]) -> list[tuple[Path, list[Bound]]]:
    """Return the complete runs of original examples, and the metrics that each lacks.

    Runs that were rescored are left out: the newer ones hold their scores, too.
    """
    from evalkit.errors import StorageError
    from evalkit.reporting import count_of
    from evalkit.runs import list_runs

    named = [each for each in list_runs(folder) if each.is_named]
    runs = [each for each in named if each.record.perturbation is None]
    if not runs:
        raise StorageError(f"{folder}: no complete run found")
    parents = {each.record.parent for each in runs}
    leaves = [each for each in runs if each.record.fingerprint not in parents]
    targets = [
        (leaf.path, [x for x in metrics if x.name not in leaf.record.metric_names])
        for leaf in leaves
    ]
    lacking = [target for target in targets if target[1]]
    if skipped := len(leaves) - len(lacking):
        text = f"{count_of(skipped, 'run')} skipped: all metrics are there already"
        echo(f"evalkit: notice: {text}", err=True)
    return lacking
