"""Checks examples and predictions without scoring them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.base.progress import Progress
from evalkit.examples.files import chosen_data
from evalkit.examples.table import Examples, load_examples
from evalkit.plugins.observers import Observers
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.alignment import OnDuplicate, OnProblem
from evalkit.predictions.preparation import changed_by, default_model
from evalkit.predictions.problems import Problems
from evalkit.predictions.row_sources import RowSource, diagnose
from evalkit.reading.data_places import shards_named
from evalkit.reading.given_rows import rows_of
from evalkit.runs.accounts import alignment_notices
from evalkit.runs.options import EvaluationOptions
from evalkit.workflows.evaluation_steps import bind_data, chosen_engine, match


class Validation(NamedTuple):
    """What was found in examples and predictions."""

    dataset: str
    task: str
    split: str
    model: str | None
    """None where only the examples were checked."""
    counts: Mapping[str, int]
    """How many examples and prediction rows there are, by status."""
    problems: Problems
    """Every row that would not be scored, and why."""
    refusals: Sequence[str]
    """Why an evaluation would refuse the predictions, or score no example; empty if it
    would not."""
    notices: Sequence[str]
    mapping: Mapping[str, str] = {}
    """Where no row has some fields: the columns that may be meant, by field."""
    place: str = "line"
    """What the numbers of problems count: lines, or elements of a JSON array."""

    def to_dict(self) -> dict[str, Any]:
        """Return counts, refusals and notices as JSON values."""
        values = self._asdict()
        for name in ("problems", "mapping", "place"):
            del values[name]
        return {"ok": not self.refusals, **values}


def validate(
    dataset: Any = None,
    predictions: Any = None,
    *,
    data: Any = None,
    task: Any = None,
    model: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    filters: Mapping[str, str | Sequence[str]] | None = None,
    cluster: str | Sequence[str] = (),
    on_missing: OnProblem = "error",
    on_invalid: OnProblem = "error",
    on_duplicate: OnDuplicate = "error",
    rows: RowSource | None = None,
    engine: Any = None,
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
) -> Validation:
    """Check examples and, where they are given, predictions, and score nothing.

    Args:
        dataset: As for `evaluate`.
        predictions: As for `evaluate`; None to check the examples alone.
        data: A file or rows of examples, in place of a data set, as for `evaluate`.
        task: The task, by name or as a class or instance; only for a file or rows of
            examples.
        model: Name of the model; by default the file's stem.
        split: Split of the data set; its default split by default.
        limit: Check at most so many examples.
        filters: Check only examples with these values, by column, facet, `tag` or
            `answer`.
        cluster: Columns of the data that an evaluation would take clusters from.
        on_missing: What an evaluation would do about examples without a prediction.
        on_invalid: What it would do about invalid predictions.
        on_duplicate: What it would do about repeated ids.
        rows: What changes rows, as for `evaluate`.
        engine: What checks in parts, as for `evaluate`.
        registry: Where plugins are found; all that are installed by default.
        progress: Told what is being done.

    Returns:
        Counts, problems, and why an evaluation would refuse.

    Raises:
        DataError: Data or predictions cannot be read.
        SchemaError: Examples break the task's input.
        PluginError: A plugin is unknown or broken.
    """
    options = EvaluationOptions(
        split=split,
        limit=limit,
        filters=filters,
        cluster=cluster,
        on_missing=on_missing,
        on_invalid=on_invalid,
        on_duplicate=on_duplicate,
        rows=rows,
    )
    return validate_with(
        chosen_data(dataset, data),
        predictions,
        options,
        task=task,
        model=model,
        engine=engine,
        registry=registry,
        progress=progress,
    )


def validate_with(
    dataset: Any,
    predictions: Any,
    options: EvaluationOptions,
    *,
    task: Any = None,
    model: str | None = None,
    engine: Any = None,
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
) -> Validation:
    """Do what `validate` does, with the options of an evaluation.

    Args:
        dataset: As for `validate`, like all arguments but the options.
        predictions: A model's responses; None to check the examples alone.
        options: Those of an evaluation; what concerns its scores is not looked at.
        task: The task of a file of examples, by name or as an object.
        model: Name of the model.
        engine: What checks in parts.
        registry: Where plugins are found.
        progress: Told what is being done.

    Returns:
        Counts, problems, and why an evaluation would refuse.

    Raises:
        EvalkitError: For the reasons for which `validate` raises.
    """
    resolver = Resolver(registry or Registry())
    watchers = Observers(resolver.registry)
    asked = bind_data(dataset, task, predictions, options, resolver, watchers)
    bound, bound_task, split = asked.dataset, asked.task, asked.split
    names = (bound.component.name, bound_task.component.name, split)
    progress(f"loading {names[0]}", 0.0)
    engine = chosen_engine(engine, registry)
    if predictions is None:
        if engine is None:
            examples = load_examples(bound, bound_task, split)
            chosen = options.selection.mask(examples)
            examples = examples if chosen is None else examples.where(chosen)
            count = examples.frame.height
        else:
            examples, alignment = engine.match(asked, None, "", progress)
            count = alignment.counts["examples"]
        notices = [*examples.notices, *_label_forms(examples)]
        return Validation(*names, None, {"examples": count}, Problems(), (), notices)
    named = shards_named(predictions)
    given = rows_of(named, may_be_folder=asked.stage is not None)
    model = model or default_model(given)
    if engine is None:
        rows = changed_by(given, asked.stage)
        examples, alignment = match(asked, rows, model, progress)[:2]
    else:
        examples, alignment = engine.match(asked, given, model, progress)
    refusals = alignment.refusal(options.policies)
    if not refusals and not alignment.counts["scored"]:
        refusals = ["no example would be scored"]
    diagnosis = diagnose(bound, bound_task, examples, alignment, resolver.registry)
    return Validation(
        *names,
        model,
        alignment.counts,
        alignment.problems,
        [*diagnosis.causes, *refusals] if refusals else [],
        [
            *examples.notices,
            *alignment_notices(alignment, options.policies, names[1]),
            *([] if refusals else diagnosis.causes),
            *diagnosis.notices,
        ],
        diagnosis.mapping,
        alignment.place,
    )


def _label_forms(examples: Examples) -> Iterator[str]:
    from evalkit.diagnosis import label_forms, labels_of

    if examples.labels is None:
        answers = examples.frame["answer"]
        yield from label_forms(labels_of(answers, examples.answer_kind))
