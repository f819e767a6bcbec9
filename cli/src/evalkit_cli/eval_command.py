"""`evalkit eval`."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.completion import complete_names
from evalkit_cli.streams import echo_json, plugin_output_to_stderr

if TYPE_CHECKING:
    from evalkit.registry import Registry
    from evalkit.results import Result

FORMATS = ("table", "md", "csv", "latex")
_PATIENCE = 1.0
"""Seconds before the progress bar is shown."""

_ON_PROBLEM = click.Choice(("error", "wrong", "skip"))
_ON_DUPLICATE = click.Choice(("error", "first", "last"))


@click.command("eval")
@click.argument("dataset", shell_complete=complete_names("datasets"))
@click.option(
    "-p",
    "--predictions",
    "files",
    multiple=True,
    metavar="[MODEL=]FILE",
    help="JSON lines, or plain lines in the data's order; repeat it for several "
    "models. Without it, predictions that ship with the data set are scored.",
)
@click.option(
    "--model", metavar="NAME", help="Name of the model; default: file's stem."
)
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME[:KEY=VALUE,…]",
    shell_complete=complete_names("metrics"),
    help="Compute this metric instead of the task's; repeatable.",
)
@click.option(
    "--params",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="EVALKIT_PARAMS",
    help="JSON file of parameters by name of the metric.",
)
@click.option("--split", envvar="EVALKIT_SPLIT", help="Split of the data set.")
@click.option(
    "--on-missing",
    type=_ON_PROBLEM,
    default="error",
    show_default=True,
    envvar="EVALKIT_ON_MISSING",
    help="What to do about examples without a prediction.",
)
@click.option(
    "--on-invalid",
    type=_ON_PROBLEM,
    default="error",
    show_default=True,
    envvar="EVALKIT_ON_INVALID",
    help="What to do about predictions that break the task's rules.",
)
@click.option(
    "--on-duplicate",
    type=_ON_DUPLICATE,
    default="error",
    show_default=True,
    envvar="EVALKIT_ON_DUPLICATE",
    help="What to do about predictions that repeat an id.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    envvar="EVALKIT_CONFIDENCE",
    help="Probability of the confidence intervals.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    envvar="EVALKIT_SEED",
    help="Seed of the bootstrap.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    envvar="EVALKIT_OUT",
    help="Folder that runs are written to.",
)
@click.option(
    "--no-examples",
    is_flag=True,
    envvar="EVALKIT_NO_EXAMPLES",
    help="Leave answers, predictions and rejected values out of the run folder.",
)
@click.option(
    "--observer",
    "observers",
    multiple=True,
    envvar="EVALKIT_OBSERVERS",
    shell_complete=complete_names("observers"),
    help="Load this observer; repeatable.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    envvar="EVALKIT_JSON",
    help="Print run.json; a list of them for several models.",
)
@click.option(
    "--format",
    "table_format",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    envvar="EVALKIT_FORMAT",
    help="How scores are printed.",
)
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    envvar="EVALKIT_QUIET",
    help="Print the scores and nothing else.",
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    envvar="EVALKIT_VERBOSE",
    help="Print every metric for every tag.",
)
def eval_command(
    dataset: str,
    files: tuple[str, ...],
    model: str | None,
    metrics: tuple[str, ...],
    params: Path | None,
    out: Path,
    as_json: bool,
    table_format: str,
    quiet: bool,
    verbose: bool,
    no_examples: bool,
    **options: Any,
) -> None:
    """Score predictions on a data set, for the whole set and every tag.

    \b
    Examples:
      evalkit eval sample-sentiment
      evalkit eval hatecheck --predictions my-model.jsonl
      evalkit eval hatecheck -p a=run1.jsonl -p b=run2.jsonl -m macro-f1:labels=seen

    Exit codes: 0 done; 1 an error, refused predictions, or a metric that failed; 2
    wrong usage.
    """  # noqa: D301 - click reads the backspace
    from evalkit.errors import EvalkitError
    from evalkit.registry import Registry

    dataset = dataset.removeprefix("datasets/")
    if any(mark in dataset.partition("@")[0] for mark in ("/", ".")):
        raise click.UsageError(
            f"{dataset!r} looks like a file; scoring a file without a data set plugin "
            "is not supported yet. Name a data set (see `evalkit list datasets`)."
        )
    registry = Registry()
    with plugin_output_to_stderr():
        models = _models(registry, dataset, files, model, quiet)
        chosen = _chosen_metrics(registry, metrics, params)
        extra = _extra_metrics(registry, dataset) if chosen is None else []
        with _watched(quiet) as progress:
            results = []
            failed = False
            for name, path in models:
                try:
                    result = _evaluate(
                        registry,
                        dataset,
                        path,
                        model=name,
                        metrics=chosen,
                        extra_metrics=extra,
                        out=out,
                        include_examples=not no_examples,
                        progress=progress,
                        **options,
                    )
                except EvalkitError as error:
                    if len(models) == 1:
                        raise
                    # the other models' scores are not lost with this one's
                    click.echo(f"evalkit: error: {path}: {error}", err=True)
                    failed = True
                else:
                    results.append(result)
    if results:
        _print(results, as_json, table_format, quiet=quiet, verbose=verbose)
    if failed or any(result.status != "complete" for result in results):
        raise click.exceptions.Exit(1)


def _models(
    registry: Registry,
    dataset: str,
    files: tuple[str, ...],
    model: str | None,
    quiet: bool,
) -> list[tuple[str | None, str]]:
    if not files and model is not None:
        raise click.UsageError("--model needs the predictions: -p FILE.")
    if not files:
        bound = registry.load("datasets", dataset)
        shipped = bound.attributes["example_predictions"]
        if not shipped:
            raise click.UsageError(
                f"{dataset} ships no predictions; give some with --predictions FILE."
            )
        if not quiet:
            names = ", ".join(shipped)
            click.echo(
                f"no --predictions given: scoring those that ship with {dataset} "
                f"({names})",
                err=True,
            )
        return [(name, str(path)) for name, path in shipped.items()]
    models = [_split_model(given) for given in files]
    if model is not None:
        if len(models) > 1:
            raise click.UsageError(
                "--model names a single model; give several as -p MODEL=FILE."
            )
        models = [(model, models[0][1])]
    from evalkit.prediction_files import model_name

    stems = [name or model_name(Path(path)) for name, path in models]
    twice = next((name for name in stems if stems.count(name) > 1), None)
    if twice is not None:
        raise click.UsageError(
            f"two models are called {twice!r}; name them with -p MODEL=FILE."
        )
    return models


def _split_model(given: str) -> tuple[str | None, str]:
    name, equals, path = given.partition("=")
    if equals and name and path and not Path(given).exists():
        return name, path
    return None, given


def _chosen_metrics(
    registry: Registry, metrics: tuple[str, ...], params: Path | None
) -> list[Any] | None:
    if not metrics:
        if params is not None:
            raise click.UsageError("--params needs the metrics named with --metric.")
        return None
    from evalkit.names import parse_reference

    by_name = _read_params(params) if params is not None else {}
    names = [parse_reference(metric).name for metric in metrics]
    for name in by_name:
        if name not in names:
            raise click.UsageError(
                f"{params} has parameters of {name!r}, which --metric does not name."
            )
    return [
        registry.load("metrics", metric, by_name.get(name))
        for metric, name in zip(metrics, names, strict=True)
    ]


def _read_params(path: Path) -> dict[str, Any]:
    from evalkit.errors import DataError

    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path}: is not JSON: {error}") from error
    if not isinstance(values, dict) or not all(
        isinstance(item, dict) for item in values.values()
    ):
        raise DataError(
            f"{path}: must hold an object of objects, such as "
            '{"macro-f1": {"labels": "declared"}}'
        )
    return values


def _extra_metrics(registry: Registry, dataset: str) -> list[str]:
    from evalkit_cli.settings import extra_metrics

    task = registry.load("datasets", dataset).attributes["task"]
    return extra_metrics(Path.cwd(), task)


def _evaluate(registry: Registry, dataset: str, path: str, **options: Any) -> Result:
    """Evaluate one model; say why where its predictions are refused."""
    from evalkit.errors import AlignmentError
    from evalkit.evaluation import evaluate

    try:
        return evaluate(dataset, path, registry=registry, **options)
    except AlignmentError as error:
        if error.result is None:
            raise
        click.echo(f"evalkit: error: {error}", err=True)
        return error.result


@contextlib.contextmanager
def _watched(quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """Show a progress bar once the work takes a while, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        yield lambda _text, _share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    work = bar.add_task("", total=1.0)
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda text, share: bar.update(work, description=text, completed=share)
    finally:
        timer.cancel()
        timer.join()
        if bar.live.is_started:
            bar.stop()


def _print(
    results: list[Result], as_json: bool, table_format: str, **how: bool
) -> None:
    if as_json:
        records = [result.to_dict() for result in results]
        shown = records[0] if len(records) == 1 else records
        echo_json(shown)
        return
    from evalkit_cli.reports import print_report

    shown_results = [result for result in results if result.status != "refused"]
    if shown_results:
        print_report(shown_results, table_format, **how)
