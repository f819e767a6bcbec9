"""`evalkit predict`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.commanding import (
    asking_options,
    chosen_datasets,
    complete_names,
    echo,
    echo_json,
    example_options,
    json_option,
    plugin_option,
    plugin_output_to_stderr,
    print_plans,
    quiet_option,
    read_asked,
    read_example_options,
    read_filters,
    refuse_given,
    several_data_options,
    watched,
)

LIMITS = (
    *("concurrency", "retries", "timeout", "max_errors", "requests_per_minute"),
    *("tokens_per_minute", "token_limit", "cost_limit", "cached", "overwrite"),
)
"""Parameters that say nothing of what is asked."""

if TYPE_CHECKING:
    from evalkit_commands_predict.places import Place
    from evalkit_models_base import Predicted


@click.command("predict")
@several_data_options
@click.option(
    "--model",
    "models",
    required=True,
    multiple=True,
    metavar="NAME[:KEY=VALUE,…]|FILE.py:FUNCTION",
    shell_complete=complete_names("models"),
    help="The model to ask; `evalkit list models` shows those that are installed; "
    "repeat it for several.",
)
@asking_options
@example_options
@click.option(
    "--dry-run",
    is_flag=True,
    help="Ask nothing: show the first requests, and how many there would be.",
)
@click.option(
    "-o",
    "--out",
    metavar="FILE|FOLDER",
    help="File of JSON lines to write; beside it NAME.system.json says what made it, "
    "and NAME.job.json what that took. Of several data sets a folder, with a file for "
    "each; of several models one with such a folder for each.",
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it is there.")
@json_option
@quiet_option
@plugin_option
def predict_command(
    datasets: tuple[str, ...],
    data: str | None,
    task: str | None,
    split: str | None,
    limit: int | None,
    filters: tuple[str, ...],
    models: tuple[str, ...],
    dry_run: bool,
    out: str | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Ask a model about each example of a data set, and write its answers.

    \b
    Examples:
      evalkit predict sample-sentiment --model constant:answer=neutral -o constant.jsonl
      evalkit predict --data mine.jsonl --task nli --model mine.py:predict -o mine-nli.jsonl
      evalkit predict sample-nli --model echo --dry-run
      evalkit predict sample-nli sample-sentiment --model mine.py:predict -o mine
      evalkit eval --predictions-dir mine
      evalkit eval sample-sentiment -p constant.jsonl

    Replies of models on another machine are cached: a command that was interrupted
    goes on when it is given again, and one that is repeated asks nothing. A request that failed for good is a row with its `error`,
    which is invalid, and never an empty answer.
    """  # noqa: D301, E501 - click reads the backspace
    if (out is None) != dry_run:
        raise click.UsageError("give either -o FILE or --dry-run.")
    if dry_run:
        refuse_given(LIMITS, "means nothing with --dry-run, which asks nothing.")
    names = chosen_datasets(datasets, data, task)
    asked = read_asked(options)
    chosen: dict[str, Any] = {
        "task": task,
        "split": split,
        "limit": limit,
        "filters": read_filters(filters),
        **read_example_options(options),
        **{name: value for name, value in asked.items() if name != "asked"},
    }
    if dry_run:
        with plugin_output_to_stderr():
            plans = _plans(models, names, chosen, asked["asked"].price)
        print_plans(plans, as_json=as_json)
        return
    assert out is not None
    from evalkit_commands_predict.places import places_of_answers

    with plugin_output_to_stderr(), watched(quiet) as progress:
        places = places_of_answers(models, names, out, overwrite=overwrite)
        chosen |= {"asked": asked["asked"], "progress": progress}
        said = [
            _answered(place, chosen, overwrite, len(places) > 1, quiet or as_json)
            for place in places
        ]
    done = [each for each in said if each is not None]
    if as_json:
        echo_json(done[0] if len(places) == 1 else done)
    if len(done) < len(said):
        raise click.exceptions.Exit(1)


def _answered(
    place: Place,
    chosen: dict[str, Any],
    overwrite: bool,
    is_one_of_several: bool,
    quiet: bool,
) -> dict[str, Any] | None:
    """Ask a model about a dataset, and save the answers; None if one of several fails.

    The answers of the others are not lost with it.
    """
    from evalkit.errors import EvalkitError
    from evalkit_models_base import predict

    try:
        found = predict(place.dataset, place.model, **chosen)
        if is_one_of_several:
            place.file.parent.mkdir(parents=True, exist_ok=True)
        found.save(place.file, overwrite=overwrite)
    except EvalkitError as error:
        if not is_one_of_several:
            raise
        echo(f"evalkit: error: {place.title}: {error}", err=True)
        return None
    return _report(found, place, is_one_of_several, quiet)


def _plans(
    models: tuple[str, ...],
    names: list[str],
    chosen: dict[str, Any],
    price: Any,
) -> list[dict[str, Any]]:
    """Say what would be asked of each model about each data set."""
    from evalkit_models_base import plan_requests

    return [
        plan_requests(name, model, **chosen, price=price)
        for name in names
        for model in models
    ]


def _report(
    predicted: Predicted, place: Place, is_one_of_several: bool, quiet: bool
) -> dict[str, Any]:
    """Say what came of a model on a data set, and return it as JSON has it."""
    from evalkit.reporting import count_of

    title = f"{place.title}: " if is_one_of_several else ""
    for notice in predicted.notices:
        echo(f"evalkit: notice: {title}{notice}", err=True)
    for reason, count in predicted.errors.items():
        failed = count_of(count, "request")
        echo(f"evalkit: notice: {title}{failed} failed: {reason}", err=True)
    if not quiet:
        cached = f", {predicted.from_cache:,} from the cache"
        kept = cached if predicted.from_cache else ""
        rows = count_of(len(predicted.rows), "row")
        echo(f"{rows} written to {place.file}{kept}", err=True)
    return {
        "file": str(place.file),
        "rows": len(predicted.rows),
        "failed": predicted.failed,
        "from_cache": predicted.from_cache,
        "system": predicted.system,
        "job": predicted.usage,
    }
