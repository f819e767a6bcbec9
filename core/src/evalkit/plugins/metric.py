"""Base class of metrics, and the decorator for plain functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from evalkit.plugins.classes import Plugin

if TYPE_CHECKING:
    from evalkit.base.terms import AnswerKind, IntervalKind, MergeKind

GetFunction = TypeVar("GetFunction", bound=Callable[..., Any])

ANY_ANSWER: tuple[AnswerKind, ...] = (
    "one",
    "any-of",
    "all-of",
    "spans",
    "ranked",
    "number",
)
"""All shapes of answers."""

_DECORATED = "__evalkit_metric__"


class Metric(Plugin):
    """A metric, written in one of three ways (see `evalkit.hookspecs.MetricSpec`).

    `evalkit.hookspecs.MetricAttributes` says what each attribute means.

    Example:
        ```python
        class Length(evalkit.Metric):
            unit = "characters"

            def score_example(self, prediction, target):
                return float(len(prediction))
        ```
    """

    unit: ClassVar[str] = ""
    bounds: ClassVar[tuple[float | None, float | None] | None] = None
    higher_is_better: ClassVar[bool | None] = None
    scale: ClassVar[float] = 1.0
    answer_kinds: ClassVar[Sequence[AnswerKind]] = ("one", "any-of", "number")
    interval: ClassVar[IntervalKind | None] = None
    columns: ClassVar[Sequence[str]] = ()
    keys: ClassVar[Sequence[str]] = ()
    merges: ClassVar[Mapping[str, MergeKind]] = {}
    per_example: ClassVar[str | None] = None
    worst_value: ClassVar[float | None] = None
    accepts_no_prediction: ClassVar[bool] = False
    has_possible_range: ClassVar[bool] = True


class FunctionMetric(Metric):
    """A plain function `get_<name>(predictions, targets)` as a metric."""

    answer_kinds = ANY_ANSWER

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        for attribute, value in getattr(function, _DECORATED, {}).items():
            setattr(self, attribute, value)

    def compute(self, predictions: list[Any], targets: list[Any]) -> Any:
        """Call the function."""
        return self.function(predictions, targets)


def metric(
    *,
    unit: str = "",
    bounds: tuple[float | None, float | None] | None = None,
    higher_is_better: bool | None = None,
    scale: float = 1.0,
    answer_kinds: Sequence[AnswerKind] = ANY_ANSWER,
) -> Callable[[GetFunction], GetFunction]:
    """Say what the number that a function `get_<name>` returns means.

    The function itself is left as it is and stays callable.

    Args:
        unit: Unit of the value as shown, such as `%`.
        bounds: Least and greatest value that it can return.
        higher_is_better: Direction; None where it is unknown.
        scale: What the returned value is multiplied with to be shown: 100 for a
            proportion, 1 for a function that returns percentages.
        answer_kinds: Shapes of answers that it can take; all by default. Where the
            data has others, its score is null with that reason.

    Returns:
        A decorator.

    Example:
        ```python
        @evalkit.metric(unit="%", bounds=(0, 1), higher_is_better=True, scale=100)
        def get_agreement(predictions, targets):
            return sum(p == t for p, t in zip(predictions, targets)) / len(targets)
        ```
    """

    def mark(function: GetFunction) -> GetFunction:
        attributes = {
            "unit": unit,
            "bounds": bounds,
            "higher_is_better": higher_is_better,
            "scale": scale,
            "answer_kinds": tuple(answer_kinds),
        }
        setattr(function, _DECORATED, attributes)
        return function

    return mark
