"""Adapts, checks and converts one response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_origin

import polars as pl
from pydantic import BaseModel, ValidationError

from evalkit.base.ids import (
    ASKING_KEYS,
    REPLICATION_KEY,
    RESPONSE_ID_KEYS,
    RESPONSES_KEY,
)
from evalkit.base.terms import Unparsed
from evalkit.base.violations import Violation, from_assertion, from_pydantic, shorten
from evalkit.errors import PluginContractError
from evalkit.examples.conversion import (
    PRED_CONVERTER,
    find_converter,
    pred_function,
    predicted_field,
    prediction_type,
)
from evalkit.examples.table import Examples
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.plugins.contract import RESERVED_FIELDS
from evalkit.predictions.adapting import Adapters
from evalkit.predictions.alternatives import (
    OF_ALTERNATIVES,
    RESPONSE_INDEX_KEY,
    Alternatives,
    Outcome,
    read_alternatives,
    read_answers,
)
from evalkit.predictions.answer_readers import AnswerReader, BoundAnswerReader
from evalkit.predictions.input_rows import rows_by_id, verified_rows
from evalkit.reading.field_types import bare, model_types
from evalkit.reading.schemas import ColumnPlan, cell_texts, plan_of
from evalkit.reading.typed_values import holds_null, large_integers

_MOST_LABELS = 100
"""Labels that a map is a column of; maps of others are judged row by row."""


class ResponseReader:
    """Reads the responses of one task, for the examples of one data set.

    Args:
        task: The task.
        dataset: The data set.
        examples: Its examples, which `verify_response` may see.
        wanted: Fields that metrics ask for; those that the data does not have are kept
            of responses, whether the task declares them or not.
        answers: What takes the answers out of texts; None for nothing.

    Attributes:
        adapters: What adapts responses before they are read.
        answers: The same as above, for these examples.
        scored_fields: Fields of a response kept beside the prediction.
        optional_fields: Those of them that are left out where no response has them.
        declared_keys: Keys of a response that the task declares.
        origin: The task, its distribution and version, as errors name them.
        text_fields: Fields of a response that a cell may hold as the text that it is.
        answer_field: The field that a plain line holds; None for none.
        prediction_type: The type of predictions; None where that is not known.
        field_types: The types of the fields of `Output`, as far as they have one.
        nullable: Fields of `Output` that may be null and have no default: what a
            table, which cannot leave a value out, has as null, and a cell with nothing
            in it.
        output: The model of responses.
        plan: The responses as columns; None where the task, its output or the data
            set can judge them only one by one.
    """

    def __init__(
        self,
        task: BoundTask,
        dataset: BoundDataset,
        examples: Examples,
        wanted: Iterable[str] = (),
        answers: AnswerReader | None = None,
    ) -> None:
        self._task = task
        self._dataset = dataset
        self._labels = examples.labels
        self.output: type[BaseModel] = task.Output
        self._to_prediction = pred_function(dataset, task)
        self._rows = rows_by_id(dataset, task, examples)
        self._scored = predicted_field(dataset, task) or task.answer_field
        self.adapters = Adapters(dataset, task, self._rows, self._scored)
        self.answers: BoundAnswerReader | None = None
        if answers is not None:
            self.answers = answers.for_examples(dataset, task, examples)
        self._choices = examples.choices if task.only_choices else None
        self._verifies = task.has("verify_response")
        self._examples = verified_rows(task, examples)
        self.optional_fields = {*_fields_asked_for(task, dataset, examples, wanted)}
        kept = (*task.scored_fields, *sorted(self.optional_fields))
        self.scored_fields: tuple[str, ...] = tuple(dict.fromkeys(kept))
        self._of_alternatives = {
            name: name.removeprefix(OF_ALTERNATIVES)
            for name in self.scored_fields
            if name.startswith(OF_ALTERNATIVES)
        }
        self._reports_errors = "error" not in self.output.model_fields
        of_output = self.output.model_fields.items()
        aliases = {field.validation_alias for _, field in of_output}
        names = {*dict(of_output), *(key for key in aliases if isinstance(key, str))}
        self._reads_alternatives = RESPONSES_KEY not in names
        asked_for = {*self.scored_fields, *self._of_alternatives.values()}
        known = {*RESPONSE_ID_KEYS, *ASKING_KEYS, "error"}
        self.declared_keys = names | asked_for | known
        self._required = [
            name
            for name, field in of_output
            if field.is_required() and field.validation_alias is None and name != "id"
        ]
        self._other_ids = {*RESPONSE_ID_KEYS[1:]} - aliases
        self._takes_lists = task.answer_kind in ("all-of", "spans")
        self.origin = task.component.origin
        keys = {*RESPONSE_ID_KEYS, REPLICATION_KEY}
        self.text_fields = cell_texts(self.output) | keys
        self.text_fields |= {self.answers.field} if self.answers else set()
        self.answer_field: str | None = task.answer_field
        self.prediction_type = prediction_type(dataset, task)[1]
        self.nullable = [n for n in names if holds_null(self.output, n)]
        self.field_types = _types_of_fields(self.output, self._labels)
        for name, own in self._of_alternatives.items():
            if own in self.field_types:
                self.field_types[name] = pl.List(self.field_types[own])
        self._column, self.plan = self._plan_columns(examples)

    def _plan_columns(self, examples: Examples) -> tuple[str | None, ColumnPlan | None]:
        """Find the column that is scored, and whether columns can be judged at all."""
        declared = find_converter(PRED_CONVERTER, self._dataset, self._task)[1]
        column = declared and declared["pred"]
        judges_rows = self._verifies or self.adapters or self._choices is not None
        if not column or judges_rows:
            return None, None
        plan = plan_of(self.output, self._labels)
        if plan is None and self._labels is None:
            plan = self._plan_by_answers(examples.frame["answer"])
        if plan is None or not {column, *self.scored_fields} <= plan.columns.keys():
            return None, None
        if isinstance(plan.columns[column].dtype, pl.Struct):
            return None, None  # dicts are refused one by one
        return column, plan

    def _plan_by_answers(self, answers: pl.Series) -> ColumnPlan | None:
        """Plan maps from labels that only the answers name; other maps go by row."""
        if answers.dtype == pl.List(pl.String):
            answers = answers.explode()
        if answers.dtype != pl.String:
            return None
        labels = sorted(answers.drop_nulls().unique())
        if len(labels) > _MOST_LABELS:
            return None
        plan, known = plan_of(self.output, labels, is_open=True), self.field_types
        types = {} if plan is None else {n: c.dtype for n, c in plan.columns.items()}
        return plan if all(known.get(n, t) == t for n, t in types.items()) else None

    def accept(self, frame: pl.DataFrame) -> pl.Series:
        """Tell which responses are surely valid, from their columns."""
        assert self.plan is not None
        return self.plan.passes(frame)

    def convert(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Convert valid responses into what is scored."""
        fields = [frame[name].alias(f"field {name}") for name in self.scored_fields]
        return pl.DataFrame([frame[str(self._column)].alias("prediction"), *fields])

    def undeclared(self, response: Mapping[str, Any]) -> set[str]:
        """Return the keys of a response that the task does not declare."""
        ranked = self._alternatives(response)
        whole = [response] if ranked is None else [response, *ranked.items]
        found = {
            key for part in whole for key, value in part.items() if value is not None
        }
        if ranked is not None:
            found -= {RESPONSES_KEY, RESPONSE_INDEX_KEY}
        return found - self.declared_keys

    def absent_fields(self, response: Mapping[str, Any]) -> list[str]:
        """Return the required fields of `Output` that an unchecked response lacks."""
        if self._alternatives(response) is not None:
            return []
        return [name for name in self._required if name not in response]

    def _alternatives(self, response: Mapping[str, Any]) -> Alternatives | None:
        return read_alternatives(response) if self._reads_alternatives else None

    def read(self, response: Mapping[str, Any], uid: str, position: int) -> Outcome:
        """Check a response and convert it into what is scored."""
        if self._reports_errors and response.get("error") is not None:
            rule = "the model reports an error"
            return None, {}, (Violation("error", rule, response["error"]),)
        ranked = self._alternatives(response)
        if ranked is None:
            prediction, found, broken = self._read_one(response, uid, position)
            for name, own in self._of_alternatives.items():
                found = {**found, name: [found.get(own)]}
            return prediction, found, broken
        return read_answers(
            ranked,
            response,
            lambda merged: self._read_one(merged, uid, position),
            self._of_alternatives,
            self._takes_lists,
        )

    def _read_one(
        self, response: Mapping[str, Any], uid: str, position: int
    ) -> Outcome:
        if self._reports_errors and response.get("error") is not None:
            rule = "the model reports an error"
            return None, {}, (Violation("error", rule, response["error"]),)
        if response.get("id") != uid or not self._other_ids.isdisjoint(response):
            kept = {k: v for k, v in response.items() if k not in self._other_ids}
            response = {**kept, "id": uid}
        unparsed = self._unparsed_field(response)
        if unparsed is not None:
            return self._read_unparsed(response, unparsed)
        shaped, violations = self._shape(response)
        if not violations and self._verifies:
            violations = self._verify_violations(response, uid, position)
        if violations:
            return None, {}, tuple(violations)
        # before the converter is called, which might change the response
        fields = self._fields(shaped)
        prediction = self._to_prediction(shaped, self._rows.get(uid))
        return prediction, fields, self._other_choices(prediction, position)

    def _other_choices(self, prediction: Any, position: int) -> tuple[Violation, ...]:
        """Say what of a prediction is none of its example's options."""
        if self._choices is None or isinstance(prediction, Unparsed):
            return ()
        options = self._choices[position].to_list()
        items = prediction if isinstance(prediction, list) else [prediction]
        field = self._scored or "(response)"
        rule = f"must be one of the example's choices: {', '.join(map(str, options))}"
        return tuple(
            Violation(field, rule, item)
            for item in items
            if item is not None and item not in options
        )

    def _fields(self, shaped: Mapping[str, Any]) -> dict[str, Any]:
        names = (*self.scored_fields, *self._of_alternatives.values())
        return {name: shaped.get(name) for name in names}

    def _unparsed_field(self, response: Mapping[str, Any]) -> str | None:
        """Name the field by which somebody says that there is no answer."""
        if not self.adapters and self.answers is None:
            return None
        said = (name for name, each in response.items() if isinstance(each, Unparsed))
        return next(said, None)

    def _read_unparsed(self, response: Mapping[str, Any], field: str) -> Outcome:
        """Check all but the field that an adapter could extract nothing for."""
        said: Unparsed = response[field]
        given = {
            name: None if isinstance(value, Unparsed) else value
            for name, value in response.items()
        }
        shaped, found = self._shape(given)
        violations = [v for v in found if v.field.partition(".")[0] != field]
        if violations:
            return None, {}, tuple(violations)
        return said, self._fields(shaped), ()

    def _shape(
        self, response: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], list[Violation]]:
        """Validate a response; the fields of `Output` get their validated values."""
        try:
            validated = self._task.validate_output(response, self._labels)
        except ValidationError as error:
            return response, from_pydantic(error)
        values = validated.model_dump()
        rule = "must be an integer of 64 bits"
        large = large_integers(values, self.field_types)
        return {**response, **values}, [Violation(n, rule, values[n]) for n in large]

    def _verify_violations(
        self, response: Mapping[str, Any], uid: str, position: int
    ) -> list[Violation]:
        """Return what the task's own check finds wrong."""
        example = self._examples[position] if self._examples else {"uid": uid}
        try:
            violations = self._task.call(
                "verify_response",
                ("response", uid),
                response=dict(response),
                example=example,
                data=example,
                labels=self._labels,
            )
        except AssertionError as error:
            return [from_assertion(error)]
        return [*_checked_violations(violations, self.origin)]


def _fields_asked_for(
    task: BoundTask, dataset: BoundDataset, examples: Examples, wanted: Iterable[str]
) -> Iterator[str]:
    """Find the fields that somebody asks for and only responses can have."""
    yield from dataset.scored_fields
    others = {*examples.data_columns, *task.Input.model_fields, *task.scored_fields}
    others |= {*RESERVED_FIELDS, "uid", REPLICATION_KEY}
    if RESPONSES_KEY not in task.Output.model_fields:
        others.add(RESPONSES_KEY)  # the predictions of alternatives
    yield from {*wanted} - others


def _types_of_fields(
    output: type[BaseModel], labels: Sequence[str] | None
) -> dict[str, pl.DataType]:
    """Return the types of fields but for those that map labels to numbers.

    The keys that those have are the plan's and the task's to check.
    """
    return {
        name: dtype
        for name, dtype in model_types(output, labels).items()
        if not isinstance(dtype, pl.Struct)
        or get_origin(bare(output.model_fields[name].annotation)) is not dict
    }


def _checked_violations(found: Any, origin: str) -> Sequence[Violation]:
    """Return what `verify_response` returned, if it is a list of violations."""
    if found is None:
        return ()
    if not isinstance(found, list | tuple) or not all(
        isinstance(violation, Violation)
        and isinstance(violation.field, str)
        and isinstance(violation.rule, str)
        for violation in found
    ):
        raise PluginContractError(
            f"{origin}: verify_response must return a list of violations or None, "
            f"returned {shorten(found)}"
        )
    return found
