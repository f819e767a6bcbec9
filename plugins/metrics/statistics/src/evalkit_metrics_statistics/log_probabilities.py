"""How probable a model found texts: sums of log-probabilities by sums of counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import polars as pl

from evalkit import Metric, MetricError
from evalkit_metrics_statistics.token_lists import TOKENS, refuse_other, token_sums

LOGPROB = "logprob"
"""Field of a response: natural logarithm of the probability of the whole text."""


class RatioMetric(Metric):
    """A function of the negative log-probability of all texts by a count of theirs.

    Reads `logprob` and the count from the response, or the list `token_logprobs`, and
    looks at no answer and no prediction. A response that holds none of them, or values
    that cannot be, is not scored. An example without a response that counts makes the
    score null.
    """

    answer_kinds = ("none", "one", "any-of", "all-of", "spans", "ranked", "number")
    higher_is_better = False
    interval = "ratio"
    accepts_no_prediction = True
    # an example that was left out has no least or greatest probability
    has_possible_range = False
    optional_columns: ClassVar[Sequence[str]] = (LOGPROB, TOKENS)
    counts_tokens = False
    """Whether what is counted is tokens, so that a list of them is enough."""

    @property
    def count(self) -> str:
        """The field of the response that holds the count."""
        return self.columns[1]

    def value(self, nats: pl.Expr) -> pl.Expr:
        """Turn nats per counted unit into the value."""
        raise TypeError(f"{type(self).__name__} does not define value")

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return both numbers of every example, or why it has none."""
        silent = batch["prediction"].is_null().alias("silent")
        frame = self._numbers(batch).with_columns(silent)
        logprob, count = pl.col(LOGPROB), pl.col("count")
        is_absent = pl.col("silent") & logprob.is_null() & count.is_null()
        is_probable = (logprob.is_finite() & (logprob <= 0)).fill_null(False)
        is_counted = (count.is_finite() & (count >= 0)).fill_null(False)
        # text that no token tells of would be free of charge
        is_bare = (pl.col("tokens") == 0).fill_null(False) & (count > 0)
        reason = (
            pl.when("is_wrong")
            .then(pl.lit(f"`{TOKENS}` holds what is no number of at most 0"))
            .when(~is_absent & ~is_probable)
            .then(_lacking(LOGPROB, "of at most 0"))
            .when(~is_absent & ~is_counted)
            .then(_lacking(self.count, "of at least 0"))
            .when(is_bare)
            .then(pl.lit(f"`{TOKENS}` holds no number, but `{self.count}` is not 0"))
        )
        is_kept = is_probable & is_counted & ~is_bare & ~pl.col("is_wrong")
        return frame.with_row_index("row").select(
            "row",
            nats=pl.when(is_kept).then(-logprob).otherwise(0.0),
            count=pl.when(is_kept).then(count).otherwise(0.0),
            missing=is_absent.cast(pl.Float64),
            not_scored=reason,
        )

    def _numbers(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return `logprob` and `count`, also of lists, and which lists are wrong."""
        for name in (LOGPROB, self.count):
            if batch.schema[name] == batch.schema[TOKENS] == pl.Null:
                # a column of a batch has the type that it has in the whole table
                raise MetricError(f"no response has the field {name!r} or {TOKENS!r}")
        logprob, count = (_number(batch, name) for name in (LOGPROB, self.count))
        tokens = token_sums(batch[TOKENS])
        is_right = ~tokens["is_wrong"]
        total, number = (tokens[name].filter(is_right) for name in ("sum", "tokens"))
        refuse_other(LOGPROB, logprob.filter(is_right), total, rounded=True)
        if self.counts_tokens:
            refuse_other(self.count, count.filter(is_right), number)
            count = count.fill_null(tokens["tokens"])
        return pl.DataFrame(
            {
                LOGPROB: logprob.fill_null(tokens["sum"]),
                "count": count,
                "is_wrong": tokens["is_wrong"],
                "tokens": tokens["tokens"],
            }
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sums; null where nothing is counted, or a response is missing."""
        is_missing, is_empty = pl.col("missing") >= 1, pl.col("count") <= 0
        value = self.value(pl.col("nats") / pl.col("count"))
        examples = pl.format(
            "examples without a response, for which no value is the worst: {}",
            pl.col("missing").round().cast(pl.Int64),
        )
        nothing = pl.lit(f"the sum of `{self.count}` is 0")
        return sums.select(
            "group",
            value=pl.when(~(is_missing | is_empty)).then(value),
            reason=pl.when(is_missing).then(examples).when(is_empty).then(nothing),
        )


def _number(batch: pl.DataFrame, name: str) -> pl.Series:
    """Return a field as floats."""
    column = batch[name]
    if not (column.dtype.is_numeric() or column.dtype == pl.Null):
        raise MetricError(
            f"the field {name!r} of the responses must hold numbers, holds "
            f"{column.dtype}"
        )
    return column.cast(pl.Float64)


def _lacking(name: str, what: str) -> pl.Expr:
    return pl.lit(f"the response holds no `{name}` that is a number {what}")
