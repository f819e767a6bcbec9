"""`evalkit validate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.options.benchmarks import check_benchmark, expand_dataset
from evalkit_cli.options.choices import (
    adapter_option,
    chosen_dataset,
    cluster_option,
    data_options,
    extract_option,
    map_option,
    map_predictions_option,
    normalise_option,
    policy_options,
)
from evalkit_cli.options.evaluation import validation_options
from evalkit_cli.options.local_plugins import plugin_option
from evalkit_cli.options.prediction_sources import (
    Job,
    jobs_of_files,
    name_standard_input,
    spool_folder,
)
from evalkit_cli.options.runs import json_option, quiet_with
from evalkit_cli.options.scoring import engine_option, load_engine, running
from evalkit_cli.printing.corrected_commands import echo_correction, echo_error
from evalkit_cli.printing.progress_bar import watched
from evalkit_cli.printing.streams import echo, echo_json, plugin_output_to_stderr

if TYPE_CHECKING:
    from evalkit import Validation

_SHOWN = 5

_DEFAULTS: tuple[Any, ...] = (None, (), [], {}, False, "error")
"""Values of options that were not given."""


@click.command("validate")
@data_options
@click.option(
    "-p",
    "--predictions",
    "files",
    multiple=True,
    metavar="[MODEL=]FILE",
    help="Predictions to check, in any format; - for the standard input; repeatable. "
    "Without it, only the examples are checked.",
)
@map_option
@map_predictions_option
@normalise_option
@extract_option
@adapter_option
@cluster_option
@policy_options
@engine_option
@click.option(
    "--problems",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write every problem to this file, one JSON object a line; with its model "
    "where there are several.",
)
@json_option
@quiet_with("Print only problems.")
@plugin_option
def validate_command(
    dataset: str | None,
    data: str | None,
    task: str | None,
    files: tuple[str, ...],
    problems: Path | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Check examples and predictions, and score nothing.

    \b
    Examples:
      evalkit validate hatecheck
      evalkit validate --data my-set.csv --task nli
      evalkit validate hatecheck -p my-model.jsonl --problems problems.jsonl

    Exit codes: 0 an evaluation would not refuse; 1 it would, or an error; 2 wrong
    usage.
    """  # noqa: D301 - click reads the backspace
    from evalkit import Registry

    name = chosen_dataset(dataset, data, task)
    if not files and all(value in _DEFAULTS for value in options.values()):
        expansion = expand_dataset(name, Registry())
        if expansion.name:
            check_benchmark(expansion, as_json=as_json, quiet=quiet)
            return
    found, failed = _validate(name, task, files, options, quiet)
    if problems is not None:
        _write(found, problems, with_model=len(files) > 1)
    if as_json:
        reports = [_as_json(each) for each in found]
        echo_json(reports[0] if len(files) < 2 else reports)
    else:
        for each in found:
            _print(each, quiet, problems)
    if failed or any(each.refusals for each in found):
        raise click.exceptions.Exit(1)


def _validate(
    name: str,
    task: str | None,
    files: tuple[str, ...],
    options: dict[str, Any],
    quiet: bool,
) -> tuple[list[Validation], bool]:
    """Check each file; say whether one of several could not be read."""
    from evalkit import Registry, validate_with
    from evalkit.errors import EvalkitError

    registry, chosen = Registry(), validation_options(options)
    engine = load_engine(options["engine"], registry)
    found = []
    failed = False
    with plugin_output_to_stderr(), spool_folder() as folder:
        jobs: list[Job | None] = [None]
        if files:
            jobs = [*jobs_of_files(name, files, None, folder)]
        with watched(quiet) as progress, running(engine, progress):
            for job in jobs:
                try:
                    checked = validate_with(
                        name,
                        job and job.path,
                        chosen,
                        task=task,
                        model=job and job.model,
                        engine=engine,
                        registry=registry,
                        progress=progress,
                    )
                except EvalkitError as error:
                    if len(jobs) == 1:
                        raise
                    echo_error(error, name_standard_input(str(error), folder))
                    failed = True
                else:
                    found.append(checked)
    return found, failed


def _write(found: list[Validation], given: Path, with_model: bool) -> None:
    from evalkit.places import file_to_write

    with file_to_write(given, overwrite=True) as path:
        _write_lines(found, path, with_model)


def _write_lines(found: list[Validation], path: Path, with_model: bool) -> None:
    from evalkit.errors import StorageError
    from evalkit.runs import problem_line

    try:
        with path.open("w", encoding="utf-8", errors="backslashreplace") as stream:
            for each in found:
                for problem in each.problems:
                    line = problem_line(problem)
                    if with_model:
                        row = {"model": each.model, **json.loads(line)}
                        line = json.dumps(row, ensure_ascii=False) + "\n"
                    stream.write(line)
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be written: {error.strerror or error}"
        ) from error


def _as_json(found: Validation) -> dict[str, Any]:
    from evalkit.runs import problem_line

    shown = [json.loads(problem_line(problem)) for problem in found.problems[:_SHOWN]]
    return {**found.to_dict(), "first_problems": shown}


def _print(found: Validation, quiet: bool, written: Path | None) -> None:
    from evalkit.reporting import STATUSES, describe

    if not quiet:
        what = f"{found.dataset} ({found.task}, split {found.split})"
        echo(f"{what}: {found.model}" if found.model else what)
        for status, count in found.counts.items():
            echo(f"  {status:<12} {count:>9}")
    for status in STATUSES:
        for problem in found.problems.first(status, _SHOWN):
            where = f"{found.place} {problem.line}: " if problem.line else ""
            uid = f" {problem.id!r}" if problem.id is not None else ""
            why = f": {describe(problem.violations)}" if problem.line else ""
            echo(f"{where}{status}{uid}{why}")
        more = found.counts.get(status, 0) - _SHOWN
        if more > 0:
            rest = f", see {written}" if written else "; --problems FILE has them all"
            echo(f"… and {more} more {status}{rest}")
    if quiet:
        return
    for notice in found.notices:
        echo(f"notice: {notice}")
    if found.refusals:
        echo(f"an evaluation would refuse this: {'; '.join(found.refusals)}")
        if found.mapping:
            echo_correction(found.mapping, "predictions")
    else:
        echo("ok")
