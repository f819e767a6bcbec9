"""Whether predicted JSON is the answer's, as a whole and by field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
import polars.selectors as cs
from pydantic import field_validator

from evalkit import Metric, MetricContext, Parameters

Place = tuple[tuple[str, str | int], ...]
"""Keys (`("key", "city")`) and indices (`("index", 0)`) that lead to a value."""

Leaves = dict[Place, tuple[str, Any]]
"""Kind and value of everything that is no list or object, or an empty one."""

_EMPTY: tuple[Any, ...] = (None, {}, [])


def read_column(
    column: pl.Series, *, several: bool = False
) -> Iterator[list[Leaves | None]]:
    """Read a column of JSON texts, or of values of any type.

    Args:
        column: Predictions or answers.
        several: Whether each is a list of acceptable ones.

    Yields:
        For each row its values; None where there is none, or no JSON.
    """
    dtype: Any = column.dtype
    inner = dtype.inner if several else dtype
    for value in column.to_list():
        rows = (value or []) if several else [value]
        yield [None if row is None else _leaves(row, inner) for row in rows]


def _leaves(value: Any, dtype: Any) -> Leaves | None:
    try:
        found = (
            json.loads(value, parse_constant=_refuse)
            if isinstance(value, str)
            else _without_entries(value, dtype)
        )
        return leaves_of(found)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def leaves_of(value: Any, place: Place = ()) -> Leaves:
    """Return what a value holds, by place.

    Args:
        value: Anything that JSON can be, or that polars has.
        place: Where it stands.

    Returns:
        At least one leaf. Two values are the same where their leaves are.
    """
    parts: Sequence[tuple[tuple[str, Any], Any]] = ()
    if isinstance(value, Mapping):
        parts = [(("key", key), part) for key, part in value.items()]
    elif isinstance(value, list):
        parts = [(("index", i), part) for i, part in enumerate(value)]
    if not parts:
        return {place: (_kind(value), None if value in _EMPTY else value)}
    found: Leaves = {}
    for step, part in parts:
        found |= leaves_of(part, (*place, step))
    return found


def _kind(value: Any) -> str:
    """Say of which kind a value is, as True and 1 are equal in Python."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return type(value).__name__


def _without_entries(value: Any, dtype: Any) -> Any:
    """Turn maps, which columns have as lists of entries, into dicts."""
    if isinstance(dtype, pl.Struct) and value is not None:
        return {
            field.name: _without_entries(value[field.name], field.dtype)
            for field in dtype.fields
        }
    if not isinstance(dtype, pl.List) or value is None:
        return value
    entry = dtype.inner
    if isinstance(entry, pl.Struct):
        types = {field.name: field.dtype for field in entry.fields}
        if list(types) == ["key", "value"]:
            held = types["value"]
            return {
                each["key"]: _without_entries(each["value"], held) for each in value
            }
    return [_without_entries(each, entry) for each in value]


OWN_SCORES = ("", "fields", "valid")

NO_JSON = "no acceptable answer is JSON"


class JsonParameters(Parameters):
    """Which fields have scores of their own."""

    fields: tuple[str, ...] = ()
    """Names of fields of the outermost object, `fields=city/year`."""

    @field_validator("fields", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        return (given,) if isinstance(given, str) else given


class Match(NamedTuple):
    """How a prediction compares with one answer."""

    hits: int
    gold: int
    predicted: int

    @property
    def f1(self) -> float:
        """F1 of the values."""
        return 2 * self.hits / (self.gold + self.predicted)


class JsonMatch(Metric):
    """Share of predictions that are the JSON of an acceptable answer, by value.

    The same / all examples. Answers and predictions are JSON texts, or objects of the
    task's own types. The order of keys and blanks between them make no difference, nor
    does 1 or 1.0; the order of a list, capitals and true or 1 do. Besides,
    `json-match#fields` is the F1 over the whole set of single values by their place in
    the JSON, 2 shared / (gold + predicted); `json-match#valid` the share of predictions
    that are JSON at all; and with `fields=city/year` `json-match#city` the share of the
    examples whose answer has the field `city` that have its value right, null where no
    answer has it. Of several acceptable answers the one that shares most counts. What
    is no JSON is wrong and has no values, as is a missing prediction that counts; an
    example of whose answers none is JSON is not scored. Range 0 to 1, in %, higher is
    better; Wilson's interval, of all other scores the delta method's.

    Source: ECMA-404, The JSON Data Interchange Syntax, 2017, for what JSON is; F1 as in
    van Rijsbergen, Information Retrieval, 1979, chapter 7.

    Example:
        >>> import evalkit
        >>> said, gold = ['{"a": 1, "b": "x"}'], ['{"b": "y", "a": 1.0}']
        >>> found = evalkit.score("json-match", said, gold)
        >>> found["json-match"].value, found["json-match#fields"].value
        (0.0, 0.5)
    """

    Parameters = JsonParameters
    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("one", "any-of")
    interval = "wilson"
    per_example = "same"
    worst_value = 0.0
    accepts_no_prediction = True

    def __init__(self, parameters: JsonParameters | None = None) -> None:
        super().__init__(parameters)
        self._fields = tuple(dict.fromkeys((parameters or JsonParameters()).fields))

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return what is right, gold and predicted in every example."""
        targets = read_column(batch["target"], several=context.answer_kind == "any-of")
        predictions = read_column(batch["prediction"])
        rows = [
            self._row(given, answers)
            for [given], answers in zip(predictions, targets, strict=True)
        ]
        names = ("same", "examples", "valid", "hits", "gold", "predicted")
        own = [f"{kind} {i}" for i in range(len(self._fields)) for kind in _OF_FIELD]
        schema = dict.fromkeys((*names, *own), pl.Float64) | {"not_scored": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row").with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sums."""
        hits, total = pl.col("hits"), pl.col("gold") + pl.col("predicted")
        scores = [
            _score("", pl.col("same"), pl.col("examples")),
            _score("fields", 2 * hits, total),
            _score("valid", pl.col("valid"), pl.col("examples")),
        ]
        for number, name in enumerate(self._fields):
            right, asked = (
                cs.by_name(f"{kind} {number}").as_expr() for kind in _OF_FIELD
            )
            shown = f'"{name}"' if name.strip('"') in OWN_SCORES else name
            reason = f"no answer has the field {name!r}"
            scores.append(_score(shown, right, asked, reason))
        return pl.concat([sums.select("group", *score) for score in scores])

    def _row(
        self, given: Leaves | None, answers: Sequence[Leaves | None]
    ) -> tuple[Any, ...]:
        usable = [answer for answer in answers if answer is not None]
        if not usable:
            return (*[0.0] * (6 + 2 * len(self._fields)), NO_JSON)
        match, answer = _best(given or {}, usable)
        by_field = [
            float(number)
            for name in self._fields
            for number in _of_field(name, given or {}, answer)
        ]
        is_same = given is not None and given in usable
        numbers = (is_same, 1.0, given is not None, *match, *by_field)
        return (*map(float, numbers), None)


_OF_FIELD = ("right", "asked")


def _score(
    name: str, part: pl.Expr, whole: pl.Expr, reason: str = ""
) -> tuple[pl.Expr, ...]:
    is_defined = whole > 0
    return (
        pl.lit(name).alias("score"),
        pl.when(is_defined).then(part / whole).alias("value"),
        pl.when(~is_defined).then(pl.lit(reason)).alias("reason"),
    )


def _best(given: Leaves, answers: Sequence[Leaves]) -> tuple[Match, Leaves]:
    """Return the answer that shares most, whatever their order, and how it compares."""
    if len(answers) > 1:
        answers = sorted(answers, key=lambda answer: repr(sorted(answer.items())))
    return max(
        ((_match(given, answer), answer) for answer in answers),
        key=lambda found: (found[0].f1, found[0].hits),
    )


def _match(given: Leaves, answer: Leaves) -> Match:
    hits = sum(given.get(place) == leaf for place, leaf in answer.items())
    return Match(hits, len(answer), len(given))


def _of_field(name: str, given: Leaves, answer: Leaves) -> tuple[bool, bool]:
    """Tell whether a field of the answer is right, and whether there is one."""
    wanted = _below(answer, name)
    return bool(wanted) and _below(given, name) == wanted, bool(wanted)


def _below(leaves: Leaves, name: str) -> Mapping[Any, Any]:
    first = ("key", name)
    return {place: leaf for place, leaf in leaves.items() if place[:1] == (first,)}
