"""Reads answers as values of the field that predictions are values of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_origin

import polars as pl
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_json

from evalkit.base.terms import AnswerKind
from evalkit.base.violations import describe, from_pydantic
from evalkit.examples.conversion import predicted_field
from evalkit.examples.scored_values import UnscorableError, scored_value
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.reading.field_types import bare, holds_more_than_plain, model_types
from evalkit.reading.typed_values import MisfitError, as_mappings, fit, typed_series


class AnswerType:
    """What the answers to a data set's examples are compared with.

    Args:
        dataset: The data set.
        task: Its task.

    Attributes:
        dtype: The type of predictions; None where that is not known.
        is_rich: Whether values of it are more than texts, numbers and lists of them.
        may_be_empty: Whether an answer without parts, or a map without entries, is one.
    """

    def __init__(self, dataset: BoundDataset, task: BoundTask) -> None:
        name = predicted_field(dataset, task)
        output: type[BaseModel] = task.Output
        self.dtype = None if name is None else model_types(output)[name]
        self.is_rich = holds_more_than_plain(self.dtype)
        self._kind: AnswerKind = task.answer_kind
        self.may_be_empty = self._kind in ("all-of", "spans")
        if name is not None and self.dtype is not None:
            annotation: Any = output.model_fields[name].annotation
            self._annotation = annotation
            if self.is_rich:
                self.may_be_empty |= get_origin(bare(annotation)) in (dict, Mapping)
            self._adapter: TypeAdapter[Any] = TypeAdapter(annotation)

    def read(self, stored: Any) -> Any:
        """Return an answer as it is scored.

        Args:
            stored: The answer as the data has it.

        Returns:
            A value of the type of predictions, or a list of several acceptable ones.

        Raises:
            UnscorableError: It is none.
        """
        if not self.is_rich or stored is None:
            return scored_value(stored)
        try:
            return self._one(stored)
        except (ValidationError, MisfitError) as error:
            if self._kind in ("one", "any-of") and isinstance(stored, list | tuple):
                return [self.read(item) for item in stored]
            problem = str(error)
            if isinstance(error, ValidationError):
                problem = describe(from_pydantic(error)).removeprefix("(row): ")
            raise UnscorableError(
                f"no value that a prediction may have: {problem}"
            ) from error

    def _one(self, stored: Any) -> Any:
        assert self.dtype is not None
        given = as_mappings(stored, self._annotation)
        try:
            value = self._adapter.validate_python(given)
        except ValidationError:
            value = self._adapter.validate_json(to_json(given, fallback=repr))
        return fit(self._adapter.dump_python(value), self.dtype)

    def column(
        self, answers: list[Any], *, are_lists: bool = False
    ) -> pl.Series | None:
        """Make a column of answers of the type of predictions.

        Args:
            answers: What `read` returned.
            are_lists: Whether each is a list of acceptable ones.

        Returns:
            The column `answer`; None where an answer is of another type.
        """
        if self.dtype is None:
            return None
        dtype = pl.List(self.dtype) if are_lists else self.dtype
        if (
            not are_lists
            and isinstance(answers[0], list)
            and not isinstance(dtype, pl.List)
        ):
            dtype = pl.List(dtype)
        try:
            return typed_series("answer", answers, dtype)
        except MisfitError:
            return self._converted(answers, dtype)

    def _converted(self, answers: list[Any], dtype: pl.DataType) -> pl.Series | None:
        """Return answers as pydantic takes them for predictions, such as 1 for "1"."""
        is_wrapped = dtype != self.dtype
        try:
            values = [
                [self._one(item) for item in answer]
                if is_wrapped and isinstance(answer, list)
                else self._one(answer)
                for answer in answers
            ]
            return typed_series("answer", values, dtype)
        except (ValidationError, MisfitError):
            return None
