"""Adapts, checks and converts one response."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from evalkit.conversion import pred_function
from evalkit.errors import PluginContractError, PluginError
from evalkit.examples import Examples
from evalkit.ids import RESPONSE_ID_KEYS
from evalkit.prediction_files import unwritable
from evalkit.registry import Bound
from evalkit.violations import Violation, from_assertion, from_pydantic, shorten

Outcome = tuple[Any, Mapping[str, Any], tuple[Violation, ...]]
"""Prediction, scored fields, and violations."""


class ResponseReader:
    """Reads the responses of one task, for the examples of one data set.

    Args:
        task: The task.
        dataset: The data set.
        examples: Its examples, which `verify_response` may see.

    Attributes:
        scored_fields: Fields of a response kept beside the prediction.
        declared_keys: Keys of a response that the task declares.
    """

    def __init__(self, task: Bound, dataset: Bound, examples: Examples) -> None:
        self._task = task
        self._dataset = dataset
        self._labels = examples.labels
        self._output: type[BaseModel] = task.attributes["Output"]
        self._to_prediction = pred_function(dataset, task)
        self._adapt = (
            dataset.row_function("adapt_response")
            if dataset.has("adapt_response")
            else None
        )
        self._verify = (
            task.row_function("verify_response")
            if task.has("verify_response")
            else None
        )
        self._examples = self._verified_fields(examples)
        self.scored_fields: tuple[str, ...] = tuple(task.attributes["scored_fields"])
        self._reports_errors = "error" not in self._output.model_fields
        aliases = (
            field.validation_alias for field in self._output.model_fields.values()
        )
        self.declared_keys = {
            *self._output.model_fields,
            *(alias for alias in aliases if isinstance(alias, str)),
            *RESPONSE_ID_KEYS,
            "error",
        }

    def _verified_fields(self, examples: Examples) -> list[dict[str, Any]]:
        """Give what `verify_response` reads of each example; empty for nothing."""
        wanted = {"example", "data"} & {
            *(self._task.arguments_of("verify_response") if self._verify else ())
        }
        if not wanted:
            return []
        present = examples.inputs.columns
        fields = self._task.attributes["verify_fields"]
        if fields is None:
            model: type[BaseModel] = self._task.attributes["Input"]
            fields = [name for name in model.model_fields if name in present]
        missing = [name for name in fields if name not in present]
        if missing:
            raise PluginContractError(
                f"{self._task.component.origin}: verify_response reads the field "
                f"{missing[0]!r}, which the data does not have"
            )
        columns = list(dict.fromkeys(("uid", *fields)))
        rows = examples.inputs.select(columns).rows(named=True)
        for name in examples.nested.keys() & {*fields}:
            for row, value in zip(rows, examples.nested[name], strict=True):
                row[name] = value
        return rows

    def adapt(
        self, response: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], Violation | None]:
        """Apply the data set's response adapter.

        Args:
            response: A response as read.

        Returns:
            The adapted response; where the adapter refuses it, the response as it was
            and the reason.
        """
        if self._adapt is None or not response:
            return response, None
        try:
            adapted = self._adapt(response=dict(response))
        except (Exception, SystemExit) as error:
            rule = (
                f"adapt_response of {self._dataset.component.origin} must accept it "
                f"({type(error).__name__}: {error})"
            )
            return response, Violation("(response)", rule)
        if not isinstance(adapted, Mapping):
            raise PluginContractError(
                f"{self._dataset.component.origin}: adapt_response must return a dict, "
                f"returned {shorten(adapted)}"
            )
        refused = unwritable(adapted)
        return (response, refused) if refused else (adapted, None)

    def read(self, response: Mapping[str, Any], uid: str, position: int) -> Outcome:
        """Check a response and convert it into what is scored.

        Args:
            response: The response after the adapter.
            uid: Its id as text.
            position: Position of its example.

        Returns:
            The prediction, the scored fields, and all violations.
        """
        if self._reports_errors and response.get("error") is not None:
            rule = "the model reports an error"
            return None, {}, (Violation("error", rule, response["error"]),)
        if response.get("id") != uid:
            response = {**response, "id": uid}
            response.pop("uid", None)
        shaped, violations = self._shape(response)
        if all(violation.field != "(row)" for violation in violations):
            violations += self._verify_violations(response, uid, position, violations)
        if violations:
            return None, {}, tuple(violations)
        try:
            prediction = self._to_prediction(shaped)
        except PluginError:
            raise
        except (Exception, SystemExit) as error:
            rule = f"the converter must accept it ({type(error).__name__}: {error})"
            return None, {}, (Violation("(response)", rule),)
        fields = {name: shaped.get(name) for name in self.scored_fields}
        return prediction, fields, ()

    def _shape(
        self, response: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], list[Violation]]:
        """Validate a response; the fields of `Output` get their validated values."""
        try:
            validated = self._output.model_validate(response)
        except ValidationError as error:
            return response, from_pydantic(error)
        except Exception as error:
            raise PluginError(
                f"{self._task.component.origin}: Output failed for the response "
                f"{response['id']!r} with {type(error).__name__}: {error}"
            ) from error
        return {**response, **validated.model_dump()}, []

    def _verify_violations(
        self,
        response: Mapping[str, Any],
        uid: str,
        position: int,
        found: Sequence[Violation],
    ) -> list[Violation]:
        """Ask the task's own check; after a broken shape only what it adds counts."""
        if self._verify is None:
            return []
        example = self._examples[position] if self._examples else {"uid": uid}
        try:
            result = self._verify(
                response=dict(response),
                example=example,
                data=example,
                labels=self._labels,
            )
        except AssertionError as error:
            return [] if found else [from_assertion(error, failed_statement(error))]
        except (Exception, SystemExit) as error:
            if found:
                return []
            raise PluginError(
                f"{self._task.component.origin}: verify_response failed for the "
                f"response {uid!r} with {type(error).__name__}: {error}"
            ) from error
        named = {violation.field.partition(".")[0] for violation in found}
        return [
            violation
            for violation in self._checked_violations(result)
            if violation.field.partition(".")[0] not in named
        ]

    def _checked_violations(self, result: Any) -> Sequence[Violation]:
        if result is None:
            return ()
        if not isinstance(result, list | tuple) or not all(
            isinstance(violation, Violation) for violation in result
        ):
            raise PluginContractError(
                f"{self._task.component.origin}: verify_response must return a list of "
                f"violations or None, returned {shorten(result)}"
            )
        return result


def failed_statement(error: BaseException) -> str | None:
    """Give the source line that raised an exception, where it is known."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    for frame in last:
        lines = linecache.getlines(frame.filename)
        part = lines[(frame.lineno or 1) - 1 : frame.end_lineno]
        return " ".join(line.strip() for line in part) or None
    return None
