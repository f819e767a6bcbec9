"""`evalkit predict`."""

from __future__ import annotations

from typing import Any

import click

from evalkit_cli.commanding import echo, json_option, plugin_output_to_stderr, watched


@click.command("predict")
@click.argument("dataset", required=False)
@click.option("--data", metavar="PATH", help="File of examples; needs --task.")
@click.option("--task", metavar="NAME", help="Task of a file of examples.")
@click.option("--split", metavar="NAME", help="Split of the data set.")
@click.option("-n", "--limit", type=click.IntRange(1), help="At most so many examples.")
@click.option(
    "--model",
    required=True,
    metavar="NAME[:KEY=VALUE,…]|FILE.py:FUNCTION",
    help="The model to ask.",
)
@click.option("--prompt", metavar="NAME|FILE", help="How it is asked.")
@click.option(
    "--concurrency", type=click.IntRange(1), help="The most requests at once."
)
@click.option("--retries", type=click.IntRange(0), default=5, show_default=True)
@click.option("--no-cache", is_flag=True, help="Ask anew, and keep no reply.")
@click.option("-o", "--out", required=True, metavar="FILE", help="File to write.")
@click.option("--overwrite", is_flag=True, help="Replace the file if it is there.")
def predict_command(
    dataset: str | None,
    data: str | None,
    task: str | None,
    split: str | None,
    limit: int | None,
    model: str,
    prompt: str | None,
    concurrency: int | None,
    retries: int,
    no_cache: bool,
    out: str,
    overwrite: bool,
) -> None:
    """Ask a model about each example of a data set, and write its answers.

    \b
    Examples:
      evalkit predict sample-sentiment --model constant:answer=neutral -o constant.jsonl
      evalkit eval sample-sentiment -p constant.jsonl
    """  # noqa: D301 - click reads the backspace
    from evalkit_commands_predict.predicting import predict
    from evalkit_commands_predict.settings import Asked

    asked = Asked(concurrency=concurrency, retries=retries, is_cached=not no_cache)
    with plugin_output_to_stderr():
        predicted = predict(
            dataset,
            model,
            data=data,
            task=task,
            split=split,
            limit=limit,
            prompt=prompt,
            asked=asked,
        )
    predicted.save(out, overwrite=overwrite)
    failed = f", {predicted.failed:,} of them failed" if predicted.failed else ""
    echo(f"{len(predicted.rows):,} rows written to {out}{failed}", err=True)


_UNUSED: tuple[Any, ...] = (json_option, watched)
