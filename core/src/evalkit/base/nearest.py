"""Which column is meant by a field that is not there, by their names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher

ROW_NUMBER = "#row"
"""Stands for a column with the numbers of the rows, from 1."""

ROW_NUMBER_FROM_0 = "#row0"
"""The same, from 0."""

_PLAUSIBLE = 0.75
"""How near a name must be to be guessed."""

_SHOWN = 12

_GROUPS = (
    "id uid guid uuid key idx index exampleid sampleid rowid itemid docid textid "
    "questionid qid instanceid sentenceid no nr number",
    "label gold goldlabel target answer answers class y ytrue sentiment category truth "
    "groundtruth reference references ref expected correct correctanswer annotation",
    "label answer pred preds prediction predicted predictedlabel predlabel "
    "predictedanswer modelanswer output response yhat ypred result completion "
    "generation generatedtext modeloutput",
    "statement text sentence content input prompt document review tweet comment body "
    "utterance message passage post",
    "question query prompt input problem",
    "context premise passage document paragraph sentence1 text1",
    "hypothesis sentence2 claim text2",
)
"""Names for one thing, without blanks and marks."""

_SAME = [frozenset(group.split()) for group in _GROUPS]
_OTHER = re.compile(r"[\W_]+")


def nearness(field: str, column: str) -> float:
    """Say how near the name of a column is to that of a field, from 0 to 1.

    Args:
        field: The field.
        column: The column; of a path with dots its last part counts too.
    """
    wanted = _plain(field)
    return max(
        _nearness(wanted, _plain(name)) for name in (column, column.split(".")[-1])
    )


def _plain(name: str) -> str:
    return _OTHER.sub("", name.casefold())


def _nearness(field: str, column: str) -> float:
    if not field or not column:
        return 0.0
    if field == column:
        return 1.0
    if any(field in group and column in group for group in _SAME):
        return 0.9
    if len(field) > 2 and (column.startswith(field) or column.endswith(field)):
        return 0.8
    return SequenceMatcher(None, field, column).ratio()


def guess_columns(
    fields: Sequence[str],
    columns: Sequence[str],
    fitting: Mapping[str, Sequence[str]] = {},
    unfit: Mapping[str, Sequence[str]] = {},
) -> dict[str, str]:
    """Guess which columns are meant by fields, where a guess is plausible.

    Args:
        fields: The fields that are not there.
        columns: The columns that are there, and may be meant.
        fitting: For some fields the columns whose values alone make them plausible;
            others are none of theirs.
        unfit: For some fields the columns that their values rule out.

    Returns:
        A column for each field that one is plausible for; each column once, and none
        where two are equally near.
    """
    pairs = []
    for field in fields:
        near = {
            column: nearness(field, column) + (field in fitting)
            for column in fitting.get(field, columns)
            if column not in unfit.get(field, ())
        }
        best = max(near.values(), default=0.0)
        found = [column for column, value in near.items() if value == best]
        if best >= _PLAUSIBLE and len(found) == 1:
            pairs.append((best, field, found[0]))
    guessed: dict[str, str] = {}
    for _, field, column in sorted(pairs, key=lambda pair: -pair[0]):
        if column not in guessed.values():
            guessed[field] = column
    return {field: guessed[field] for field in fields if field in guessed}


def shown_columns(fields: Sequence[str], columns: Iterable[str]) -> str:
    """Name columns, those that are nearest to the fields first.

    Args:
        fields: The fields that are looked for.
        columns: The columns that are there.
    """
    found = sorted(
        columns,
        key=lambda column: -max((nearness(each, column) for each in fields), default=0),
    )
    more = len(found) - _SHOWN
    named = ", ".join(map(repr, found[:_SHOWN])) or "none"
    return f"{named} and {more} more" if more > 0 else named


def map_options(place: str, mapping: Mapping[str, str]) -> list[str]:
    """Return a mapping as options of the command line.

    Args:
        place: `data` or `predictions`.
        mapping: Columns by field.
    """
    option = OPTIONS[place][0]
    return [part for pair in mapping.items() for part in (option, "=".join(pair))]


def how_to_map(place: str, mapping: Mapping[str, str]) -> str:
    """Say how columns are mapped to fields.

    Args:
        place: `data` or `predictions`.
        mapping: Columns by field, as far as they can be guessed.

    Returns:
        A sentence without a full stop.
    """
    option, keyword = OPTIONS[place]
    if not mapping:
        return (
            f"{option} FIELD=COLUMN ({keyword}= in Python) says which column is meant"
        )
    options = shlex.join(map_options(place, mapping))
    return f"if they are meant: {options} ({keyword}={dict(mapping)!r} in Python)"


OPTIONS = {
    "data": ("--map", "map"),
    "predictions": ("--map-predictions", "map_predictions"),
}
"""Option and keyword that map columns to fields, by place."""
