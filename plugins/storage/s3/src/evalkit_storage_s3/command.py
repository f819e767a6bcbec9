"""`evalkit publish`."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalkit_cli.commanding import (
    echo,
    echo_json,
    folder_option,
    json_option,
    plugin_output_to_stderr,
)

if TYPE_CHECKING:
    from evalkit_storage_s3.publishing import Published


@click.command("publish")
@click.argument("what", metavar="DATASET|FILE|RUN")
@click.argument("place", metavar="URI")
@click.option("--task", metavar="NAME", help="The task of a file.")
@click.option("--split", metavar="NAME", help="Split of a data set.")
@click.option(
    "--name",
    metavar="NAME",
    help="What a data set is published as; its own by default.",
)
@click.option(
    "--perturb-prefix",
    "prefix",
    metavar="PREFIX",
    help="Put PREFIX- before the name: FILE holds perturbed copies.",
)
@click.option(
    "--predictions-for",
    "dataset",
    metavar="DATASET",
    help="FILE holds a model's predictions for this data set, or file of examples.",
)
@click.option(
    "--model", metavar="NAME", help="Name of that model; by default the file's."
)
@click.option("--run", "is_run", is_flag=True, help="Publish a run.")
@click.option("--dry-run", is_flag=True, help="Say what would be written.")
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
    """Publish a data set, predictions or a run in a bucket.

    \b
    Examples:
      evalkit publish sample-nli s3://bucket
      evalkit publish my-set.jsonl s3://bucket --task nli
      evalkit publish fairness-my-set.jsonl s3://bucket --task nli --perturb-prefix fairness
      evalkit publish my-model.jsonl s3://bucket --predictions-for sample-nli
      evalkit publish latest s3://bucket --run

    \b
    Files go to where a benchmark host looks for them:
      datasets/TASK/NAME.jsonl, datasets/TASK/PREFIX-NAME.jsonl,
      predictions/MODEL/TASK/NAME.jsonl, runs/DATASET/ID/

    Beside each file a manifest says its rows, size and SHA-256, and version and licence
    of a data set. What is there already with the same content stays; another file is
    replaced only with --overwrite, and a run never.
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
    from evalkit.storage import uri_of
    from evalkit_storage_s3 import publishing

    if not (is_run or task or dataset) and is_file_name(what):
        raise click.UsageError(
            f"say what {what} holds: examples of --task NAME, or a model's predictions "
            "--predictions-for DATASET; --run publishes a run."
        )
    root = uri_of(place)
    with (
        tempfile.TemporaryDirectory(prefix="evalkit-publish-") as staging,
        plugin_output_to_stderr(),
    ):
        if is_run:
            done = _publish_run(what, root, folder, dry_run)
        else:
            if dataset is not None:
                found = publishing.predictions(
                    what, root, dataset=dataset, task=task, model=model
                )
            else:
                found = publishing.data_set(
                    what,
                    root,
                    Path(staging),
                    task=task,
                    split=split,
                    name=name,
                    prefix=prefix,
                )
            done = publishing.publish(found, overwrite=overwrite, dry_run=dry_run)
    _report(done, as_json)
    if dataset is not None and not as_json and not dry_run:
        _say_how_to_evaluate(done, root, dataset, task)


def _say_how_to_evaluate(
    done: Published, root: str, dataset: str, task: str | None
) -> None:
    """Print the command for published predictions, whose file has no model's name."""
    from evalkit.catalog import is_file_name
    from evalkit.storage import join

    is_file = is_file_name(dataset)
    data = ["--data", dataset, "--task", str(task)] if is_file else [dataset]
    model = done.uri.removeprefix(join(root, "predictions", "")).partition("/")[0]
    answers = ["-p", f"{model}={done.uri}", "-o", join(root, "runs")]
    echo(f"next: {shlex.join(['evalkit', 'eval', *data, *answers])}", err=True)


def _publish_run(name: str, root: str, folder: Path, dry_run: bool) -> Published:
    from evalkit.runs import find_run, send_run
    from evalkit.storage import join
    from evalkit_storage_s3.publishing import Published

    path = find_run(name, folder)
    runs = join(root, "runs")
    uri, is_new = send_run(path, runs, dry_run=dry_run)
    done = "would be written" if dry_run else "written"
    return Published(uri, None, None, None, done if is_new else "there")


def _report(done: Published, as_json: bool) -> None:
    if as_json:
        echo_json(done._asdict())
        return
    echo(done.uri)
    rows = "" if done.rows is None else f"{done.rows:,} rows, {done.size:,} bytes: "
    said = "was there already, the same" if done.state == "there" else done.state
    echo(f"{rows}{said}", err=True)
