"""Takes the answers of a run out of its responses again, by other extractors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from evalkit.adapting.extraction import Extracted, Extraction
from evalkit.adapting.extraction import extraction as made_extraction
from evalkit.base.columns import all_named
from evalkit.base.copies import AS_STORED
from evalkit.base.ids import RESPONSES_KEY
from evalkit.base.violations import shorten
from evalkit.base.wording import count_of
from evalkit.errors import EvalkitError
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.alternative_probabilities import are_of_alternatives
from evalkit.predictions.embedded_answers import is_about_embedded
from evalkit.predictions.extracting import REASON, RESPONSE, RESPONSES, STATUS
from evalkit.predictions.judged_values import counted
from evalkit.predictions.suggesting import is_about_extractors
from evalkit.predictions.written_forms import is_about_forms, is_about_numbers
from evalkit.runs.accounts import is_about_unparsed, unparsed_notice
from evalkit.runs.extractions import as_kept, kept_extraction, record_extraction
from evalkit.runs.record import RunRecord
from evalkit.runs.results import Result
from evalkit.runs.stored import examples_of
from evalkit.runs.tables import CHOICES, CROSSING, KEPT
from evalkit.workflows.options import NO_EXTRACTOR


def extracted_again(
    parent: Result, extract: Any, resolver: Resolver
) -> tuple[Result, Extraction]:
    """Return a run with the predictions that other extractors find, without scores.

    Args:
        parent: A run that holds its responses, or whose predictions are texts.
        extract: The extractors, as for `evaluate`.
        resolver: Finds them.

    Returns:
        The run, whose record still is the parent's but for what the predictions tell,
        and the extractors.

    Raises:
        EvalkitError: The run does not hold what they look at, or answers would be none.
        PluginError: An extractor is unknown or broken.
    """
    if extract == NO_EXTRACTOR:
        raise EvalkitError(
            "rescore has no extract 'none', as a run's responses need not be answers; "
            "evaluate it again without extractors"
        )
    extraction = made_extraction(extract, resolver.registry)
    record = parent.record
    _refuse_unable(record)
    examples = examples_of(parent)
    extraction.refuse_unfit(
        f"the task {record.task}",
        choices=CHOICES in examples.columns,
        labels=record.labels is not None,
    )
    places = examples.with_row_index("row").filter(pl.col("status") == "scored")["row"]
    given = _responses(parent, examples)[places]
    chosen = examples[CHOICES][places] if CHOICES in examples.columns else None
    found, alternatives = _extract(extraction, given, chosen, record.labels)
    made = _typed(found.values, examples["pred"].dtype, record)
    kept = given.with_columns(found.statuses.alias(STATUS), found.reasons.alias(REASON))
    examples = _replaced(examples, places, made, kept, alternatives)
    changed = _record(record, extraction, kept)
    return Result(changed, (), parent.problems, examples), extraction


def _refuse_unable(record: RunRecord) -> None:
    """Refuse runs of which more than the predictions would have to be made again."""
    if record.columns:
        raise EvalkitError(
            f"the run {record.run_id} holds columns computed of its predictions; "
            "evaluate it again with --extract"
        )
    if are_of_alternatives(record.notices):
        raise EvalkitError(
            f"the run {record.run_id} holds probabilities that were computed from the "
            "answers of its alternatives; evaluate it again with --extract"
        )
    if any("pred" in names.split(",") for names in record.by):
        raise EvalkitError(
            f"the run {record.run_id} is grouped by its predictions (--by pred); "
            "evaluate it again with --extract"
        )


def _responses(parent: Result, examples: pl.DataFrame) -> pl.DataFrame:
    """Return what models wrote, as the run kept it, or else its predictions."""
    kept = kept_extraction(examples)
    if kept is not None:
        return kept
    if examples["pred"].dtype != pl.String:
        raise EvalkitError(
            f"the run {parent.run_id} kept no responses, and its predictions are no "
            "texts"
        )
    nothing = pl.lit(None, dtype=pl.String)
    columns = [examples["pred"].alias(RESPONSE)]
    if examples.schema.get(RESPONSES_KEY) == pl.List(pl.String):
        columns.append(examples[RESPONSES_KEY].alias(RESPONSES))
    return pl.DataFrame(columns).with_columns(
        nothing.alias(STATUS), nothing.alias(REASON)
    )


def _extract(
    extraction: Extraction,
    given: pl.DataFrame,
    choices: pl.Series | None,
    labels: Sequence[str] | None,
) -> tuple[Extracted, pl.Series | None]:
    """Extract; of responses that give several answers also the answers of all."""
    if choices is not None:
        choices = choices.cast(pl.List(pl.String))
    if RESPONSES not in given.columns:
        return extraction.extract(given[RESPONSE], choices, labels), None
    several = pl.when(pl.col(RESPONSES).list.len() > 0).then(RESPONSES)
    alone = pl.concat_list(RESPONSE)
    rows = given.select(pl.coalesce(several, alone).alias("text")).with_row_index("row")
    if choices is not None:
        rows = rows.with_columns(choices.alias("choices"))
    rows = rows.explode("text")
    own = rows["choices"] if choices is not None else None
    found = extraction.extract(rows["text"], own, labels, rows["row"])
    if extraction.chooses:
        return found, None
    frame = pl.DataFrame(
        {
            "row": rows["row"],
            "value": found.values,
            "status": found.statuses,
            "reason": found.reasons,
        }
    )
    groups = frame.group_by("row", maintain_order=True).agg(
        pl.all().first().name.suffix(" first"), "value"
    )
    first = Extracted(
        groups["value first"], groups["status first"], groups["reason first"]
    )
    return first, groups["value"]


def _typed(values: pl.Series, dtype: pl.DataType, record: RunRecord) -> pl.Series:
    """Return answers in the type of the predictions; refuse what none can be."""
    labels = record.labels
    if labels is not None:
        others = values.drop_nulls().filter(~values.drop_nulls().is_in([*labels]))
        if len(others):
            raise EvalkitError(
                f"{count_of(len(others), 'answer')} would be no label, such as "
                f"{shorten(others[0])}; end with the stage labels, or map-values"
            )
    if dtype == pl.String or dtype == pl.Null:
        return values
    if not dtype.is_numeric():
        raise EvalkitError(f"the run's predictions are of the type {dtype}, not texts")
    made = values.cast(dtype, strict=False)
    if made.null_count() > values.null_count():
        raise EvalkitError(
            "some answers would be no numbers; end with the stage final-number"
        )
    return made


def _replaced(
    examples: pl.DataFrame,
    places: pl.Series,
    values: pl.Series,
    kept: pl.DataFrame,
    alternatives: pl.Series | None,
) -> pl.DataFrame:
    """Return the examples with other predictions, and without scores of metrics."""
    rows = pl.DataFrame({"row": pl.Series(range(examples.height), dtype=places.dtype)})

    def spread(column: pl.Series) -> pl.Series:
        frame = pl.DataFrame([places.alias("row"), column])
        joined = rows.join(frame, on="row", how="left", maintain_order="left")
        return joined[column.name]

    names = examples.columns
    of_metrics = [
        name
        for name in names[names.index("status") + 1 :]
        if not name.startswith((CROSSING, KEPT, AS_STORED))
    ]
    stale = [*of_metrics, *({RESPONSES_KEY} & {*names})]
    made = examples.drop(all_named(stale)) if stale else examples
    made = made.with_columns(spread(values.alias("pred")))
    if alternatives is not None:
        after = made.columns.index("pred") + 1
        made = made.insert_column(after, spread(alternatives.alias(RESPONSES_KEY)))
    return made.with_columns(
        as_kept(pl.DataFrame([spread(each) for each in kept.get_columns()]))
    )


def _record(before: RunRecord, extraction: Extraction, kept: pl.DataFrame) -> RunRecord:
    found = record_extraction(extraction, kept)
    lacking = int((kept[STATUS] != "ok").sum())
    counts = before.counts.model_copy(update={"unparsed": lacking})
    unparsed = counted(kept[REASON].drop_nulls())
    pipelines = (*before.data.adapters, *before.predictions.adapters)
    names = {each.kind for each in pipelines}
    return before.changed(
        status="complete" if before.selection.is_whole else "partial",
        components=tuple(
            each
            for each in before.components
            if each.kind in ("datasets", "tasks")
            or (each.kind == "adapters" and each.name in names)
        ),
        extraction=found,
        counts=counts,
        unparsed=unparsed,
        notices=(
            *(text for text in before.notices if not _is_of_predictions(text)),
            *unparsed_notice(lacking, unparsed),
        ),
        errors=(),
        not_scored={},
    )


def _is_of_predictions(notice: str) -> bool:
    """Tell whether a notice was about the predictions that are no more."""
    return (
        is_about_forms(notice)
        or is_about_numbers(notice)
        or is_about_embedded(notice)
        or is_about_unparsed(notice)
        or is_about_extractors(notice)
    )
