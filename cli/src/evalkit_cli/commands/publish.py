"""`evalkit publish`."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalkit_cli.options.runs import folder_option, json_option
from evalkit_cli.printing.streams import echo, echo_json, plugin_output_to_stderr

if TYPE_CHECKING:
    from evalkit_commands_publish import Published


@click.command("publish")
@click.argument("what", metavar="DATASET|FILE|RUN")
@click.argument("place", metavar="PLACE")
@click.option("--task", metavar="NAME", help="The task of a file.")
@click.option("--split", metavar="NAME", help="Split of a dataset.")
@click.option(
    "--name", metavar="NAME", help="Name to publish a dataset under. Default: its own."
)
@click.option(
    "--perturb-prefix",
    "prefix",
    metavar="PREFIX",
    help="Put PREFIX- before the name: FILE contains perturbed examples.",
)
@click.option(
    "--predictions-for",
    "dataset",
    metavar="DATASET",
    help="FILE contains a model's predictions for this dataset, or file of examples.",
)
@click.option(
    "--model", metavar="NAME", help="Name of that model. Default: the file's name."
)
@click.option("--run", "is_run", is_flag=True, help="Publish a run.")
@click.option("--dry-run", is_flag=True, help="Show what would be written.")
@click.option("--overwrite", is_flag=True, help="Replace another file that is there.")
@folder_option
@json_option
def publish_command(
    what: str,
    place: str,
    task: str | None,
    split: str | None,
    name: str | None,
    prefix: str | None,
    dataset: str | None,
    model: str | None,
    is_run: bool,
    dry_run: bool,
    overwrite: bool,
    folder: Path,
    as_json: bool,
) -> None:
    """Publish a dataset, predictions or a run in a bucket or a folder.

    \b
    Examples:
      evalkit publish sample-nli s3://bucket
      evalkit publish my-set.jsonl s3://bucket --task nli
      evalkit publish fairness-my-set.jsonl s3://bucket --task nli --perturb-prefix fairness
      evalkit publish my-model.jsonl s3://bucket --predictions-for sample-nli
      evalkit publish latest /mnt/shared --run

    \b
    Files are written to where a benchmark host looks for them:
      datasets/TASK/NAME.jsonl, datasets/TASK/PREFIX-NAME.jsonl,
      predictions/MODEL/TASK/NAME.jsonl, runs/DATASET/RUN/

    Beside each file a manifest says its rows, size and SHA-256, and for a dataset its
    version and license. A file with the same content stays; another file is replaced
    only with --overwrite, and a run never.
    """  # noqa: D301, E501 - click reads the backspace
    if dataset is None and model is not None:
        raise click.UsageError("--model is for --predictions-for.")
    if is_run and (dataset or prefix or name or task or split):
        raise click.UsageError("--run takes neither a task, a split, names nor data.")
    if dataset is not None and (prefix or name or split):
        raise click.UsageError(
            "--predictions-for takes no --name, --perturb-prefix or --split: "
            "predictions are published under the name of their data set."
        )
    from evalkit.catalog import is_file_name
    from evalkit_commands_publish import (
        prepare_dataset,
        prepare_predictions,
        publish,
        publish_run,
    )

    if not (is_run or task or dataset) and is_file_name(what):
        raise click.UsageError(
            f"say what {what} contains: examples of --task NAME, or a model's "
            "predictions --predictions-for DATASET; --run publishes a run."
        )
    with (
        tempfile.TemporaryDirectory(prefix="evalkit-publish-") as staging,
        plugin_output_to_stderr(),
    ):
        if is_run:
            done = publish_run(what, place, folder=folder, dry_run=dry_run)
        else:
            if dataset is not None:
                publication = prepare_predictions(
                    what, place, dataset=dataset, task=task, model=model
                )
            else:
                names = {"task": task, "split": split, "name": name, "prefix": prefix}
                publication = prepare_dataset(what, place, Path(staging), **names)
            done = publish(publication, overwrite=overwrite, dry_run=dry_run)
    _report(done, as_json)
    if dataset is not None and not as_json and not dry_run:
        _show_evaluation(done, place, dataset, task)


def _show_evaluation(
    done: Published, root: str, dataset: str, task: str | None
) -> None:
    """Print the command for published predictions, whose file has no model's name."""
    from evalkit.catalog import is_file_name
    from evalkit.places import join

    is_file = is_file_name(dataset)
    data = ["--data", dataset, "--task", str(task)] if is_file else [dataset]
    model = done.uri.rpartition("/predictions/")[2].partition("/")[0]
    answers = ["-p", f"{model}={done.uri}", "-o", join(root, "runs")]
    echo(f"next: {shlex.join(['evalkit', 'eval', *data, *answers])}", err=True)


def _report(done: Published, as_json: bool) -> None:
    if as_json:
        echo_json(done._asdict())
        return
    echo(done.uri)
    rows = "" if done.rows is None else f"{done.rows:,} rows, {done.size:,} bytes: "
    state = "was there already, the same" if done.state == "there" else done.state
    echo(f"{rows}{state}", err=True)
