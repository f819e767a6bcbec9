"""Takes the answers out of responses, many at once, before they are checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, get_args, get_origin

import polars as pl

from evalkit import Unparsed
from evalkit.catalog import BoundDataset, BoundTask
from evalkit.errors import EvalkitError
from evalkit.examples.conversion import predicted_field
from evalkit.examples.table import Examples
from evalkit.predictions.alternatives import RESPONSE_INDEX_KEY
from evalkit.predictions.answer_readers import (
    EMPTY,
    OK,
    REASON,
    RESPONSE,
    RESPONSES,
    STATUS,
    TYPES,
    FrameExtracted,
    RowExtracted,
)
from evalkit.predictions.matching import NOWHERE, Places
from evalkit.reading.field_types import bare
from evalkit.scoring import RESPONSES_KEY

_NULL = "the response is null"


class Extracted(NamedTuple):
    """What extractors made of texts."""

    values: pl.Series
    """Texts; null where there is no answer."""
    statuses: pl.Series
    """One of `evalkit.predictions.answer_readers.STATUSES` each."""
    reasons: pl.Series
    """Why there is no answer, the stage first; null where there is one."""


class Extractors(Protocol):
    """Extractors, one after another."""

    @property
    def chooses(self) -> bool:
        """Whether a stage makes one answer of several."""

    def extract(
        self,
        texts: pl.Series,
        choices: pl.Series | None = None,
        labels: Sequence[str] | None = None,
        rows: pl.Series | None = None,
        languages: Sequence[str] = (),
    ) -> Extracted:
        """Take the answers out of texts."""


class AnswerExtractor:
    """Takes the answers out of the responses to some examples.

    Args:
        extraction: The extractors.
        dataset: The data set.
        task: Its task.
        examples: The examples, of which the extractors see options and labels only.

    Attributes:
        field: The field of a response that they look at.

    Raises:
        EvalkitError: Nobody says which field that is.
    """

    def __init__(
        self,
        extraction: Extractors,
        dataset: BoundDataset,
        task: BoundTask,
        examples: Examples,
    ) -> None:
        field = predicted_field(dataset, task) or task.answer_field
        if field is None:
            raise EvalkitError(
                f"extract: {task.component.origin} does not say in which field of a "
                "response the answer is (answer_field)"
            )
        self.field = field
        self._number = _number_type(task, field)
        self._extraction = extraction
        self._labels = examples.labels
        self._languages = tuple(dataset.languages)
        self._choices = choices_of(examples)

    def _extract(
        self, texts: pl.Series, positions: Places, rows: pl.Series | None = None
    ) -> Extracted:
        choices = None
        if self._choices is not None:
            places = pl.Series("place", positions)
            if (positions == NOWHERE).any():
                known = pl.when(pl.col("place") != NOWHERE).then("place")
                places = places.to_frame().select(known).to_series()
            choices = self._choices.gather(places)
        return self._extraction.extract(
            texts, choices, self._labels, rows, self._languages
        )

    def of_frame(self, frame: pl.DataFrame, positions: Places) -> FrameExtracted | None:
        """Take the answers out of a column."""
        if self.field not in frame.columns:
            return None
        texts = frame[self.field]
        if texts.dtype != pl.String:
            return FrameExtracted(frame, _kept_values(texts), texts.is_null())
        found = self._extract(texts, positions)
        given = texts.is_not_null()
        kept = pl.DataFrame(
            {RESPONSE: texts, STATUS: found.statuses, REASON: found.reasons}
        )
        if not given.all():
            kept = kept.with_columns(
                pl.when(given).then(REASON).otherwise(pl.lit(_NULL)).alias(REASON)
            )
        is_lacking = found.values.is_null()
        values = found.values
        if is_lacking.any():
            standing_in = self._valid_answer(values)
            values = pl.DataFrame({"value": values, "given": given}).select(
                pl.when("given").then(pl.col("value").fill_null(standing_in))
            )["value"]
        frame = frame.with_columns(self._as_numbers(values).alias(self.field))
        return FrameExtracted(frame, kept, is_lacking)

    def _as_numbers(self, values: pl.Series) -> pl.Series:
        """Return answers as numbers where the task takes numbers, and all are some."""
        if self._number is None:
            return values
        made = values.cast(self._number, strict=False)
        return made if made.null_count() == values.null_count() else values

    def _valid_answer(self, values: pl.Series) -> str:
        """Return an answer that is likely to be a valid one."""
        if self._labels:
            return self._labels[0]
        known = values.drop_nulls()
        if self._number is not None:
            return "0"
        return "" if known.is_empty() else str(known[0])

    def of_rows(
        self, responses: Sequence[Mapping[str, Any]], positions: Sequence[int]
    ) -> list[RowExtracted]:
        """Take the answers out of responses that are judged one by one."""
        places = [*self._text_places(responses)]
        rows = pl.Series([place.row for place in places], dtype=pl.Int64)
        texts = pl.Series([place.text for place in places], dtype=pl.String)
        at = pl.Series([positions[place.row] for place in places], dtype=pl.Int64)
        found = self._extract(texts, at.to_numpy(), rows)
        # each on its own: one that is no number makes none of the others a text
        values = [self._as_number(value) for value in found.values]
        made = zip(values, found.statuses, found.reasons, strict=True)
        outcomes = [_Outcome(*each) for each in made]
        by_row: dict[int, list[tuple[_Place, _Outcome]]] = {}
        if self._extraction.chooses:
            # what is chosen stands for the first text of its response
            first: dict[int, _Place] = {}
            for place in places:
                first.setdefault(place.row, place)
            places = [*first.values()]
        for place, outcome in zip(places, outcomes, strict=True):
            by_row.setdefault(place.row, []).append((place, outcome))
        return [
            self._replaced(response, by_row.get(row, ()))
            for row, response in enumerate(responses)
        ]

    def _as_number(self, value: str | None) -> Any:
        if value is None or self._number is None:
            return value
        return self._as_numbers(pl.Series([value], dtype=pl.String))[0]

    def _text_places(self, responses: Sequence[Mapping[str, Any]]) -> Iterator[_Place]:
        for row, response in enumerate(responses):
            items = _alternatives(response)
            if items is None:
                text = response.get(self.field)
                if isinstance(text, str):
                    yield _Place(row, None, text)
                continue
            for item, each in enumerate(items):
                text = _text_of(each, self.field)
                if text is not None:
                    yield _Place(row, item, text)

    def _replaced(
        self, response: Mapping[str, Any], found: Sequence[tuple[_Place, _Outcome]]
    ) -> RowExtracted:
        kept: dict[str, Any] = dict.fromkeys(TYPES)
        items = _alternatives(response)
        if items is not None:
            given = [_text_of(item, self.field) for item in items]
            kept[RESPONSES] = given
        if not found:
            kept |= _untouched(response, self.field)
            return RowExtracted(response, kept)
        place, first = found[0]
        kept |= {RESPONSE: place.text, STATUS: first.status, REASON: first.reason}
        if items is None:
            return RowExtracted({**response, self.field: first.answer}, kept)
        if self._extraction.chooses:
            whole = {k: v for k, v in response.items() if k != RESPONSES_KEY}
            own = {k: v for k, v in items[0].items() if k != RESPONSE_INDEX_KEY}
            return RowExtracted({**whole, **own, self.field: first.answer}, kept)
        made = [*items]
        for where, outcome in found:
            index = where.item or 0
            made[index] = {**items[index], self.field: outcome.answer}
        return RowExtracted({**response, RESPONSES_KEY: made}, kept)


def _number_type(task: BoundTask, field: str) -> pl.DataType | None:
    """Return the type of a field that takes only integers, or only floats."""
    declared = task.Output.model_fields.get(field)
    annotation = bare(declared.annotation) if declared is not None else None
    is_choice = get_origin(annotation) is Literal
    kinds = {*map(type, get_args(annotation))} if is_choice else {annotation}
    return pl.Int64() if kinds == {int} else pl.Float64() if kinds == {float} else None


def _text_of(item: Any, field: str) -> str | None:
    text = item.get(field) if isinstance(item, Mapping) else None
    return text if isinstance(text, str) else None


class _Place(NamedTuple):
    """Where a text stands."""

    row: int
    item: int | None
    """Number of the alternative; None where there are none."""
    text: str


class _Outcome(NamedTuple):
    """What became of a text."""

    value: Any
    status: str
    reason: str | None

    @property
    def answer(self) -> Any:
        """The answer, or what says that there is none."""
        return Unparsed(self.reason or "") if self.value is None else self.value


def _alternatives(response: Mapping[str, Any]) -> Sequence[Any] | None:
    given = response.get(RESPONSES_KEY)
    if not isinstance(given, list | tuple) or not given:
        return None
    return given if all(isinstance(item, Mapping) for item in given) else None


def _untouched(response: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Say what a response without a text is: an answer, if its check accepts it."""
    value = response.get(field)
    if value is None:
        return {STATUS: EMPTY, REASON: _NULL}
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return {RESPONSE: str(value) if is_number else None, STATUS: OK}


def _kept_values(values: pl.Series) -> pl.DataFrame:
    """Say the same of a column without texts."""
    value, nothing = pl.col("value"), pl.lit(None, pl.String)
    shown = value.cast(pl.String) if values.dtype.is_numeric() else nothing
    return (
        values.alias("value")
        .to_frame()
        .select(
            shown.alias(RESPONSE),
            pl.when(value.is_null())
            .then(pl.lit(EMPTY))
            .otherwise(pl.lit(OK))
            .alias(STATUS),
            pl.when(value.is_null()).then(pl.lit(_NULL)).alias(REASON),
        )
    )


def choices_of(examples: Examples) -> pl.Series | None:
    """Return the options of each example as lists of texts; None if none has any."""
    if examples.choices is None:
        return None
    return examples.choices.cast(pl.List(pl.String))
