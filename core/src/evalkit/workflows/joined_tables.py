"""Joins what the folders of several runs hold: examples, statistics, problems."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.violations import few
from evalkit.errors import AlignmentError, EvalkitError
from evalkit.predictions.problems import Problems
from evalkit.runs.results import Result
from evalkit.runs.stored import scored_fields


def join_examples(parts: Sequence[Result]) -> pl.DataFrame:
    """Join the examples of runs, in their order.

    Args:
        parts: The runs.

    Returns:
        All examples, without answers and predictions where one of the runs holds none.

    Raises:
        AlignmentError: An example is in two of the runs.
        EvalkitError: A run has no examples, only some have clusters, or their columns
            do not go together.
    """
    frames = []
    for part in parts:
        frame = part.examples
        if frame is None:
            raise EvalkitError(f"the run {part.run_id} has no examples")
        frames.append(frame)
    if len({frame["cluster"].null_count() == frame.height for frame in frames}) > 1:
        raise EvalkitError(
            "only some of the runs have clusters: their examples cannot be resampled "
            "in one way"
        )
    fields: list[str] = []
    if all(part.record.includes_examples for part in parts):
        fields = [name for frame in frames for name in scored_fields(frame)]
        frames = _with_lists(frames)
    else:
        # what one part withholds, the whole does not hold either
        frames = [_without_answers(frame) for frame in frames]
    try:
        joined = _ordered(pl.concat(frames, how="diagonal_relaxed"), fields)
    except pl.exceptions.PolarsError as error:
        raise EvalkitError(
            "the runs' examples do not go together, as their columns are of different "
            f"types: {str(error).partition(chr(10))[0]}"
        ) from error
    cells = joined.select("id", "replication")
    repeated = cells.filter(cells.is_duplicated())
    if repeated.height:
        ids = list(dict.fromkeys(repr(uid) for uid in repeated["id"]))
        raise AlignmentError(f"examples are in two of the runs: {few(ids)}")
    return joined


def _with_lists(frames: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Make lists of single answers where other parts have several."""
    if not any(isinstance(frame["answer"].dtype, pl.List) for frame in frames):
        return list(frames)
    return [
        frame
        if isinstance(frame["answer"].dtype, pl.List)
        else frame.with_columns(pl.concat_list("answer"))
        for frame in frames
    ]


def _without_answers(frame: pl.DataFrame) -> pl.DataFrame:
    if "pred" not in frame.columns:
        return frame
    return frame.drop(all_named(["answer", "pred", *scored_fields(frame)]))


def _ordered(joined: pl.DataFrame, fields: Sequence[str]) -> pl.DataFrame:
    """Put the fields of all parts where those of a run stand."""
    if not fields:
        return joined
    others = [name for name in joined.columns if name not in fields]
    place = others.index("pred") + 1
    return joined.select(
        all_named([*others[:place], *dict.fromkeys(fields), *others[place:]])
    )


def join_statistics(parts: Sequence[Result]) -> dict[str, pl.DataFrame]:
    """Join the statistics of the metrics of which all runs have them.

    Args:
        parts: The runs, each with examples.

    Returns:
        The statistics by name of the metric, with positions in the joined examples.
    """
    names = set.intersection(*(set(part.statistics) for part in parts))
    joined: dict[str, pl.DataFrame] = {}
    for name in sorted(names):
        first, frames = 0, []
        for part in parts:
            moved = pl.col("position").cast(pl.UInt32) + pl.lit(first, dtype=pl.UInt32)
            frames.append(part.statistics[name].with_columns(moved))
            assert part.examples is not None
            first += part.examples.height
        joined[name] = pl.concat(frames, how="vertical_relaxed")
    return joined


def join_problems(parts: Sequence[Result]) -> Problems:
    """Return the problems of all runs, in their order."""
    return Problems([problem for part in parts for problem in part.problems])
