"""Equality of mathematical answers."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from evalkit import Metric, MetricContext, Parameters
from evalkit_metrics_mathematics.comparing import COMPARER, TIME_LIMIT, TimeLimitError
from evalkit_metrics_mathematics.expressions import as_latex

NO_EXPRESSION = "no acceptable answer is a mathematical expression"


class MathMatchParameters(Parameters):
    """What is ignored."""

    ignore_units: bool = True
    """Ignore units and currencies; `false` compares them."""
    as_written: bool = False
    """Read texts as they are, as SEA-HELM does; equal texts need not be equal."""


class MathMatch(Metric):
    r"""Share of predictions whose mathematical value equals an acceptable answer.

    Equal / all examples, as math-verify compares them: numbers, fractions, roots,
    percentages, sets, intervals, matrices, equations and expressions, in LaTeX or plain
    text. Of a prediction with `\boxed{}` the last one is read; other text is read as
    LaTeX, and prose as math-verify reads it. Floating-point numbers are rounded to six
    decimals; units are ignored unless `ignore_units=false`; the same text is always
    equal. Of several acceptable answers one must be equal. A comparison that fails or
    takes longer than 5 seconds is wrong, and a flag counts these. A missing prediction
    that counts is wrong; an example whose answers hold no expression is not scored.
    Range 0 to 1, in %, higher is better; Wilson's interval.

    Source: math-verify 0.9 (Kydlíček, 2025).

    Example:
        >>> import evalkit
        >>> found = evalkit.score("math-match", [r"\boxed{0.5}"], [r"\frac{1}{2}"])
        >>> found["math-match"].value
        1.0
    """

    Parameters = MathMatchParameters
    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("one", "any-of", "number")
    interval = "wilson"
    per_example = "correct"
    worst_value = 0.0
    accepts_no_prediction = True

    def __init__(self, parameters: MathMatchParameters | None = None) -> None:
        super().__init__(parameters)
        settings = parameters or MathMatchParameters()
        self._ignore_units = settings.ignore_units
        self._read = str if settings.as_written else as_latex

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return whether every example is right, or why it is not scored."""
        several = isinstance(batch["target"].dtype, pl.List)
        kind = pl.List(pl.String) if several else pl.String
        texts = batch.select(
            pl.col("prediction").cast(pl.String), pl.col("target").cast(kind)
        )
        rows = [
            self._row(prediction, (answers or []) if several else [answers])
            for prediction, answers in texts.iter_rows()
        ]
        schema = {
            "correct": pl.Float64,
            "undecided": pl.Float64,
            "not_scored": pl.String,
        }
        return (
            pl.DataFrame(rows, schema=schema, orient="row")
            .with_row_index("row")
            .with_columns(examples=pl.lit(1.0))
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the right ones by all."""
        flag = pl.format(
            "comparisons that failed or took longer than "
            f"{TIME_LIMIT:g} seconds, counted as wrong: {{}}",
            pl.col("undecided").cast(pl.Int64),
        )
        return sums.select(
            "group",
            value=pl.col("correct") / pl.col("examples"),
            flag=pl.when(pl.col("undecided") > 0).then(flag),
        )

    def _row(
        self, prediction: str | None, answers: Sequence[str | None]
    ) -> tuple[float, float, str | None]:
        texts = [answer.strip() for answer in answers if answer is not None]
        text = (prediction or "").strip()
        request = {
            "prediction": self._read(text),
            "answers": [self._read(answer) for answer in texts if answer],
            "ignore_units": self._ignore_units,
        }
        is_same = prediction is not None and text in texts and self._read is as_latex
        try:
            equal = COMPARER.compare(request)
        except TimeLimitError:
            return float(is_same), float(not is_same), None
        reason = NO_EXPRESSION if equal is None else None
        return float(is_same or bool(equal)), 0.0, reason
