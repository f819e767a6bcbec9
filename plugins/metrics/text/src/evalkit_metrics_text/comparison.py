"""Comparison of a prediction with its acceptable answers, which most metrics do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

import polars as pl

from evalkit import Metric, MetricContext
from evalkit.hookspecs import AnswerKind

NO_ANSWER = [""]
"""What an empty list of acceptable answers stands for."""

Form = TypeVar("Form")
"""What texts are turned into before they are compared."""


class ComparisonMetric(Metric, Generic[Form]):
    """Mean over examples of the best score that an acceptable answer gives.

    A missing prediction counts 0, also where the right answer is an empty one.
    """

    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds: ClassVar[Sequence[AnswerKind]] = ("one", "any-of")
    per_example = "score"
    worst_value = 0.0
    accepts_no_prediction = True
    drops_empty: ClassVar[bool] = False
    """Whether answers with an empty form are dropped where another has a form."""
    no_form: ClassVar[str] = ""
    """Why an example is not scored of whose answers none has a form."""

    def form_of(self, text: str) -> Form | None:
        """Turn a text into what is compared.

        Args:
            text: A prediction or an answer.

        Returns:
            Its form; None for a text that cannot be compared.
        """
        raise TypeError(f"{type(self).__name__} does not define form_of")

    def compare(self, prediction: Form, answer: Form) -> float:
        """Score a prediction against one answer.

        Args:
            prediction: Form of the prediction.
            answer: Form of the answer.

        Returns:
            0 to 1.
        """
        raise TypeError(f"{type(self).__name__} does not define compare")

    def score_of(self, prediction: Form, answers: Sequence[Form]) -> float:
        """Score a prediction against all acceptable answers.

        Args:
            prediction: Form of the prediction.
            answers: Forms of the answers, one or more.

        Returns:
            The best score of one of them.
        """
        return max(self.compare(prediction, answer) for answer in answers)

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the score of every example, or why it has none."""
        known: dict[str, Form | None] = {}
        rows = [
            self._row(prediction, answers or NO_ANSWER, known)
            for prediction, answers in as_texts(batch, context).iter_rows()
        ]
        schema = {"score": pl.Float64, "not_scored": pl.String}
        return (
            pl.DataFrame(rows, schema=schema, orient="row")
            .with_row_index("row")
            .with_columns(examples=pl.lit(1.0))
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sum of the scores by the number of examples."""
        return sums.select("group", value=pl.col("score") / pl.col("examples"))

    def _row(
        self,
        prediction: str | None,
        answers: Sequence[str | None],
        known: dict[str, Form | None],
    ) -> tuple[float, str | None]:
        forms = [self._form(text, known) for text in answers if text is not None]
        usable = [form for form in forms if form is not None]
        if self.drops_empty:
            usable = [form for form in usable if form] or usable
        if not usable:
            return 0.0, self.no_form or None
        given = None if prediction is None else self._form(prediction, known)
        return (0.0 if given is None else self.score_of(given, usable)), None

    def _form(self, text: str, known: dict[str, Form | None]) -> Form | None:
        """Return the form of a text, made once, because answers are often repeated."""
        try:
            return known[text]
        except KeyError:
            found = known[text] = self.form_of(text)
            return found


def as_texts(batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
    """Return predictions as texts, and answers as lists of texts.

    Args:
        batch: Columns `prediction` and `target`.
        context: Says whether answers are single or lists.

    Returns:
        The same two columns.
    """
    prediction, target = pl.col("prediction"), pl.col("target")
    if context.answer_kind == "any-of":
        return batch.select(prediction.cast(pl.String), target.cast(pl.List(pl.String)))
    types: set[Any] = {batch["prediction"].dtype, batch["target"].dtype}
    if len(types) > 1 and all(found.is_numeric() for found in types):
        # 1 and 1.0 are one answer
        prediction, target = prediction.cast(pl.Float64), target.cast(pl.Float64)
    return batch.select(
        prediction.cast(pl.String), pl.concat_list(target.cast(pl.String))
    )
