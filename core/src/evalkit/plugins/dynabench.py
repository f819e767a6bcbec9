"""Lets a task written for Dynabench's dynalab run after changing only its import."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from evalkit.base.columns import encode
from evalkit.base.violations import Violation, failed_statement, from_assertion
from evalkit.plugins.classes import TaskIO


class _AnyRow(BaseModel):
    model_config = ConfigDict(extra="allow")


class _Response(_AnyRow):
    id: str


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
            checked = _no_check if verify is None else verify
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


_ANSWER_KEYS = ("label", "answer", "pred", "target")
_SHOWN_KEYS = ", ".join(_ANSWER_KEYS)


def _first(row: Mapping[str, Any]) -> Any:
    for key in _ANSWER_KEYS:
        if key in row:
            # dynalab's answers may be dicts, which no column keeps
            return encode(row[key]) if isinstance(row[key], Mapping) else row[key]
    return None


def _no_check(response: Mapping[str, Any]) -> None:
    pass


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
