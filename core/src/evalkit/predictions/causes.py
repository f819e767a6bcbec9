"""Why many predictions may have come to nothing: what programs write by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from evalkit.base.encodings import HOW_TO_CONVERT, NOT_UTF8
from evalkit.base.ids import AS_INTEGERS
from evalkit.base.nearest import how_to_map
from evalkit.base.violations import Violation, shorten
from evalkit.base.wording import count_of
from evalkit.predictions.problems import Problems

_MOST_PROBLEMS = 1_000
"""Problems of one kind that are looked at."""

_WHOLE_FLOAT = re.compile(r"-?\d+\.0")
_WORD = "(?:p|prob|proba|probability|score)"
_OF_LABEL = re.compile(rf"{_WORD}[ _.:-]+(.+)|(.+)[ _.:-]+{_WORD}", re.I)
PROBABILITIES = "prob"
"""The field of responses that maps labels to probabilities."""


def find_causes(problems: Problems, ids: pl.Series) -> Iterator[str]:
    """Say what makes rows of predictions unreadable, or their ids unknown.

    Args:
        problems: What is wrong with rows.
        ids: The ids of the data.

    Yields:
        A sentence for each cause.
    """
    unreadable = [
        violation
        for problem in problems.first("unreadable", _MOST_PROBLEMS)
        for violation in problem.violations
    ]
    if any(each.rule.startswith(NOT_UTF8) for each in unreadable):
        yield f"the file is not UTF-8: {HOW_TO_CONVERT}"
    floats = [each for each in unreadable if _is_whole_float_id(each)]
    if floats:
        yield (
            f"ids are floats, such as {floats[0].value!r}, which pandas makes of "
            f"integers where some are missing; {AS_INTEGERS}"
        )
    strangers = [p.id for p in problems.first("unknown", _MOST_PROBLEMS) if p.id]
    yield from _float_texts(strangers, ids)
    if "0" in strangers and _counts_from_1(ids):
        yield (
            f"the data has the ids 1 to {len(ids)}, and the predictions have the id 0: "
            "where they count the rows from 0, each is scored on the row before its "
            "own; --map 'id=#row0' numbers the data from 0"
        )


def _counts_from_1(ids: pl.Series) -> bool:
    """Tell whether ids, none of which is there twice, are 1 to their number."""
    numbers = ids.cast(pl.Int64, strict=False)
    bounds = (numbers.null_count(), numbers.min(), numbers.max())
    return bounds == (0, 1, len(ids))


def _is_whole_float_id(violation: Violation) -> bool:
    value: Any = violation.value
    return (
        violation.field in ("id", "uid", "_index_")
        and isinstance(value, float)
        and value.is_integer()
    )


def _float_texts(strangers: Sequence[str], ids: pl.Series) -> Iterator[str]:
    """Say whose ids are written as floats, and the other's as integers."""
    whole = {each: each.removesuffix(".0") for each in strangers if _is_whole(each)}
    known = _among(whole.values(), ids)
    found = next((each for each, plain in whole.items() if plain in known), None)
    if found is not None:
        yield (
            f"ids are written as floats, such as {found!r} where the data has "
            f"{whole[found]!r}, which pandas makes of integers where some are missing; "
            f"{AS_INTEGERS}"
        )
    known = _among((f"{each}.0" for each in strangers), ids)
    found = next((each for each in strangers if f"{each}.0" in known), None)
    if found is not None:
        yield (
            f"the ids of the data are written as floats, such as '{found}.0' where the "
            f"predictions have {found!r}, which pandas makes of integers where some "
            f"are missing; {AS_INTEGERS}"
        )


def _is_whole(text: str) -> bool:
    return _WHOLE_FLOAT.fullmatch(text) is not None


def _among(wanted: Iterable[str], ids: pl.Series) -> set[str]:
    given = pl.Series("id", [*wanted], dtype=pl.String)
    return {*given.filter(given.is_in(ids.implode()))}


def probability_notices(
    undeclared: Mapping[str, int], labels: Sequence[str] | None, fields: Iterable[str]
) -> Iterator[str]:
    """Say what columns called like probabilities of labels are, and how to use them.

    Args:
        undeclared: How many rows have each key that the task does not declare.
        labels: The labels; None where there are none.
        fields: The fields that responses may have.

    Yields:
        At most one sentence.
    """
    found: dict[str, str] = {}
    for key in sorted(undeclared):
        match = _OF_LABEL.fullmatch(key)
        name = (match[1] or match[2]).casefold() if match else ""
        label = next((each for each in labels or () if each.casefold() == name), None)
        if label is not None:
            found.setdefault(f"{PROBABILITIES}.{label}", key)
    if not found:
        return
    order = [f"{PROBABILITIES}.{label}" for label in labels or ()]
    found = {field: found[field] for field in order if field in found}
    named = ", ".join(map(shorten, found.values()))
    are = f"the columns {named} look like probabilities of the labels"
    if PROBABILITIES not in fields:
        yield f"{are}; the task takes none, and they are not used"
        return
    lacking = len(labels or ()) - len(found)
    rest = f" ({count_of(lacking, 'label')} without such a column)" if lacking else ""
    yield (
        f"{are}{rest}, and are not used: the task takes them as one object "
        f"{PROBABILITIES!r}; {how_to_map('predictions', found)}"
    )
