"""Lets a task written for Dynabench's dynalab run after changing only its import."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from evalkit.hook_calls import failed_statement
from evalkit.tasks import TaskIO
from evalkit.violations import Violation, from_assertion


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
    keys `label`, `answer`, `pred`, `target` that a row has.

    Args:
        data: One input, or several.
    """

    Parameters = None  # type: ignore[assignment]
    Output = _Response
    perf_metric = "accuracy"
    example: Mapping[str, Any]

    def __init__(
        self, data: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        inputs = [data] if isinstance(data, Mapping) else list(data or ())
        self.example = dict(inputs[0]) if inputs else {"uid": "example"}
        self.data: Any = data if data is not None else self.example
        keys = dict.fromkeys(("uid", *self.example))
        fields: dict[str, Any] = {key: (Any, ...) for key in keys}
        self.Input = create_model("Input", __base__=_AnyRow, **fields)
        verify = getattr(self, "verify_response", None)
        if verify is not None:
            # of the object, so that a subclass can call its parent's as it was written
            vars(self)["verify_response"] = _with_data(self, verify)

    def label_field_converter(self, example: Mapping[str, Any]) -> Mapping[str, Any]:
        """Give id, answer and tags of an example."""
        return {
            "id": example["uid"],
            "answer": _first(example),
            "tags": example.get("tags") or [],
        }

    def pred_field_converter(self, response: Mapping[str, Any]) -> Mapping[str, Any]:
        """Give id and prediction of a response."""
        return {"id": response["id"], "pred": _first(response)}


def _first(row: Mapping[str, Any]) -> Any:
    for key in ("label", "answer", "pred", "target"):
        if key in row:
            return row[key]
    raise KeyError("none of the keys label, answer, pred, target")


def _with_data(task: BaseTaskIO, verify: Callable[..., Any]) -> Callable[..., Any]:
    takes_data = len(inspect.signature(verify).parameters) > 1

    def verify_response(
        response: Mapping[str, Any], example: Mapping[str, Any]
    ) -> Sequence[Violation]:
        task.data = example
        try:
            result = verify(response, example) if takes_data else verify(response)
        except AssertionError as error:
            return [from_assertion(error, failed_statement(error))]
        except Exception as error:
            statement = failed_statement(error)
            rule = f"`{statement}` must not raise {type(error).__name__}: {error}"
            return [Violation("(response)", rule)]
        return result if isinstance(result, list | tuple) else []

    return verify_response
