"""How often predictions are right that a model gave a probability, by bins of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evalkit_commands_report.gathering import Shown

if TYPE_CHECKING:
    import polars as pl

PROBABILITIES = "prob"
"""The field of responses that holds a probability for each label."""


class Bin(NamedTuple):
    """The predictions whose probability is in one bin, as `ece` has them."""

    low: float
    high: float
    n: int
    mean: float
    """Mean probability of the predictions."""
    right: float
    """Share of them that are right."""


class Reliability(NamedTuple):
    """The probabilities of one run."""

    bins: tuple[Bin, ...]
    """Those that hold a prediction."""
    n: int
    """Predictions with a probability."""
    without: int
    """Examples that count and have none."""


def reliability_of(run: Shown) -> Reliability | None:
    """Compare probabilities of predictions with how often they are right."""
    import polars as pl

    examples = run.result.examples
    if examples is None or not {"answer", "pred", PROBABILITIES} <= {*examples.columns}:
        return None
    kind = examples.schema[PROBABILITIES]
    are_texts = all(examples.schema[name] == pl.String for name in ("answer", "pred"))
    if not isinstance(kind, pl.Struct) or not are_texts:
        return None
    counted = examples.filter(
        pl.col("status").is_in(run.result.record.policies.counted)
    )
    given = _given(counted)
    if given.is_empty():
        return None
    return Reliability(_bins(given), given.height, counted.height - given.height)


def _given(examples: pl.DataFrame) -> pl.DataFrame:
    """Return the probability of each prediction, and whether it is right."""
    import polars as pl

    said = [
        None if given is None or label is None else given.get(label)
        for given, label in zip(examples[PROBABILITIES], examples["pred"], strict=True)
    ]
    right = (examples["pred"] == examples["answer"]).cast(pl.Float64)
    column = pl.Series("said", said, dtype=pl.Float64)
    return pl.DataFrame([column, right.alias("right")]).drop_nulls("said")


def _bins(given: pl.DataFrame) -> tuple[Bin, ...]:
    import polars as pl

    from evalkit.reporting import confidence_bins, confidence_edges

    edges = confidence_edges().tolist()
    place = pl.Series("place", confidence_bins(given["said"].to_numpy()))
    found = (
        given.group_by(place)
        .agg(pl.len(), pl.col("said").mean(), pl.col("right").mean())
        .sort("place")
    )
    return tuple(
        Bin(edges[place], edges[place + 1], n, said, right)
        for place, n, said, right in found.iter_rows()
    )
