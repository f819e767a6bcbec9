"""What a run records and keeps of how answers were taken out of responses."""

from __future__ import annotations

from collections import Counter

import polars as pl

from evalkit.base.copies import AS_STORED
from evalkit.predictions.answer_readers import (
    RESPONSE,
    RESPONSES,
    STATUS,
    TYPES,
    AnswerReader,
)
from evalkit.runs import recorded


def record_extraction(
    answers: AnswerReader | None, extracted: pl.DataFrame | None
) -> recorded.Extraction | None:
    """Return what a run records of extractors; None where there are none."""
    if answers is None or extracted is None:
        return None
    record = {**answers.record, **counts_of(extracted)}
    return recorded.Extraction.model_validate(record)


def counts_of(extracted: pl.DataFrame) -> dict[str, int]:
    """Count responses by what became of them; without a status they are not scored."""
    scored = extracted.filter(pl.col(STATUS).is_not_null())
    by_status = Counter(dict(scored[STATUS].value_counts().iter_rows()))
    if RESPONSES in scored.columns:
        several = scored[RESPONSES].drop_nulls().explode()
        texts = pl.concat(
            [scored.filter(pl.col(RESPONSES).is_null())[RESPONSE], several]
        )
    else:
        texts = scored[RESPONSE]
    return {
        "responses": scored.height,
        "unique": texts.drop_nulls().n_unique(),
        **{name: by_status[name] for name in ("ok", "empty", "unparsed", "error")},
    }


def as_kept(extracted: pl.DataFrame) -> list[pl.Series]:
    """Return the columns of `examples.parquet` that hold what extractors looked at."""
    return [each.alias(AS_STORED + each.name) for each in extracted.get_columns()]


def kept_extraction(examples: pl.DataFrame) -> pl.DataFrame | None:
    """Return what `as_kept` kept; None where a run kept no responses."""
    names = [name for name in TYPES if AS_STORED + name in examples.columns]
    if RESPONSE not in names:
        return None
    return pl.DataFrame([examples[AS_STORED + name].alias(name) for name in names])
