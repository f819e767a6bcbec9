"""`evalkit predict`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.commanding import (
    asking_options,
    chosen_dataset,
    complete_names,
    data_options,
    echo,
    example_options,
    json_option,
    plugin_output_to_stderr,
    print_plans,
    quiet_option,
    read_asked,
    read_example_options,
    read_filters,
    refuse_given,
    watched,
)

LIMITS = (
    *("concurrency", "retries", "timeout", "max_errors", "requests_per_minute"),
    *("tokens_per_minute", "token_limit", "cost_limit", "cached", "overwrite"),
)
"""Parameters that say nothing of what is asked."""

if TYPE_CHECKING:
    from evalkit_commands_predict.predicting import Predicted


@click.command("predict")
@data_options
@click.option(
    "--model",
    required=True,
    metavar="NAME[:KEY=VALUE,…]|FILE.py:FUNCTION",
    shell_complete=complete_names("models"),
    help="The model to ask; `evalkit list models` shows those that are installed.",
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
    metavar="FILE",
    help="File of JSON lines to write; beside it NAME.system.json says what made it, "
    "and NAME.job.json what that took.",
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it is there.")
@json_option
@quiet_option
def predict_command(
    dataset: str | None,
    data: str | None,
    task: str | None,
    split: str | None,
    limit: int | None,
    filters: tuple[str, ...],
    model: str,
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
      evalkit eval sample-sentiment -p constant.jsonl

    Replies are kept, also answers of functions in files and of programs, so that a
    command that was interrupted goes on when it is given again, and one that is
    repeated asks nothing. A request that failed for good is a row with its `error`,
    which is invalid, and never an empty answer.
    """  # noqa: D301, E501 - click reads the backspace
    if (out is None) != dry_run:
        raise click.UsageError("give either -o FILE or --dry-run.")
    if dry_run:
        refuse_given(LIMITS, "means nothing with --dry-run, which asks nothing.")
    name = chosen_dataset(dataset, data, task)
    asked = read_asked(options)
    chosen: dict[str, Any] = {
        "task": task,
        "split": split,
        "limit": limit,
        "filters": read_filters(filters),
        **read_example_options(options),
        **{name: value for name, value in asked.items() if name != "asked"},
    }
    from evalkit_commands_predict.predicting import predict
    from evalkit_commands_predict.saving import refuse_present

    if dry_run:
        from evalkit_commands_predict.estimating import plan_requests

        with plugin_output_to_stderr():
            planned = plan_requests(name, model, **chosen, price=asked["asked"].price)
        print_plans([planned], as_json=as_json)
        return
    assert out is not None
    refuse_present(out, overwrite=overwrite)
    with plugin_output_to_stderr(), watched(quiet) as progress:
        predicted = predict(
            name, model, **chosen, asked=asked["asked"], progress=progress
        )
        predicted.save(out, overwrite=overwrite)
    _report(predicted, out, as_json, quiet)


def _report(predicted: Predicted, out: str, as_json: bool, quiet: bool) -> None:
    from evalkit.reporting import count_of
    from evalkit_cli.commanding import echo_json

    if as_json:
        echo_json(
            {
                "file": out,
                "rows": len(predicted.rows),
                "failed": predicted.failed,
                "from_cache": predicted.from_cache,
                "system": predicted.system,
                "job": predicted.usage,
            }
        )
    for notice in predicted.notices:
        echo(f"evalkit: notice: {notice}", err=True)
    for reason, count in predicted.errors.items():
        echo(
            f"evalkit: notice: {count_of(count, 'request')} failed: {reason}", err=True
        )
    if not quiet and not as_json:
        cached = f", {predicted.from_cache:,} from the cache"
        kept = cached if predicted.from_cache else ""
        echo(f"{count_of(len(predicted.rows), 'row')} written to {out}{kept}", err=True)
