"""Plain functions as metrics, called by the names of their arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, get_args, overload

from evalkit.base.terms import AnswerKind, IntervalKind
from evalkit.plugins.classes import Metric

GetFunction = TypeVar("GetFunction", bound=Callable[..., Any])

ANY_ANSWER: tuple[AnswerKind, ...] = tuple(
    kind for kind in get_args(AnswerKind) if kind != "none"
)
"""All shapes of answers."""

_DECORATED = "__evalkit_metric__"

_MEANINGS = {
    **dict.fromkeys(("predictions", "preds", "y_pred", "hypotheses"), "predictions"),
    **dict.fromkeys(("targets", "y_true", "references"), "targets"),
    **dict.fromkeys(("prediction", "pred", "hypothesis"), "prediction"),
    **dict.fromkeys(("target", "reference"), "target"),
    **{"fields": "fields", "context": "context"},
}
"""What an argument of a function gets, by its name."""

_HOW_TO_WRITE = (
    "write predictions and targets for whole lists (scikit-learn's y_pred and y_true "
    "are known too), prediction and target for one example, fields or context, or name "
    "a column in @evalkit.metric(columns=[…])"
)


class FunctionMetric(Metric):
    """A plain function as a metric.

    Args:
        function: The function.

    Attributes:
        function: The same.
        problems: What is wrong with its arguments, a sentence each.
    """

    answer_kinds = ANY_ANSWER

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        vars(self).update(getattr(function, _DECORATED, {}))
        self._positional: list[str] = []
        self._named: dict[str, str] = {}
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError) as error:
            self.problems = [f"its signature cannot be read: {error}"]
            return
        self.problems = self._read_arguments(parameters.values())
        is_of_one = {"prediction", "target"} & {
            *self._positional,
            *self._named.values(),
        }
        hook = "score_example" if is_of_one else "compute"
        # where its arguments are those of the hook, the function itself is the hook
        is_hook = all(
            name == _MEANINGS.get(name) and name not in self.columns
            for name in parameters
        ) and not any(each.kind is each.KEYWORD_ONLY for each in parameters.values())
        vars(self)[hook] = function if is_hook else getattr(self, f"_{hook}")

    def _read_arguments(self, parameters: Iterable[inspect.Parameter]) -> list[str]:
        """Find out what each argument means; return what is wrong with them."""
        problems, names = [], dict[str, str]()
        for parameter in parameters:
            name = parameter.name
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            meaning = name if name in self.columns else _MEANINGS.get(name)
            if meaning is None:
                if parameter.default is parameter.empty:
                    problems.append(f"its argument {name!r} is not known")
                continue
            if meaning in names:
                problems.append(f"{names[meaning]!r} and {name!r} mean the same")
            names[meaning] = name
            if parameter.kind is parameter.POSITIONAL_ONLY:
                self._positional.append(meaning)
            else:
                self._named[name] = meaning
        lists = [names[each] for each in ("predictions", "targets") if each in names]
        ones = [names[each] for each in ("prediction", "target") if each in names]
        called = getattr(self.function, "__name__", "")
        if lists and ones:
            problems.append(f"{lists[0]!r} is of lists, {ones[0]!r} of one example")
        if not names and not problems:
            problems.append("it has no argument that is known")
        if ones and called.startswith("get_") and not problems:
            problems.append(
                f"{called} has the name of a function of lists, and {ones[0]!r} is of "
                f"one example, of which a function is called {called[4:] or 'score'}"
            )
        return [f"{'; '.join(problems)}: {_HOW_TO_WRITE}"] if problems else []

    def _call(self, fields: Mapping[str, Any], **offered: Any) -> Any:
        values = {**fields, **offered, "fields": fields}
        positional = [values[meaning] for meaning in self._positional]
        named = {name: values[meaning] for name, meaning in self._named.items()}
        return self.function(*positional, **named)

    def _compute(
        self,
        predictions: list[Any],
        targets: list[Any],
        fields: Mapping[str, list[Any]],
        context: Any,
    ) -> Any:
        given = {"predictions": predictions, "targets": targets}
        return self._call(fields, **given, context=context)

    def _score_example(
        self, prediction: Any, target: Any, fields: Mapping[str, Any], context: Any
    ) -> Any:
        given = {"prediction": prediction, "target": target}
        return self._call(fields, **given, context=context)


@overload
def metric(function: GetFunction, /) -> GetFunction: ...
@overload
def metric(
    *,
    unit: str = "",
    bounds: tuple[float | None, float | None] | None = None,
    higher_is_better: bool | None = None,
    scale: float = 1.0,
    answer_kinds: Sequence[AnswerKind] = ANY_ANSWER,
    columns: Sequence[str] = (),
    interval: IntervalKind | None = None,
    worst_value: float | None = None,
    **attributes: Any,
) -> Callable[[GetFunction], GetFunction]: ...
def metric(function: Callable[..., Any] | None = None, /, **attributes: Any) -> Any:
    """Say what the number that a function returns means.

    A function of `predictions` and `targets` gets whole lists, one of `prediction` and
    `target` one example. It is called by the names of its arguments, in any order;
    `y_pred` and `y_true` mean lists too, `fields` the values of `columns` by name, and
    the name of a column its values. Other arguments must have defaults. The function
    itself is left as it is and stays callable.

    Args:
        function: The function, where the decorator is written without brackets.
        unit: Unit of the value as shown, such as `%`.
        bounds: Least and greatest value that it can return.
        higher_is_better: Direction; None where it is unknown.
        scale: What the returned value is multiplied with to be shown: 100 for a
            proportion, 1 for a function that returns percentages.
        answer_kinds: Shapes of answers that it can take; all by default. Where the
            data has others, its score is null with that reason.
        columns: What it needs beside prediction and target: scored fields of the
            response, or fields of the input.
        interval: How its confidence interval is computed.
        worst_value: Score of an example without a usable prediction; for functions of
            one example.
        **attributes: Any other attribute of `evalkit.hookspecs.MetricAttributes`.

    Returns:
        A decorator; the function where one was given.

    Raises:
        TypeError: There is no such attribute.

    Example:
        ```python
        @evalkit.metric(unit="%", bounds=(0, 1), higher_is_better=True, scale=100)
        def get_agreement(predictions, targets):
            return sum(p == t for p, t in zip(predictions, targets)) / len(targets)
        ```
    """
    unknown = [name for name in attributes if not hasattr(Metric, name)]
    if unknown:
        raise TypeError(f"a metric has no attribute {unknown[0]!r}")

    def mark(function: GetFunction) -> GetFunction:
        setattr(function, _DECORATED, attributes)
        return function

    return mark if function is None else mark(function)
