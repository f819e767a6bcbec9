"""Which references of an example are relevant, and how much."""

from __future__ import annotations

import polars as pl

from evalkit import MetricContext, MetricError

REFERENCES = "references"
"""Column with the references of each example: texts, or objects with a text and a
grade."""

_TEXT, _GRADE, _TAGS = "text", "grade", "tags"
_GRADE_TAG = r"^(?:relevance|grade)[=:]\s*([0-9.]+)$"
_RIGHT_TAG = "correct"


def relevant_items(batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
    """Return the references of every example with their grades.

    An example without references has its answers, each with the grade 1.

    Args:
        batch: Columns `target` and `references`.
        context: Says whether answers are single or lists.

    Returns:
        `row` (position in the batch), `item` (a text) and `grade`, null where a
        reference has none; each item once an example, with its highest grade.

    Raises:
        MetricError: References or answers are neither texts nor numbers.
    """
    target = batch["target"]
    if not isinstance(target.dtype, pl.List):
        target = target.reshape((-1, 1)).arr.to_list()
    found = [_graded(target)]
    given = batch[REFERENCES]
    if given.null_count() < len(given):
        has_own = given.is_not_null().arg_true().cast(pl.UInt32)
        found[0] = found[0].filter(~pl.col("row").is_in(has_own.implode()))
        found.append(_graded(given))
    return pl.concat(found).group_by("row", "item").agg(pl.col("grade").max())


def _graded(lists: pl.Series) -> pl.DataFrame:
    if not isinstance(lists.dtype, pl.List):
        raise MetricError(
            f"{REFERENCES!r} must be a list of texts or of objects with {_TEXT!r} and "
            f"{_GRADE!r}, is {lists.dtype}; let the task's Input declare them"
        )
    flat = (
        lists.alias("one")
        .to_frame()
        .with_row_index("row")
        .filter(pl.col("one").list.len() > 0)
        .explode("one")
        .drop_nulls("one")
    )
    dtype = flat.schema["one"]
    if not isinstance(dtype, pl.Struct):
        return flat.select("row", item=as_text(flat["one"]), grade=pl.lit(1.0))
    names = [field.name for field in dtype.fields]
    if _TEXT not in names:
        raise MetricError(
            f"an object in {REFERENCES!r} must have the field {_TEXT!r}, has "
            f"{', '.join(names)}"
        )
    fields = flat["one"].struct.unnest()
    texts = as_text(fields[_TEXT])
    return flat.select("row", item=texts, grade=_grades(fields))


def _grades(fields: pl.DataFrame) -> pl.Series:
    """Return what the grade says, or else the tags; 1 where there is neither."""
    has_grade, has_tags = _GRADE in fields.columns, _TAGS in fields.columns
    found = pl.lit(None, dtype=pl.Float64)
    if not has_grade and not has_tags:
        found = pl.lit(1.0)
    if has_tags:
        tag = pl.element().str.extract(_GRADE_TAG, 1).cast(pl.Float64, strict=False)
        tags = pl.col(_TAGS).cast(pl.List(pl.String))
        of_tags = tags.list.eval(tag).list.max()
        is_right = tags.list.contains(_RIGHT_TAG).fill_null(False)
        found = pl.coalesce(of_tags, pl.when(is_right).then(1.0))
        if not has_grade:
            found = found.fill_null(0.0)
    if has_grade:
        found = pl.coalesce(pl.col(_GRADE).cast(pl.Float64), found)
    return fields.with_columns(found.alias(_GRADE))[_GRADE]


def as_text(items: pl.Series) -> pl.Series:
    """Return items as texts that are equal where the items are.

    Args:
        items: Texts, numbers or booleans.

    Returns:
        The texts; 2 and 2.0 have the same one.

    Raises:
        MetricError: They are something else.
    """
    dtype = items.dtype
    if dtype in (pl.String, pl.Null, pl.Boolean):
        return items.cast(pl.String)
    if not dtype.is_numeric():
        raise MetricError(
            f"what is ranked must be texts or numbers, is of the type {dtype}"
        )
    is_whole = items.cast(pl.Float64) == items.cast(pl.Float64).round()
    whole = items.cast(pl.Int64, strict=False).cast(pl.String)
    return whole.zip_with(is_whole & whole.is_not_null(), items.cast(pl.String))
