"""Annotates the rows of a table, each distinct row once."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.violations import shorten
from evalkit.base.wording import absent_field
from evalkit.catalog import load_component
from evalkit.errors import AnnotatorError, EvalkitError, PluginError
from evalkit.parallel import NotPortable, Workers
from evalkit.predictions.column_stages import Tell
from evalkit_annotators_columns.answers import Answer, of_one_kind, without_value
from evalkit_annotators_columns.asking import Row, ask_rows
from evalkit_annotators_columns.bound import BoundAnnotator
from evalkit_annotators_columns.wanted import Wanted

_hands_on_calls = True  # what fails here is in an annotator

MOST_FAILURES = 20
"""Failures in a row, after which an annotator is not asked any more."""

_SHARED_ROWS = 4
"""Rows that a worker gets at least, as handing them over takes time too."""

_DETAILS = {
    "position": pl.UInt32,
    "text": pl.String,
    "reason": pl.String,
    "failed": pl.Boolean,
    "seconds": pl.Float64,
    "cost": pl.Float64,
    "repeated": pl.Boolean,
}


class Annotated(NamedTuple):
    """What an annotator said of the rows of a table."""

    component: BoundAnnotator
    columns: dict[str, pl.Series]
    """Its values by the names that metrics ask by, null where there is none."""
    details: pl.DataFrame
    """Of each row that was asked for: `position`, `text`, `reason` (null where there is
    a value), `failed`, `seconds`, `cost`, and whether it is `repeated`: has the
    answer of an equal row."""
    warnings: tuple[str, ...] = ()
    conclusions: tuple[str, ...] = ()
    """What it says of all of them together."""

    @property
    def lacking(self) -> pl.DataFrame:
        """`position`, `reason` and `failed` of the rows that should have a value."""
        reasons = self.details.filter(pl.col("reason").is_not_null())
        return reasons.select("position", "reason", "failed")

    def record(self, details: pl.DataFrame) -> dict[str, Any]:
        """Return how often it was asked, the seconds, the cost, and conclusions."""
        asked = details.filter(~pl.col("repeated") & pl.col("seconds").is_not_null())
        costs = asked["cost"].drop_nulls()
        return {
            "asked": asked.height,
            "seconds": round(float(asked["seconds"].sum()), 3),
            "cost": float(costs.sum()) if len(costs) else None,
            "conclusions": list(self.conclusions),
        }


def annotate(
    wanted: Wanted,
    table: pl.DataFrame,
    jobs: int,
    tell: Tell,
    offered: Sequence[str] = (),
    engine: Any = None,
) -> Annotated:
    """Annotate the rows of a table."""
    annotator = wanted.annotator
    rows, positions = _rows(annotator, table)
    lacking = [name for name in annotator.reads if name not in table.columns]
    if lacking and "fields" in annotator.arguments:
        field = absent_field(lacking[0], offered)
        why = f"{annotator.component.origin}: it reads {field}"
        answers = [without_value(why, failed=True)] * len(rows)
    else:
        answers = _Asking(annotator, jobs, tell, engine).answers(rows)
    answers, values = of_one_kind(annotator, answers)
    everyone = pl.DataFrame({"position": range(table.height)})
    columns = {}
    for name, part in wanted.columns.items():
        filled = pl.DataFrame({"position": positions, "value": values[part]})
        filled = filled.cast({"position": pl.Int64})
        joined = everyone.join(filled, "position", "left", maintain_order="left")
        columns[name] = joined["value"].alias(name)
    pairs = zip(positions, answers, strict=True)
    listed = [(n, *(getattr(a, f) for f in _FIELDS)) for n, a in pairs]
    details = pl.DataFrame(listed, schema=_DETAILS, orient="row")
    concluded, warned = _conclusions(annotator, answers)
    return Annotated(annotator, columns, details, tuple(warned), concluded)


def _conclusions(
    annotator: BoundAnnotator, answers: Sequence[Answer]
) -> tuple[tuple[str, ...], list[str]]:
    """Return what an annotator says of all rows together, and what it warns of."""
    if not annotator.has("conclude"):
        return (), []
    names = annotator.columns or [""]
    values = {name: [each.values.get(name) for each in answers] for name in names}
    with (
        warnings.catch_warnings(record=True) as caught,
        annotator.guard("conclude", passes=(AnnotatorError,)),
        annotator.named(),
    ):
        warnings.simplefilter("always")
        said = annotator.row_function("conclude")(values=values)
        texts = tuple(said or ())
        if isinstance(said, str) or not all(isinstance(each, str) for each in texts):
            raise TypeError(f"it must return texts, returned {shorten(said)}")
    return texts, [f"{annotator.name}: {each.message}" for each in caught]


_FIELDS = ("text", "reason", "failed", "seconds", "cost", "is_repeated")


def _rows(
    annotator: BoundAnnotator, table: pl.DataFrame
) -> tuple[list[Row], list[int]]:
    """Return the arguments of each row that can be annotated, and the rows' places."""
    takes = annotator.arguments
    everyone = table.with_columns(pl.int_range(pl.len()).alias("position"))
    if "prediction" in takes:
        everyone = everyone.filter(pl.col("prediction").is_not_null())
    columns = {
        name: everyone[name].to_list()
        for name in ("prediction", "target")
        if name in takes
    }
    names = [name for name in annotator.reads if name in table.columns]
    read = {name: everyone[name].to_list() for name in names}
    rows: list[Row] = []
    for place in range(everyone.height):
        row: dict[str, Any] = {name: each[place] for name, each in columns.items()}
        if "fields" in takes:
            row["fields"] = {name: values[place] for name, values in read.items()}
        rows.append(row)
    return rows, everyone["position"].to_list()


class _Asking:
    """Asks for the rows of one table, each distinct row once."""

    def __init__(
        self, annotator: BoundAnnotator, jobs: int, tell: Tell, engine: Any
    ) -> None:
        self._annotator = annotator
        self._jobs = jobs if annotator.shares_work else 1
        self._engine = engine if annotator.shares_work else None
        self._tell = tell
        self._found: dict[str, Answer] = {}
        self._failures = 0
        self._last: str | None = None
        """The last of the failures after which it is not asked any more."""
        self._started = time.monotonic()
        self._asked = 0
        self._rows = 0

    def answers(self, rows: Sequence[Row]) -> list[Answer]:
        """Return what is said of each row."""
        keys = [json.dumps(row, sort_keys=True, default=_tagged) for row in rows]
        distinct = dict(zip(keys, rows, strict=True))
        self._rows = len(distinct)
        if distinct:
            self._tell_rate()
            self._ask([*distinct], distinct)
        answered: set[str] = set()
        answers = []
        for key in keys:
            is_repeated = key in answered
            answered.add(key)
            answers.append(self._found[key]._replace(is_repeated=is_repeated))
        return answers

    def _ask(self, keys: Sequence[str], rows: dict[str, Row]) -> None:
        size = self._annotator.rows_at_once
        try:
            least = _SHARED_ROWS if self._engine is None else 16 * _SHARED_ROWS
            self._share(keys, rows, max(size, least))
        except NotPortable:
            left = [key for key in keys if key not in self._found]
            for part in _parts(left, size):
                if self._is_given_up:
                    break
                self._keep(part, ask_rows(self._annotator, [rows[key] for key in part]))
        except AnnotatorError:
            raise
        except EvalkitError as error:
            self._leave(keys, str(error), failed=True)
        if self._is_given_up:
            why = f"not asked, after {MOST_FAILURES} failures in a row: {self._last}"
            self._leave(keys, why, failed=False)

    def _share(self, keys: Sequence[str], rows: dict[str, Row], size: int) -> None:
        annotator = self._annotator
        is_alone = self._jobs == 1 and self._engine is None
        if is_alone or annotator.loaded_with is None or len(keys) <= size:
            raise NotPortable
        handed_out: list[Sequence[str]] = []

        def requests() -> Iterator[list[Row]]:
            for part in _parts(keys, size):
                if self._is_given_up:
                    return
                handed_out.append(part)
                yield [rows[key] for key in part]

        def died(first: Sequence[Row], last: Sequence[Row]) -> PluginError:
            origin = annotator.component.origin
            return PluginError(f"{origin}: a worker process ended before it answered")

        parts = (annotator.component, dict(annotator.loaded_with))
        with Workers(self._jobs, self._engine) as workers:
            calls = load_component, parts, ask_rows, requests(), died
            asked = workers.map(*calls, lambda rows: f"{len(rows)} of {annotator.name}")
            with closing(asked):
                for part, answers in enumerate(asked):
                    self._keep(handed_out[part], answers)

    @property
    def _is_given_up(self) -> bool:
        return self._last is not None

    def _keep(self, keys: Sequence[str], answers: Sequence[Answer]) -> None:
        for key, answer in zip(keys, answers, strict=True):
            self._found[key] = answer
            self._failures = 0 if answer.is_final else self._failures + 1
            if self._failures == MOST_FAILURES:
                self._last = answer.reason
        self._asked += len(keys)
        self._tell_rate()

    def _leave(self, keys: Sequence[str], why: str, failed: bool) -> None:
        for key in keys:
            self._found.setdefault(key, without_value(why, failed))

    def _tell_rate(self) -> None:
        rate = self._asked / max(time.monotonic() - self._started, 1e-3)
        done = f"{self._asked:,} of {self._rows:,}, {rate:.3g} rows/s"
        self._tell(f"{self._annotator.name}: {done}")


def _parts(keys: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def _tagged(value: Any) -> dict[str, str]:
    """Write what JSON does not know so that it equals no other value."""
    return {"type": type(value).__qualname__, "value": repr(value)}
