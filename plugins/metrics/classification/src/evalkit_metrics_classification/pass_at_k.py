"""Chance that samples of several answers hold a right one."""

from __future__ import annotations

from math import comb

import polars as pl

from evalkit import MetricContext, Parameters
from evalkit_metrics_classification.alternatives import (
    RESPONSES,
    AlternativeCount,
    AlternativesMetric,
    alternatives_of,
    only_right,
    ranked,
)

_LEAST = 1e-3
"""What is counted as at least one example that has too few alternatives: gradients of
the score are taken by changing sums by less than this."""


class PassParameters(Parameters):
    """How many alternatives are drawn."""

    k: AlternativeCount = 1
    """So many, at least 1."""


class PassMetric(AlternativesMetric):
    """Mean over examples of a chance when k of their alternatives are drawn.

    Where an example has replications, they are its alternatives.
    """

    Parameters = PassParameters
    optional_columns = (RESPONSES,)
    joins_replications = True
    interval = "t"
    per_example = "chance"

    @property
    def k(self) -> int:
        """The parameter `k`."""
        parameters = self.parameters
        assert isinstance(parameters, PassParameters)
        return parameters.k

    def chance(self, n: int, right: int) -> float:
        """Return the chance for one example.

        Args:
            n: How many alternatives it has, at least `k`.
            right: How many of them are right.

        Returns:
            A number between 0 and 1.
        """
        raise TypeError(f"{type(self).__name__} does not define chance")

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the chance of every example, and which ones have too few for it."""
        counts = _counts(batch, context)
        different = counts.select("n", "right").unique()
        chances = [
            self.chance(n, right) if n >= self.k else 0.0
            for n, right in different.iter_rows()
        ]
        known = different.with_columns(pl.Series("chance", chances, dtype=pl.Float64))
        is_lacking = (pl.col("n") > 0) & (pl.col("n") < self.k)
        return counts.join(
            known, on=["n", "right"], how="left", maintain_order="left"
        ).select(
            "row", "chance", lacking=is_lacking.cast(pl.Float64), examples=pl.lit(1.0)
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Take the mean; null where an example has too few alternatives."""
        lacking = pl.col("lacking")
        is_defined = lacking < _LEAST
        count = lacking.ceil().cast(pl.Int64)
        examples = pl.when(count == 1).then(pl.lit("example has"))
        reason = pl.format(
            f"{{}} {{}} fewer than {self.k} alternatives",
            count,
            examples.otherwise(pl.lit("examples have")),
        )
        return sums.select(
            "group",
            value=pl.when(is_defined).then(pl.col("chance") / pl.col("examples")),
            reason=pl.when(~is_defined).then(reason),
        )


def _counts(batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
    """Return `row`, `n` (alternatives) and `right` (those of them) of every example."""
    alternatives = alternatives_of(batch)
    right = only_right(ranked(alternatives), batch, context)
    return (
        alternatives.list.len()
        .alias("n")
        .to_frame()
        .with_row_index("row")
        .join(
            right.group_by("row").agg(right=pl.len()),
            on="row",
            how="left",
            maintain_order="left",
        )
        .with_columns(pl.col("right").fill_null(0))
    )


class PassAtK(PassMetric):
    """Chance that at least one of k alternatives is right: `pass-at-k:k=10`.

    Per example 1 - C(n - c, k) / C(n, k), where n is the number of its alternatives and
    c that of the right ones among them, and then the mean. An empty list is wrong, and
    so is a missing response that counts; otherwise n must be at least k in every
    example, or the score is null with that reason. Range 0 to 1, in %, higher is
    better; Student's interval.

    Source: Chen et al., Evaluating Large Language Models Trained on Code, 2021,
    equation 1; `pass_at_k` of OpenAI's human-eval.

    Example:
        >>> import evalkit
        >>> given = {"responses": [["4", "5", "6", "4"]]}
        >>> found = evalkit.score("pass-at-k:k=2", ["4"], ["4"], fields=given)
        >>> round(found["pass-at-k:k=2"].value, 4)
        0.8333
    """

    def chance(self, n: int, right: int) -> float:
        """Return 1 - C(n - right, k) / C(n, k), rounded once."""
        draws = comb(n, self.k)
        return (draws - comb(n - right, self.k)) / draws


class PassHatK(PassMetric):
    """Chance that all of k alternatives are right: `pass-hat-k:k=4`.

    Per example C(c, k) / C(n, k), where n is the number of its alternatives and c that
    of the right ones among them, and then the mean. An empty list is wrong, and so is a
    missing response that counts; otherwise n must be at least k in every example, or
    the score is null with that reason. Range 0 to 1, in %, higher is better; Student's
    interval.

    Source: pass^k of Yao et al., tau-bench: A Benchmark for Tool-Agent-User Interaction
    in Real-World Domains, 2024.

    Example:
        >>> import evalkit
        >>> given = {"responses": [["4", "5", "6", "4"]]}
        >>> found = evalkit.score("pass-hat-k:k=2", ["4"], ["4"], fields=given)
        >>> round(found["pass-hat-k:k=2"].value, 4)
        0.1667
    """

    def chance(self, n: int, right: int) -> float:
        """Return C(right, k) / C(n, k), rounded once."""
        return comb(right, self.k) / comb(n, self.k)
