"""Judges the rows of predictions, as columns where that can be, else one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import polars as pl

from evalkit.base.columns import all_named, frame_of, join_parts, unstorable_place
from evalkit.base.ids import (
    REPLICATION_KEY,
    RESPONSE_ID_KEYS,
    RESPONSES_KEY,
    read_id,
    read_replication,
)
from evalkit.base.terms import Unparsed
from evalkit.base.violations import REQUIRED, Violation, shorten
from evalkit.errors import SchemaError
from evalkit.examples.scored_values import value_column
from evalkit.predictions.adapting import Adapted
from evalkit.predictions.alternatives import (
    OF_ALTERNATIVES,
    Outcome,
    alternatives_column,
)
from evalkit.predictions.answer_readers import (
    AT_ONCE,
    REASON,
    STATUS,
    UNPARSED,
    FrameExtracted,
    kept_column,
    kept_names,
)
from evalkit.predictions.judged_values import (
    counted,
    lists_of,
    ranked_column,
    typed_values,
)
from evalkit.predictions.matching import NOWHERE, IdIndex, Places
from evalkit.predictions.problems import Problem, Problems
from evalkit.predictions.responses import ResponseReader
from evalkit.reading.rows import Block, Row
from evalkit.reading.threads import in_background

_Read = tuple[int, str, str | Violation | None, Adapted]
"""Line, id, replication and response of a row."""


class JudgedRows:
    """The rows of a file, judged one by one or as columns, not yet matched.

    Args:
        ids: The examples' ids, in the data's order.
        reader: Checks and converts responses.

    Attributes:
        ids: As given.
        problems: What is wrong with rows that were judged one by one.
        undeclared: How many rows had a value under each key that nobody declared.
        lacking: How many rows lack each field that is required.
        unreadable: How many rows cannot be read, or have no usable id.
    """

    def __init__(self, ids: pl.Series, reader: ResponseReader) -> None:
        self.ids = ids
        self._reader = reader
        self._index = in_background(IdIndex, ids)
        self.problems = Problems()
        self.undeclared: Counter[str] = Counter()
        self.lacking: Counter[str] = Counter()
        self.unreadable = 0
        self._columns: list[pl.DataFrame] = []
        """Valid rows: `line`, `id`, `example` (its position), `replication`,
        `prediction`, and the scored fields."""
        self._lines: list[int] = []
        """Lines of the rows that were judged one by one and name an id."""
        self._ids: list[str] = []
        self._examples: list[int] = []
        self._replications: list[str | None] = []
        self._is_valid: list[bool] = []
        self._predictions: list[Any] = []
        self._reasons: list[str | None] = []
        """Why no answer could be extracted of a row, where somebody says so."""
        self._fields: dict[str, list[Any]] = {name: [] for name in reader.scored_fields}
        self._alternatives: list[Sequence[Any] | None] = []
        """Predictions of the alternatives; None for a row without any."""
        self._kept: list[Mapping[str, Any]] = []
        """What extractors made of the rows that were judged one by one."""

    def notices(self) -> tuple[str, ...]:
        """Say what was refused."""
        return self._reader.notices()

    def _judged_places(self, sources: pl.Series) -> list[int]:
        """Return the places of the used rows among those judged one by one."""
        first = sum(part.height for part in self._columns)
        return [place - first for place in sources.drop_nulls() if place >= first]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {uid: position for position, uid in enumerate(self.ids)}

    def add(self, block: Block) -> None:
        """Judge the rows of a block.

        Args:
            block: The block.
        """
        self.undeclared.update(block.undeclared)
        if block.frame.height:
            examples = self._index.result().find(block.frame["id"])
            extractor = self._reader.answers
            extracted = None
            if extractor is not None:
                extracted = extractor.of_frame(block.frame, examples)
            frame = block.frame if extracted is None else extracted.frame
            accepted = self._reader.accept(frame)
            for name in ("id", REPLICATION_KEY):
                if name in frame.columns:
                    given = frame[name]
                    accepted &= (given.str.len_bytes() > 0).fill_null(name != "id")
            block = block._replace(frame=frame)
            self._add_columns(block, accepted, examples, extracted)
            others = (block.row_at(index) for index in (~accepted).arg_true())
            self._add_rows(others, counts_keys=False)
        self._add_rows(block.rows, counts_keys=True)

    def _add_columns(
        self,
        block: Block,
        accepted: pl.Series,
        examples: Places,
        extracted: FrameExtracted | None,
    ) -> None:
        everything = bool(accepted.all())
        frame = block.frame if everything else block.frame.filter(accepted)
        lines = block.lines
        if not everything:
            is_accepted = accepted.to_numpy()
            lines, examples = lines[is_accepted], examples[is_accepted]
        valid = self._reader.convert(frame)
        keys = [
            pl.Series("line", lines),
            frame["id"],
            pl.Series("example", examples),
        ]
        if REPLICATION_KEY in frame.columns:
            keys.append(frame[REPLICATION_KEY].alias("replication"))
        if extracted is not None:
            kept = extracted.filter(accepted)
            lacking = pl.when(~kept.is_lacking).then("prediction")
            valid = valid.with_columns(lacking.alias("prediction"))
            keys += kept.kept.get_columns()
        self._columns.append(frame_of([*keys, *valid.get_columns()]))

    def _add_rows(self, rows: Iterable[Row], counts_keys: bool) -> None:
        """Judge rows one by one; extractors look at many of them at once."""
        extractor = self._reader.answers
        if extractor is None:
            for row in rows:
                if (found := self._read_row(row, counts_keys)) is not None:
                    self._judge(*found)
            return
        waiting = iter(rows)
        while chunk := list(islice(waiting, AT_ONCE)):
            read = [self._read_row(row, counts_keys) for row in chunk]
            known = [found for found in read if found is not None]
            positions = [self._positions.get(uid, NOWHERE) for _, uid, *_ in known]
            responses = [adapted.response for *_, adapted in known]
            made = extractor.of_rows(responses, positions)
            for read_row, (response, kept) in zip(known, made, strict=True):
                line, uid, replication, adapted = read_row
                adapted = adapted._replace(response=response)
                self._judge(line, uid, replication, adapted, kept)

    def _read_row(self, row: Row, counts_keys: bool) -> _Read | None:
        """Adapt a row; None for one that cannot be read or names no example."""
        given = row.values or {}
        adapted = self._reader.adapt(given)
        response = adapted.response
        # an adapter that knows nothing of replications may leave the key out
        holder = given if REPLICATION_KEY in given else response
        replication = read_replication(holder)
        if REPLICATION_KEY in response:
            response = {k: v for k, v in response.items() if k != REPLICATION_KEY}
        # what an adapter made nothing of was never held against the task
        is_whole = adapted.refused is None and adapted.unparsed is None
        if counts_keys and is_whole:
            self.undeclared.update(self._reader.undeclared(response))
        uid = row.problem or read_id(response, RESPONSE_ID_KEYS)
        if isinstance(uid, Violation):
            self.unreadable += 1
            self.lacking[uid.field] += uid.rule == REQUIRED
            if uid.rule == REQUIRED:
                self.lacking.update(self._reader.absent_fields(response))
            self.problems.add(Problem("unreadable", row.line, None, (uid,)))
            return None
        return row.line, uid, replication, adapted._replace(response=response)

    def _judge(
        self,
        line: int,
        uid: str,
        replication: str | Violation | None,
        adapted: Adapted,
        kept: Mapping[str, Any] | None = None,
    ) -> None:
        position = self._positions.get(uid, NOWHERE)
        refused, unparsed = adapted.refused, adapted.unparsed
        outcome: Outcome = (unparsed, {}, (refused,) if refused else ())
        is_whole = not refused and unparsed is None
        if is_whole and position != NOWHERE:
            outcome = self._reader.read(adapted.response, uid, position)
        elif is_whole:
            self.lacking.update(self._reader.absent_fields(adapted.response))
        prediction, fields, violations = outcome
        reason = None
        if isinstance(prediction, Unparsed):
            reason, prediction = prediction.reason, None
        if isinstance(replication, Violation):
            violations = (replication, *violations)
            replication = None
        if violations:
            self.lacking.update(v.field for v in violations if v.rule == REQUIRED)
            problem = Problem("invalid", line, uid, violations, replication)
            self.problems.add(problem)
        self._lines.append(line)
        self._ids.append(uid)
        self._examples.append(position)
        self._replications.append(replication)
        self._is_valid.append(not violations)
        self._predictions.append(prediction)
        self._reasons.append(reason)
        if kept is not None:
            self._kept.append(kept if not unparsed else {**kept, STATUS: UNPARSED})
        for name, values in self._fields.items():
            values.append(fields.get(name))
        if RESPONSES_KEY not in self._fields:
            self._alternatives.append(fields.get(RESPONSES_KEY))

    def absent(self, rows: int) -> tuple[str, ...]:
        """Return the required fields that no row has.

        Args:
            rows: How many rows there are; of a single one, no field is absent.
        """
        lacking = self.lacking.items()
        return tuple(key for key, count in lacking if count == rows > 1)

    def rows(self) -> pl.DataFrame:
        """Return all rows that name an id, in file order.

        Returns:
            `line`, `id`, `example`, `is_valid`, `source`: where its prediction is
            found, and `replication` where some row names one.
        """
        keys = {"line": pl.Int64, "id": pl.String, "example": pl.Int64}
        optional = {"replication": pl.String}
        valid = [
            part.select(
                all_named(name for name in (*keys, *optional) if name in part.columns)
            )
            for part in self._columns
        ]
        judged = pl.DataFrame(
            {
                "line": self._lines,
                "id": self._ids,
                "example": self._examples,
                "replication": self._replications,
                "is_valid": self._is_valid,
            },
            schema={**keys, **optional, "is_valid": pl.Boolean},
        )
        if not any(self._replications):
            judged = judged.drop("replication")
        rows = pl.concat([*valid, judged], how="diagonal").rechunk()
        rows = rows.with_columns(pl.col("is_valid").fill_null(True))
        rows = rows.with_row_index("source")
        return rows if rows["line"].is_sorted() else rows.sort("line")

    def predictions(self, sources: pl.Series) -> pl.Series:
        """Return the predictions of all cells.

        Args:
            sources: Where each cell's is found; null for none.

        Returns:
            The column `prediction`.
        """
        dtype = self._reader.prediction_type
        return self._gather("prediction", self._predictions, sources, dtype)

    def unparsed(self, sources: pl.Series) -> dict[str, int]:
        """Count the cells without an answer that could be extracted, by the reason.

        Args:
            sources: Where each cell's prediction is found; null for none.

        Returns:
            The counts, the most frequent reason first, and the rare ones of many
            together; a cell of which nobody said why is in none.
        """
        if self._reader.answers is not None:
            return counted(self._kept_of(REASON, sources).drop_nulls().to_list())
        if not any(self._reasons):
            return {}
        places = self._judged_places(sources)
        return counted(filter(None, (self._reasons[place] for place in places)))

    def extracted(self, sources: pl.Series) -> pl.DataFrame | None:
        """Return the columns of `answer_readers.TYPES`, for `predictions`."""
        if self._reader.answers is None:
            return None
        return pl.DataFrame(
            [self._kept_of(name, sources) for name in kept_names(self._kept)]
        )

    def _kept_of(self, name: str, sources: pl.Series) -> pl.Series:
        return kept_column(name, self._columns, self._kept).gather(sources)

    def fields(self, sources: pl.Series) -> dict[str, pl.Series]:
        """Return the scored fields of all cells.

        Args:
            sources: Where each cell's are found; null for none.

        Returns:
            The fields of the task by name, and others that were asked for where some
            response has them; and `responses`, the predictions of all alternatives,
            where some response holds ranked ones.
        """
        found = {
            name: self._gather(
                f"field {name}", values, sources, self._reader.field_types.get(name)
            ).alias(name)
            for name, values in self._fields.items()
        }
        for name in found:
            is_own = name.startswith(OF_ALTERNATIVES)
            if is_own and name not in self._reader.field_types:
                values = alternatives_column(self._fields[name])
                found[name] = values.alias(name).gather(sources)
        has_alternatives = any(ranked is not None for ranked in self._alternatives)
        for name in self._reader.optional_fields & found.keys():
            is_own = name.startswith(OF_ALTERNATIVES)
            if not found[name].count() or (is_own and not has_alternatives):
                del found[name]
        if has_alternatives:
            found[RESPONSES_KEY] = self._ranked().gather(sources)
        return found

    def _gather(
        self,
        name: str,
        values: list[Any],
        sources: pl.Series,
        dtype: pl.DataType | None,
    ) -> pl.Series:
        parts = [part[name] for part in self._columns]
        try:
            joined = typed_values(name, parts, values, dtype)
            if joined is None:
                joined = join_parts(name, parts, values, value_column)
        except ValueError as error:
            place = unstorable_place(values)
            raise SchemaError(
                f"{self._reader.origin}: line {self._lines[place]}, id "
                f"{self._ids[place]!r}: {name} cannot be stored ({error}), found "
                f"{shorten(values[place])}"
            ) from error
        if not joined.count():
            return joined.clear().extend_constant(None, len(sources))
        # gathering from many chunks takes ten times as long
        return joined.rechunk().gather(sources)

    def _ranked(self) -> pl.Series:
        """Return the predictions of all alternatives; a plain row has the one."""
        values = lists_of(self._columns, self._predictions, self._alternatives)
        return ranked_column(values, self._reader.prediction_type)
