"""What a run records of perturbed copies, beside their scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from evalkit.base.columns import frame_of, to_series
from evalkit.base.violations import describe
from evalkit.base.wording import count_of
from evalkit.errors import DataError
from evalkit.examples.selection import Selection
from evalkit.inference.intervals import Floats
from evalkit.plugins.attributes import RESERVED_FIELDS
from evalkit.plugins.bound import BoundDataset
from evalkit.predictions.adapted import AdaptedPredictions
from evalkit.predictions.alignment import Policies
from evalkit.predictions.problems import STATUSES
from evalkit.predictions.table import prediction_column
from evalkit.robustness.copies import Copies
from evalkit.robustness.effects import effect_notices
from evalkit.robustness.evaluation import Perturbed
from evalkit.robustness.inputs import FileSource, RunSource
from evalkit.robustness.scores import PerturbedScores
from evalkit.runs import recorded
from evalkit.runs.accounts import alignment_notices
from evalkit.runs.recording import PerturbedRecord, recorded_component

AS_EXPECTED = "as expected"
"""The column of `perturbed.parquet` with what `expect` said; no field and no metric can
be called so, for the blank."""

_SHOWN_PROBLEMS = 3


def record_perturbed(
    perturbed: Perturbed,
    scored: PerturbedScores | None,
    policies: Policies,
    include_examples: bool,
) -> PerturbedRecord:
    """Put together what a run records of perturbed copies.

    Args:
        perturbed: What was read.
        scored: What was computed; None for a refused evaluation.
        policies: What happens to copies without a valid response.
        include_examples: Whether answers and predictions are part of it.

    Returns:
        The record.
    """
    found = scored or PerturbedScores([], {}, [])
    copies = perturbed.copies
    frame, mixed = _frame(copies, found, include_examples)
    return PerturbedRecord(
        found.scores,
        found.errors,
        perturbed.weight,
        _files(perturbed),
        _perturbations(perturbed, found),
        _components(perturbed),
        [*_notices(perturbed, policies, include_examples), *found.notices, *mixed],
        [
            problem._replace(file=each.source.recorded_predictions)
            for each in copies
            for problem in each.alignment.problems
        ],
        frame,
        [(each.alignment.computed, each.examples.frame["id"]) for each in copies],
    )


def _components(perturbed: Perturbed) -> list[recorded.Component]:
    """Describe the plugins of the perturbations and adapters of copies, each once."""
    described = [
        recorded_component(step)
        for effect in perturbed.effects.values()
        for step in effect.steps
    ]
    sources = [each.source for each in perturbed.copies]
    described += [
        recorded_component(stage.adapter)
        for source in sources
        if isinstance(source, FileSource)
        and isinstance(source.rows, AdaptedPredictions)
        for stage in source.rows.pipeline.stages
    ]
    return list({repr(each): each for each in described}.values())


def _run_of(copies: Copies) -> str | None:
    """Name the run that copies are from; None for files."""
    source = copies.source
    return source.run.run_id if isinstance(source, RunSource) else None


def _selection_of(copies: Copies) -> recorded.Selection | None:
    """Return the selection of a run of copies; None for all rows, and for files."""
    source = copies.source
    if not isinstance(source, RunSource):
        return None
    selection = source.run.record.selection
    return None if selection.is_whole else selection


def _files(perturbed: Perturbed) -> list[recorded.Perturbed]:
    """Describe each file of copies, or run of them."""
    return [
        recorded.Perturbed(
            file=each.data["name"],
            sha256=str(each.data["sha256"]),
            adapters=each.data.get("adapters", ()),
            predictions=recorded.Predictions.of(each.predictions),
            counts=recorded.Counts(**each.alignment.counts),
            left_out=each.left_out,
            perturbations=_made(each),
            run=_run_of(each),
            selection=_selection_of(each),
        )
        for each in perturbed.copies
    ]


def _perturbations(
    perturbed: Perturbed, scored: PerturbedScores
) -> list[recorded.Perturbation]:
    """Say what is known of each perturbation."""
    return [
        recorded.Perturbation(
            perturbation=effect.identity,
            label_effect=effect.label_effect,
            families=tuple(effect.families),
            told_by=effect.told_by,
            expects=effect.identity in scored.expected,
        )
        for effect in perturbed.effects.values()
    ]


def _made(copies: Copies) -> tuple[recorded.Copies, ...]:
    pairs = pl.DataFrame(
        {"perturbation": copies.perturbations, "original": copies.originals}
    )
    counted = (
        pairs.group_by("perturbation")
        .agg(copies=pl.len(), originals=pl.col("original").n_unique())
        .sort("perturbation")
    )
    return tuple(map(recorded.Copies.model_validate, counted.to_dicts()))


def _notices(
    perturbed: Perturbed, policies: Policies, include_examples: bool
) -> list[str]:
    task = perturbed.originals.task.component.name
    notices = effect_notices(perturbed.effects.values())
    notices += _without_counterpart(perturbed.originals.dataset)
    for each in perturbed.copies:
        if each.left_out:
            copies = "copy" if each.left_out == 1 else "copies"
            notices.append(
                f"{each.source.recorded_name}: {each.left_out} {copies} of examples "
                "that are not evaluated; left out"
            )
        alignment = each.alignment
        if not include_examples:
            alignment = alignment._replace(undeclared=Counter())
        notices += _stale(each, perturbed)
        notices += _of_another_model(each, perturbed.originals.model)
        notices += _of_a_selection(each)
        notices += [
            f"{each.source.recorded_predictions}: {notice}"
            for notice in alignment_notices(alignment, policies, task)
        ]
    return notices


def _without_counterpart(dataset: BoundDataset) -> list[str]:
    """Say which scores of a data set there are not under perturbation."""
    notices = []
    aggregate = dataset.aggregate
    if aggregate:
        notices.append(
            f"under perturbation there is no {aggregate}, the headline of "
            f"{dataset.component.name}; its tags have scores of their own"
        )
    if dataset.has("evaluate"):
        notices.append(
            f"{dataset.component.name} scores itself; these scores are of the "
            "originals only, and not computed under perturbation"
        )
    return notices


def _of_another_model(copies: Copies, model: str) -> list[str]:
    """Say that a run of copies has another model's name."""
    source = copies.source
    if not isinstance(source, RunSource) or source.run.model == model:
        return []
    return [
        f"{source.recorded_name}: its model is called {source.run.model!r}, the one "
        f"that is evaluated {model!r}; are they the same?"
    ]


def _of_a_selection(copies: Copies) -> list[str]:
    """Say that a run of copies is of some of its file's rows only."""
    source, chosen = copies.source, _selection_of(copies)
    if chosen is None or not isinstance(source, RunSource):
        return []
    rows = count_of(source.run.counts["examples"], "row")
    words = Selection.of(chosen.limit, chosen.filters).describe()
    return [
        f"{source.recorded_name}: was made of only {rows} of its data: {words}; the "
        "other copies are not scored"
    ]


def perturbed_refusals(perturbed: Perturbed, policies: Policies) -> list[str]:
    """Say why the policies refuse predictions for copies; empty if they do not."""
    return [
        f"{each.source.predictions_name}: {reason}"
        for each in perturbed.copies
        for reason in each.alignment.refusal(policies)
    ]


def refused_rows(perturbed: Perturbed) -> list[str]:
    """Name the first few rows of each kind of the predictions for copies.

    Args:
        perturbed: What was read.

    Returns:
        Lines of a message.
    """
    lines = []
    for each in perturbed.copies:
        for status in STATUSES:
            for problem in each.alignment.problems.first(status, _SHOWN_PROBLEMS):
                where = [each.source.predictions_name]
                where += [f"line {problem.line}"] if problem.line else []
                where += [f"id {problem.id!r}"] if problem.id is not None else []
                if problem.replication is not None:
                    where.append(f"replication {problem.replication!r}")
                why = f": {describe(problem.violations)}" if problem.line else ""
                lines.append(f"  {status}: {', '.join(where)}{why}")
            hidden = each.alignment.counts[status] - _SHOWN_PROBLEMS
            if hidden > 0:
                lines.append(
                    f"  and {count_of(hidden, 'more row')} of "
                    f"{each.source.predictions_name} that are {status}"
                )
    return lines


def _frame(
    copies: Sequence[Copies], scored: PerturbedScores, include_examples: bool
) -> tuple[pl.DataFrame, list[str]]:
    """Return one row for each copy, as `perturbed.parquet` holds it, and notices.

    Its columns are `id`, `input_id`, `perturbation`, answer, prediction, scored fields,
    tags, cluster, status, what `expect` said, and one for each metric with per-example
    scores.
    """
    frames = []
    start = 0
    for each in copies:
        frame = each.examples.frame
        columns = [
            frame["id"],
            each.input_ids.alias("input_id"),
            each.perturbations.alias("perturbation"),
        ]
        if include_examples:
            columns += [
                frame["answer"],
                prediction_column(each.examples, each.alignment.predictions).alias(
                    "pred"
                ),
                *each.alignment.fields.values(),
            ]
        columns += [frame["tags"], frame["cluster"], each.alignment.statuses]
        stop = start + frame.height
        if scored.expected:
            columns.append(_expected(each, scored, start, stop))
        frames.append(frame_of(columns))
        start = stop
    joined, mixed = _as_one_table(frames)
    files = ", ".join(each.source.recorded_predictions for each in copies)
    notices = [
        f"{name}: is not of one kind in {files}; perturbed.parquet keeps it as JSON "
        "text, so that `evalkit rescore` may not find what `evalkit eval` finds"
        for name in mixed
    ]
    return with_copy_scores(joined, scored.per_copy), notices


def _as_one_table(frames: Sequence[pl.DataFrame]) -> tuple[pl.DataFrame, list[str]]:
    """Join the copies of all files as if they were of one.

    A column that is all null in one file says nothing of its type and has the others'.
    Where values are of several types, they become JSON text, as those of one file do.

    Returns:
        The table, and the names of the columns with values of several types.
    """
    mixed = []
    columns = []
    for name in frames[0].columns:
        parts = [frame[name] for frame in frames]
        filled = [part for part in parts if part.null_count() < len(part)]
        dtypes = {part.dtype for part in filled}
        if len(dtypes) <= 1:
            dtype = next(iter(dtypes), parts[0].dtype)
            parts = [
                part if part.dtype == dtype else _nulls(name, len(part), dtype)
                for part in parts
            ]
        elif not all(dtype.is_numeric() for dtype in dtypes):
            mixed.append(name)
            values = [value for part in parts for value in part.to_list()]
            try:
                parts = [to_series(name, values)]
            except ValueError as error:
                raise DataError(
                    f"the copies' column {name!r} has types that no column holds "
                    f"together: {error}"
                ) from error
        in_one = (part.to_frame() for part in parts)
        columns.append(pl.concat(in_one, how="vertical_relaxed"))
    return pl.concat(columns, how="horizontal"), mixed


def _nulls(name: str, count: int, dtype: pl.DataType) -> pl.Series:
    return pl.Series(name, [None] * count, dtype=dtype)


def with_copy_scores(
    copies: pl.DataFrame, scores: Mapping[str, Floats]
) -> pl.DataFrame:
    """Add a column for each metric that has scores of single copies.

    Args:
        copies: One row for each copy.
        scores: The score of each by name of the metric; nan for none.

    Returns:
        The copies with a column named after each of these metrics.
    """
    taken = {*RESERVED_FIELDS, *copies.columns}
    return copies.with_columns(
        pl.Series(
            f"metrics/{name}" if name in taken else name, values, nan_to_null=True
        )
        for name, values in scores.items()
    )


def _expected(
    copies: Copies, scored: PerturbedScores, start: int, stop: int
) -> pl.Series:
    """Return what `expect` said of each copy: 1, 0, or null."""
    told = np.full(stop - start, np.nan)
    for name, values in scored.expected.items():
        is_made = (copies.perturbations == name).to_numpy()
        told[is_made] = values[start:stop][is_made]
    return pl.Series(AS_EXPECTED, told, nan_to_null=True)


def _stale(copies: Copies, perturbed: Perturbed) -> list[str]:
    """Say that copies whose answer should be their original's have another one."""
    invariant = [
        name
        for name, effect in perturbed.effects.items()
        if effect.label_effect == "invariant"
    ]
    before = perturbed.originals.examples.frame["answer"].gather(copies.originals)
    after = copies.examples.frame["answer"]
    if before.dtype != after.dtype:
        return []  # one answer here, several there
    differs = before.ne_missing(after) & copies.perturbations.is_in(invariant)
    count = int(differs.sum())
    if not count:
        return []
    uid = copies.examples.frame["id"].filter(differs)[0]
    return [
        f"{copies.source.recorded_name}: the answer should be the original's and is "
        f"another one in {count_of(count, 'row')}, such as {uid!r}; were the data "
        "changed since? "
        "`evalkit perturb` makes the copies again"
    ]
