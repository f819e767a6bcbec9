"""What authors of plugins write with: base classes, and functions as metrics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args, overload

from pydantic import BaseModel, ConfigDict, create_model

from evalkit.base.columns import encode
from evalkit.base.terms import AnswerKind, IntervalKind
from evalkit.base.violations import Violation, failed_statement, from_assertion
from evalkit.hookspecs import (
    DatasetAttributes,
    MetricAttributes,
    PerturbationAttributes,
    TaskIOAttributes,
)


class Parameters(BaseModel):
    """Base of a component's typed parameters; this one has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


NoParameters = Parameters


class Plugin:
    """A component that is built from its typed parameters.

    Attributes:
        parameters: The parameters that it was built with.
    """

    Parameters: ClassVar[type[BaseModel]] = NoParameters

    def __init__(self, parameters: BaseModel | None = None) -> None:
        self.parameters = self.Parameters() if parameters is None else parameters


class Perturbation(Plugin, PerturbationAttributes):
    """A change of a text or an example, made to see what a model does about it.

    A subclass sets `families`, `version` and `label_effect` and implements one of
    `perturb`, `perturb_batch`, `find_edits` and `perturb_example`.
    `evalkit.hookspecs.PerturbationAttributes` says what each attribute means.

    Example:
        ```python
        class Shout(evalkit.Perturbation):
            families = {"robustness"}
            version = "1"
            label_effect = {"*": "invariant"}

            def perturb(self, text):
                return text.upper()
        ```
    """


class TaskIO(Plugin, TaskIOAttributes):
    """A task: the shape of input and output, and how answers are scored by default.

    A subclass sets `Input`, `Output`, `example` and `perf_metric`, and either
    `answer_field` or converters. `evalkit.hookspecs.TaskIOAttributes` says what each
    attribute means.
    """


class DatasetDefaults(Plugin, DatasetAttributes):
    """What a data set need not say of itself; `evalkit.Dataset` has methods beside."""

    located_files: Mapping[str, Path] = {}
    """The files that were asked for so far, which the run records."""


class Metric(Plugin, MetricAttributes):
    """A metric, written in one of several ways (see `evalkit.hookspecs.MetricSpec`).

    `evalkit.hookspecs.MetricAttributes` says what each attribute means.

    Example:
        ```python
        class Length(evalkit.Metric):
            unit = "characters"

            def score_example(self, prediction, target):
                return float(len(prediction))
        ```
    """


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


class _AnyRow(BaseModel):
    model_config = ConfigDict(extra="allow")


_ANSWER_KEYS = ("label", "answer", "pred", "target")
_ANSWERS: dict[str, Any] = dict.fromkeys(_ANSWER_KEYS, (Any, None))
_Response = create_model("_Response", __base__=_AnyRow, id=(str, ...), **_ANSWERS)


class BaseTaskIO(TaskIO):
    """Base class with the interface of dynalab's.

    A subclass hands one input, or a list of inputs, to `__init__` and implements
    `verify_response(self, response)` with assertions on `response` and `self.data`,
    which holds the example that the response answers; `verify_response(self, response,
    data)` works too. An exception it raises counts as a violation of that response and
    never ends the evaluation.

    The keys of the input handed over are the required fields of an example. A response
    may hold any keys beside its `id`. The default converters read the first of the
    keys `label`, `answer`, `pred`, `target` that a row has; a dict stands for its JSON
    text. A response without any of them is invalid, unless the task has a
    `pred_field_converter` of its own.

    Args:
        data: One input, or several.
    """

    Parameters = None  # type: ignore[assignment]
    Output = _Response
    perf_metric = "accuracy"

    def __init__(
        self, data: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        inputs = [data] if isinstance(data, Mapping) else list(data or ())
        example = dict(inputs[0]) if inputs else {"uid": "example"}
        vars(self)["example"] = example
        self.data: Any = data if data is not None else example
        keys = dict.fromkeys(("uid", *example))
        fields: dict[str, Any] = {key: (Any, ...) for key in keys}
        self.Input = create_model("Input", __base__=_AnyRow, **fields)
        verify = getattr(self, "verify_response", None)
        is_default = type(self).pred_field_converter is BaseTaskIO.pred_field_converter
        if verify is not None or is_default:
            # of the object, so that a subclass can call its parent's as it was written
            checked = verify or (lambda response: None)
            vars(self)["verify_response"] = _with_data(self, checked, is_default)

    def label_field_converter(self, example: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return id, answer and tags of an example."""
        return {
            "id": example["uid"],
            "answer": _first(example),
            "tags": example.get("tags") or [],
        }

    def pred_field_converter(self, response: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return id and prediction of a response."""
        return {"id": response["id"], "pred": _first(response)}


_SHOWN_KEYS = ", ".join(_ANSWER_KEYS)


def _first(row: Mapping[str, Any]) -> Any:
    found = next((row[key] for key in _ANSWER_KEYS if row.get(key) is not None), None)
    # dynalab's answers may be dicts, which no column keeps
    return encode(found) if isinstance(found, Mapping) else found


def _with_data(
    task: BaseTaskIO, verify: Callable[..., Any], needs_answer: bool
) -> Callable[..., Any]:
    takes_data = len(inspect.signature(verify).parameters) > 1

    def verify_response(
        response: Mapping[str, Any], example: Mapping[str, Any]
    ) -> Sequence[Violation]:
        task.data = example
        try:
            result = verify(response, example) if takes_data else verify(response)
        except AssertionError as error:
            return [from_assertion(error)]
        except Exception as error:
            statement = failed_statement(error)
            rule = f"`{statement}` must not raise {type(error).__name__}: {error}"
            return [Violation("(response)", rule)]
        found = result if isinstance(result, list | tuple) else []
        if found or not needs_answer or any(key in response for key in _ANSWER_KEYS):
            return found
        return [Violation("(response)", f"must have one of the keys {_SHOWN_KEYS}")]

    return verify_response
