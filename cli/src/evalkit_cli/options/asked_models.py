"""Asks models for the predictions that are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from evalkit_cli.options.prediction_sources import Job
from evalkit_cli.printing.streams import echo

if TYPE_CHECKING:
    from evalkit.asking import Predicted


class Chosen(NamedTuple):
    """Which examples are asked about, and how."""

    dataset: str
    task: str | None
    split: str | None
    limit: int | None
    filters: Mapping[str, Sequence[str]]
    asking: Mapping[str, Any]
    """The arguments that `read_asked` gives."""
    progress: Callable[[str, float], None]


def jobs_of_models(
    models: Sequence[str], name: str | None, chosen: Chosen, folder: Path
) -> list[Job]:
    """Ask models about a data set, and make a job of what each answered.

    Args:
        models: The models.
        name: What a single model is called in its run; by default what it says.
        chosen: Which examples are asked about, and how.
        folder: Where the predictions are kept while they are read.

    Returns:
        The jobs.

    Raises:
        EvalkitError: A model cannot be asked, or asking ended early.
        UsageError: Names do not tell the models apart.
    """
    if name is not None and len(models) > 1:
        raise click.UsageError("--model-name names a single model.")
    jobs: list[Job] = []
    for number, model in enumerate(models):
        predicted = _ask(model, chosen)
        own = name or predicted.model
        if own in [job.model for job in jobs]:
            raise click.UsageError(
                f"two models are called {own!r}; evaluate one at a time, and name it "
                "with --model-name."
            )
        jobs.append(Job(chosen.dataset, own, _kept(predicted, folder / str(number))))
    return jobs


def ask_about_copies(
    model: str, files: Sequence[str], chosen: Chosen, folder: Path
) -> list[str]:
    """Ask a model about perturbed copies.

    Args:
        model: The model.
        files: The files of copies.
        chosen: Which examples are asked about, and how; only their copies are.
        folder: Where the predictions are kept while they are read.

    Returns:
        A file of predictions for each.

    Raises:
        EvalkitError: The model cannot be asked, or asking ended early.
    """
    from evalkit import load_inputs

    originals = load_inputs(
        chosen.dataset,
        task=chosen.task,
        split=chosen.split,
        limit=chosen.limit,
        filters=chosen.filters,
    )
    is_part = len(originals) < originals.examples
    ids = [str(row["uid"]) for row in originals.rows]
    found = []
    for number, file in enumerate(files):
        of_copies = chosen._replace(
            dataset=file,
            task=originals.task,
            split=None,
            limit=None,
            filters={"column.input_id": ids} if is_part else {},
        )
        predicted = _ask(
            model,
            of_copies,
            {
                "dataset": chosen.dataset,
                "task": chosen.task,
                "split": chosen.split,
                "limit": chosen.limit,
                "filters": chosen.filters,
            },
        )
        found.append(_kept(predicted, folder / f"copies-{number}"))
    return found


def _ask(
    model: str, chosen: Chosen, copies_of: Mapping[str, Any] | None = None
) -> Predicted:
    from evalkit.asking import predict
    from evalkit.errors import UnknownPluginError

    try:
        predicted = predict(
            chosen.dataset,
            model,
            task=chosen.task,
            split=chosen.split,
            limit=chosen.limit,
            filters=chosen.filters,
            progress=chosen.progress,
            copies_of=copies_of,
            **chosen.asking,
        )
    except UnknownPluginError as error:
        if "models/" not in str(error) and "model" not in str(error):
            raise
        raise UnknownPluginError(
            f"{error}. Without predictions --model is the model to ask; to name the "
            "model of a file, add -p FILE"
        ) from error
    for reason, count in predicted.errors.items():
        echo(f"evalkit: notice: {count:,} requests failed: {reason}", err=True)
    return predicted


def _kept(predicted: Predicted, folder: Path) -> str:
    """Write predictions to a file whose name is that of the model, if it can be."""
    folder.mkdir()
    stem = "".join(c if c.isalnum() or c in "-_" else "-" for c in predicted.model)
    return str(predicted.save(folder / f"{stem[:100] or 'model'}.jsonl"))
