"""Ranked alternatives: the several answers that a response may give.

They are the objects of the list `responses`, the best one first. Objects that share one
`_response_index_` are parts of one answer, such as the spans of a text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import encode
from evalkit.base.ids import RESPONSES_KEY
from evalkit.base.terms import Unparsed
from evalkit.base.violations import Violation

Outcome = tuple[Any, Mapping[str, Any], tuple[Violation, ...]]
"""Prediction, scored fields, and violations."""

OF_ALTERNATIVES = f"{RESPONSES_KEY}."
"""Before the name of a field of alternatives: `responses.logprob`."""

RESPONSE_INDEX_KEY = "_response_index_"
"""Key under which an object says which answer it is a part of."""


class Alternatives(NamedTuple):
    """The answers of a response."""

    items: Sequence[Mapping[str, Any]]
    """The objects of the list."""
    answers: Sequence[Sequence[int]]
    """The places of the objects that each answer is made of, the first answer first."""
    violations: tuple[Violation, ...]

    def merged(self, place: int, response: Mapping[str, Any]) -> dict[str, Any]:
        """Return a response with the keys of one object instead of the list."""
        whole = {**response, **self.items[place]}
        return {
            key: value
            for key, value in whole.items()
            if key not in (RESPONSES_KEY, RESPONSE_INDEX_KEY)
        }


def read_alternatives(response: Mapping[str, Any]) -> Alternatives | None:
    """Find the alternatives of a response."""
    given = response.get(RESPONSES_KEY)
    if not isinstance(given, list | tuple):
        return None
    if given and not any(isinstance(item, Mapping) for item in given):
        return None
    items: list[Mapping[str, Any]] = []
    answers: list[list[int]] = []
    by_index: dict[int, list[int]] = {}
    violations = []
    for place, item in enumerate(given):
        items.append(item if isinstance(item, Mapping) else {})
        if not isinstance(item, Mapping):
            field = f"{RESPONSES_KEY}.{place}"
            violations.append(Violation(field, "must be an object", item))
            continue
        index = item.get(RESPONSE_INDEX_KEY)
        if isinstance(index, int) and not isinstance(index, bool) and index >= 0:
            if index in by_index:
                by_index[index].append(place)
                continue
            by_index[index] = [place]
            answers.append(by_index[index])
            continue
        if index is not None:
            field = f"{RESPONSES_KEY}.{place}.{RESPONSE_INDEX_KEY}"
            rule = "must be an integer of at least 0"
            violations.append(Violation(field, rule, index))
        answers.append([place])
    return Alternatives(items, answers, tuple(violations))


def read_answers(
    ranked: Alternatives,
    response: Mapping[str, Any],
    read: Callable[[Mapping[str, Any]], Outcome],
    own: Mapping[str, str],
    takes_lists: bool,
) -> Outcome:
    """Check and convert all alternatives of a response."""
    fields: Mapping[str, Any] = {}
    predictions: list[Any] = []
    values: dict[str, list[Any]] = {name: [] for name in own}
    reasons: list[Any] = []
    violations = [*ranked.violations]
    for answer in ranked.answers:
        parts, found_of_parts = [], []
        for place in answer:
            prediction, found, broken = read(ranked.merged(place, response))
            fields = fields or found
            is_unparsed = isinstance(prediction, Unparsed)
            # what is said of later answers is not why the first one is lacking
            reasons += [prediction] * (is_unparsed and not predictions)
            parts.append(None if is_unparsed else prediction)
            found_of_parts.append(found)
            where = f"{RESPONSES_KEY}.{place}."
            violations += [v._replace(field=where + v.field) for v in broken]
        is_list = len(parts) > 1 or takes_lists
        predictions.append(parts if is_list else parts[0])
        for name, key in own.items():
            given = [found.get(key) for found in found_of_parts]
            values[name].append(given if is_list else given[0])
    if violations:
        return None, {}, tuple(violations)
    first = predictions[0] if predictions else None
    if first is None and reasons:
        first = reasons[0]
    return first, {**fields, **values, RESPONSES_KEY: predictions}, ()


def alternatives_column(values: Sequence[Sequence[Any] | None]) -> pl.Series:
    """Make a column of the predictions of all alternatives."""
    types = {type(item) for items in values for item in items or ()} - {type(None)}
    if types and types <= {int, float}:
        dtype: Any = pl.Float64
    else:
        dtype = pl.Boolean if types == {bool} else pl.String
    if dtype == pl.String and types - {str}:
        values = [
            None if items is None else [encode(item) for item in items]
            for items in values
        ]
    return pl.Series(RESPONSES_KEY, values, dtype=pl.List(dtype), strict=False)
