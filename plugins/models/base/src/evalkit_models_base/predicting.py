"""From a data set to predictions."""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit import Registry
from evalkit.catalog import DataSource, model_name
from evalkit.errors import DataError, EvalkitError, StorageError
from evalkit.reporting import new_file
from evalkit_models_base.asking import Engine
from evalkit_models_base.limits import Asked, Progress, Told, Totals
from evalkit_models_base.model import BoundModel
from evalkit_models_base.models import run_name
from evalkit_models_base.planning import Planned, plan_all
from evalkit_models_base.prompts import Prompt
from evalkit_models_base.questions import Answer
from evalkit_models_base.records import FILE as REQUESTS
from evalkit_models_base.records import RequestRecords
from evalkit_models_base.requests import plain

if TYPE_CHECKING:
    import polars as pl


SYSTEM = ".system.json"
JOB = ".job.json"


def files_of(path: str | Path) -> tuple[Path, Path, Path, Path]:
    """Return the files that are written: predictions, system, job and requests."""
    path = Path(path)
    if path.suffix not in (".jsonl", ".ndjson"):
        raise StorageError(f"{path}: predictions are written as JSON lines (.jsonl)")
    stem = model_name(path)
    names = (SYSTEM, JOB, f".{REQUESTS}")
    system, job, requests = (path.with_name(stem + name) for name in names)
    return path, system, job, requests


def refuse_present(path: str | Path, *, overwrite: bool) -> None:
    """Refuse to write over files of predictions, before anything is asked.

    Raises:
        StorageError: One is there already, or the folder is not.
    """
    files = files_of(path)
    if not files[0].parent.is_dir():
        raise StorageError(f"{files[0].parent}: there is no such folder")
    for file in files:
        if file.exists() and not overwrite:
            raise StorageError(
                f"{file} is there already; choose another name, or say that it may be "
                "replaced (--overwrite, overwrite=True)"
            )


def save(
    path: str | Path,
    rows: Sequence[Mapping[str, Any]],
    system: Mapping[str, Any],
    job: Mapping[str, Any],
    requests: pl.DataFrame | None = None,
    *,
    overwrite: bool,
) -> Path:
    """Write predictions, the system, the job and the requests; predictions last."""
    place, system_file, job_file, requests_file = files_of(path)
    refuse_present(place, overwrite=overwrite)
    figures = {name: figure for name, figure in job.items() if figure is not None}
    with new_file(place, overwrite=overwrite) as rows_part:
        digest = hashlib.sha256()
        with rows_part.open("wb") as stream:
            for row in rows:
                line = _line(row, system["model"])
                digest.update(line)
                stream.write(line)
        of_these = {**system, "predictions_sha256": digest.hexdigest()}
        table = io.BytesIO()
        if requests is not None:
            requests.write_parquet(table)
            sha256 = hashlib.sha256(table.getvalue()).hexdigest()
            of_these["tables"] = {REQUESTS: sha256}
        contents = {
            system_file: _written(system_file, of_these),
            job_file: _written(job_file, figures),
            requests_file: table.getvalue(),
        }
        for file, content in contents.items():
            if content:
                with new_file(file, overwrite=overwrite) as part:
                    part.write_bytes(content)
    return place


def _written(file: Path, said: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(said, ensure_ascii=False, allow_nan=False, indent=2)
        return f"{text}\n".encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{file}: cannot be written as JSON: {error}") from error


def _line(row: Mapping[str, Any], model: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False, default=plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"{model['id']}: the answer to {row.get('id')!r} cannot be written as "
            f"JSON: {error}"
        ) from error
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:  # half of a character, which is escaped
        return (json.dumps(row, default=plain) + "\n").encode()


@dataclass
class Predicted:
    """Predictions, with what is known of how they came.

    Attributes:
        dataset: Name of the data set.
        task: Name of its task.
        model: What the model is called in runs: its own name, but for signs that mean
            other things there.
        rows: A response for each example, in the data's order; one that failed has
            `error`.
        system: The model and how it was asked.
        usage: What that took.
        notices: What a user should know.
        from_cache: How many answers were there already.
        requests: The row of each request; `request_columns` says what it holds.
    """

    dataset: str
    task: str
    model: str
    rows: list[dict[str, Any]]
    system: dict[str, Any]
    usage: dict[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    from_cache: int = 0
    requests: pl.DataFrame | None = None

    @property
    def errors(self) -> dict[str, int]:
        """How many examples failed for each reason, the most frequent first."""
        errors = (row.get("error") for row in self.rows)
        found = Counter(str(error) for error in errors if error is not None)
        return dict(found.most_common())

    @property
    def failed(self) -> int:
        """How many examples have no answer."""
        return sum(row.get("error") is not None for row in self.rows)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the predictions as JSON lines, and beside them what made them.

        Raises:
            StorageError: It is there already, or cannot be written.
        """
        return save(
            *(path, self.rows, self.system, self.usage, self.requests),
            overwrite=overwrite,
        )


def predict(
    dataset: Any = None,
    model: Any = None,
    *,
    data: Any = None,
    task: Any = None,
    split: str | None = None,
    limit: int | None = None,
    filters: Mapping[str, str | Sequence[str]] | None = None,
    rows: DataSource | None = None,
    prompt: str | Path | Mapping[str, Any] | Prompt | None = None,
    generate: Mapping[str, Any] | None = None,
    shots: int | None = None,
    trials: int | None = None,
    replications: int | None = None,
    model_kind: str | None = None,
    count_tokens: Callable[[str], int] | None = None,
    copies_of: Mapping[str, Any] | None = None,
    asked: Asked | None = None,
    progress: Progress | None = None,
    registry: Registry | None = None,
) -> Predicted:
    """Ask a model about each example of a data set.

    Args:
        dataset: As for `load_inputs`.
        model: `NAME[:KEY=VALUE,…]`, `FILE.py:FUNCTION`, a function from a list of
            inputs to a list of answers, or an instance of a model.
        data: As for `load_inputs`.
        task: As for `load_inputs`.
        split: As for `load_inputs`.
        limit: As for `load_inputs`.
        filters: As for `load_inputs`.
        rows: As for `load_inputs`.
        prompt: Name of a prompt that the data set or task declares, a file, or what it
            says; the first declared one by default.
        generate: How the model generates, in place of what the prompt says.
        shots: How many examples with answers are shown, in place of what the prompt
            says.
        trials: How often all are asked, each time with other shots, in place of what
            the prompt says.
        replications: How often the same is asked anew in each trial, likewise; each
            pair of trial and repetition is a `_replication_` of the rows.
        model_kind: What the model was made for, in place of what it says itself:
            `base`, `instruct` or `reasoning`. It chooses among declared prompts.
        count_tokens: Says how many tokens a text has, where prompts may be too long
            for the model; by default one is three bytes of UTF-8.
        copies_of: What the examples are copies of: arguments of `load_inputs`.
            They are asked with the prompt and the shots of these.
        asked: Limits.
        progress: Told of it.
        registry: Where plugins are found.

    Returns:
        The predictions.

    Raises:
        AskingEnded: Asking ended early; what was answered is in the cache.
        DataError: The data cannot be read, or the prompt does not fit them.
        PluginError: A plugin is unknown or broken.
    """
    planned = plan_all(
        dataset,
        model,
        data=data,
        task=task,
        split=split,
        limit=limit,
        filters=filters,
        rows=rows,
        prompt=prompt,
        generate=generate,
        shots=shots,
        trials=trials,
        replications=replications,
        model_kind=model_kind,
        count_tokens=count_tokens,
        copies_of=copies_of,
        registry=registry,
    )
    bound, inputs, asked = planned.model, planned.inputs, asked or Asked()
    is_of_inputs = bound.way == "predict"
    if is_of_inputs:
        _refuse_what_needs_tokens(bound, asked)
    told = Told(progress, bound.component.id, planned.plan.total)
    with Engine(bound, model, asked, inputs if is_of_inputs else None) as engine:
        return _ask(engine, planned, told)


def _refuse_what_needs_tokens(model: BoundModel, asked: Asked) -> None:
    """Refuse limits that cannot be kept of a model that answers inputs."""
    for name in ("tokens_per_minute", "token_limit", "cost_limit"):
        if getattr(asked, name) is not None:
            raise EvalkitError(
                f"{model.component.id} answers inputs and says nothing of tokens, so "
                f"that --{name.replace('_', '-')} means nothing: leave it out, or ask "
                "it in a command of its own"
            )


def _ask(engine: Engine, planned: Planned, told: Told) -> Predicted:
    plan = planned.plan
    usage = Totals(engine.price)
    rows: list[dict[str, Any]] = []
    records = RequestRecords(keeps_requests=engine.asked.keeps_requests)

    def take(answer: Answer) -> None:
        usage.add(answer)
        records.add(answer)
        row = plan.take(answer)
        rows.extend([row] if row is not None else [])
        told.count(usage.answers, engine.budget)

    engine.ask_all(plan.questions(), plan.total, take)
    system: dict[str, Any] = {"model": engine.identity}
    said = plan.said
    extract = said.pop("extract", None)
    if said:
        system["prompt"] = said
    if extract is not None:
        system["extract"] = extract
    notices = [*planned.notices, *engine.notices, *usage.notices]
    notices += _of_limits(engine, usage)
    return Predicted(
        planned.inputs.dataset,
        planned.inputs.task,
        run_name(engine.model, engine.identity),
        rows,
        system,
        {"examples": len(rows), **usage.figures},
        tuple(notices),
        usage.from_cache,
        records.frame(),
    )


def _of_limits(engine: Engine, usage: Totals) -> Iterator[str]:
    """Say which of the user's limits and prices could not be used."""
    name, asked = run_name(engine.model, engine.identity), engine.asked
    if asked.price is not None and usage.figures["cost"] is None:
        why = f"{name} does not say all tokens"
        if engine.price is None:
            why = f"the prices say nothing of {name}"
        yield f"{why}, so that its cost is not known"
    if asked.concurrency is not None and asked.concurrency > engine.places:
        yield (
            f"{engine.model.component.id} takes {engine.places} at once, and no more "
            f"(concurrency {asked.concurrency})"
        )
