"""Why data or predictions were refused, and what would mend them.

A refusal, a headline score of 0 and `validate` import this module.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.ids import AS_INTEGERS
from evalkit.base.label_fields import folded
from evalkit.base.terms import AnswerKind
from evalkit.base.violations import Violation, shorten
from evalkit.base.wording import HOW_TO_CONVERT, NOT_UTF8, count_of, first_of


class Diagnosis(NamedTuple):
    """Why predictions were refused, and what would mend them."""

    causes: Sequence[str] = ()
    """Why rows come to nothing, before the reasons of the refusal."""
    notices: Sequence[str] = ()
    mapping: Mapping[str, str] = {}
    """The columns that may be meant by required fields that no row has."""


ROW_NUMBER = "#row"
"""Column of row numbers from 1; `#row0` counts from 0."""

_PLAUSIBLE = 0.75
"""Minimum nearness of a guessed column."""

_SHOWN_COLUMNS = 12

_SYNONYMS = [
    frozenset(group.split())
    for group in (
        "id uid guid uuid key idx index exampleid sampleid rowid itemid docid textid "
        "questionid qid instanceid sentenceid no nr number",
        "label gold goldlabel target answer answers class y ytrue sentiment category "
        "truth groundtruth reference references ref expected correct correctanswer "
        "annotation",
        "label answer pred preds prediction predicted predictedlabel predlabel "
        "predictedanswer modelanswer output response yhat ypred result completion "
        "generation generatedtext modeloutput",
        "statement text sentence content input prompt document review tweet comment "
        "body utterance message passage post",
        "question query prompt input problem",
        "context premise passage document paragraph sentence1 text1",
        "hypothesis sentence2 claim text2",
    )
]
"""Names for the same thing, without blanks and punctuation."""


def guess_columns(
    fields: Sequence[str],
    columns: Sequence[str],
) -> dict[str, str]:
    """Guess which columns are meant by absent fields."""
    pairs = []
    for field in fields:
        near = {column: _nearness(field, column) for column in columns}
        best = max(near.values(), default=0.0)
        nearest = [column for column, value in near.items() if value == best]
        if best >= _PLAUSIBLE and len(nearest) == 1:
            pairs.append((best, field, nearest[0]))
    guessed: dict[str, str] = {}
    for _, field, column in sorted(pairs, key=lambda pair: -pair[0]):
        if column not in guessed.values():
            guessed[field] = column
    return {field: guessed[field] for field in fields if field in guessed}


def _nearness(field: str, column: str) -> float:
    """Compare two names, 0 to 1; the last part of a dotted path counts too."""
    return max(
        _similarity(_plain(field), _plain(name))
        for name in (column, column.split(".")[-1])
    )


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())


def _similarity(field: str, column: str) -> float:
    if not field or not column:
        return 0.0
    if field == column:
        return 1.0
    if any(field in group and column in group for group in _SYNONYMS):
        return 0.9
    if len(field) > 2 and (column.startswith(field) or column.endswith(field)):
        return 0.8
    return SequenceMatcher(None, field, column).ratio()


def shown_columns(
    fields: Sequence[str], columns: Iterable[str], labels: Collection[Any] | None = ()
) -> str:
    """Name columns, those nearest to the fields first."""
    ordered = sorted(
        columns,
        key=lambda column: (
            -max((_nearness(field, column) for field in fields), default=0)
        ),
    )
    named = first_of([*map(repr, ordered)], _SHOWN_COLUMNS) or "none"
    cells = {*map(str, labels or ())}  # as in a file without a header
    is_row = any(name.isdecimal() or name in cells for name in ordered)
    return f"{named} (a header must be the first line)" if is_row else named


def map_options(place: str, mapping: Mapping[str, str]) -> list[str]:
    """Return a mapping as options of the command line.

    Args:
        place: `data` or `predictions`.
        mapping: Columns by field.
    """
    option = _OPTIONS[place]
    return [part for pair in mapping.items() for part in (option, "=".join(pair))]


_OPTIONS = {"data": "--map", "predictions": "--map-predictions"}


def how_to_map(place: str, mapping: Mapping[str, str]) -> str:
    """Say how columns are mapped to fields, with the guessed ones as an example."""
    option = _OPTIONS[place]
    keyword = option.strip("-").replace("-", "_")
    if not mapping:
        return (
            f"{option} FIELD=COLUMN ({keyword}= in Python) says which column is meant"
        )
    options = shlex.join(map_options(place, mapping))
    return f"if they are meant: {options} ({keyword}={dict(mapping)!r} in Python)"


def find_causes(
    unreadable: Iterable[Violation], unknown: Sequence[str], ids: pl.Series
) -> Iterator[str]:
    """Say why rows of predictions are unreadable, or their ids unknown."""
    broken = [*unreadable]
    if any(each.rule.startswith(NOT_UTF8) for each in broken):
        yield f"the file is not UTF-8: {HOW_TO_CONVERT}"
    floats = [
        each.value
        for each in broken
        if isinstance(each.value, float) and each.value.is_integer()
    ]
    if floats:
        yield f"ids are floats, such as {floats[0]!r}; {AS_INTEGERS}"
    yield from _forms_of_ids(pl.Series(unknown, dtype=pl.String), ids)
    numbers = ids.cast(pl.Int64, strict=False)
    counts_from_1 = (numbers.null_count(), numbers.min(), numbers.max())
    if "0" in unknown and counts_from_1 == (0, 1, len(ids)):
        yield (
            f"the data has the ids 1 to {len(ids)}, and the predictions have the id 0: "
            "where they count the rows from 0, each is scored on the row before its "
            f"own; --map 'id={ROW_NUMBER}0' numbers the data from 0"
        )


_ID_FORMS = (
    (r"\.0$", "", f"'.0' of floats; {AS_INTEGERS}"),
    (r"^0+([0-9])", "$1", "leading zeros; read ids as texts"),
    (r"\s+", "", "blanks"),
    (r"^.*[^\pL\pN]([\pL\pN]+)$", "$1", "a prefix"),
)
"""Pattern of what one of two ids may have beside the other, its replacement, words."""


def _forms_of_ids(unknown: pl.Series, ids: pl.Series) -> Iterator[str]:
    """Say how unknown ids are written otherwise than those of the data."""
    for pattern, kept, words in _ID_FORMS:
        wrong, right = (
            pl.DataFrame({"id": given, "form": given.str.replace_all(pattern, kept)})
            for given in (unknown, ids)
        )
        # several ids of one form differ in more
        right = right.unique("form", keep="none")
        pairs = wrong.join(right, on="form", maintain_order="left")
        if pairs.height:
            first, meant = pairs.select("id", "id_right").row(0)
            yield (
                f"ids are written otherwise than in the data, such as {first!r} for "
                f"{meant!r}: they differ in {words}"
            )
            return


HOW_TO_NORMALISE = "--normalise labels (normalise='labels' in Python)"

_SHOWN_FORMS = 5


def can_normalise(values: Collection[Any], labels: Iterable[str]) -> bool:
    """Tell whether normalising makes each of several values a label."""
    known = {*labels}
    forms = {folded(label) for label in known}
    return len(forms) == len(known) and all(
        isinstance(value, str) and folded(value) in forms for value in values
    )


def labels_in_other_form(
    values: Mapping[Any, int], labels: Sequence[str], noun: str = "prediction"
) -> Iterator[str]:
    """Say which values are a label but for case, blanks or Unicode form."""
    known = {folded(label): label for label in reversed(labels)}
    meant = {
        value: known[folded(value)]
        for value in values
        if isinstance(value, str) and folded(value) in known
    }
    if meant:
        mended = meant.keys() == values.keys() and can_normalise(values, labels)
        how = f"; {HOW_TO_NORMALISE} mends all of them" if mended else ""
        pairs = [
            f"{value!a} ({values[value]}) for {label!r}"
            for value, label in meant.items()
        ]
        number = count_of(sum(values[value] for value in meant), noun)
        shown = first_of(pairs, _SHOWN_FORMS)
        yield f"{number} differ from a label {_IN_FORM}: {shown}{how}"


def unknown_labels(values: Mapping[Any, int], labels: Sequence[str]) -> Iterator[str]:
    """Say that predictions are no label of the data."""
    if values:
        yield (
            f"{count_of(sum(values.values()), 'prediction')} of a label that no "
            f"example has, such as {shorten(max(values, key=lambda v: values[v]))}; "
            f"the labels are: {first_of([*map(shorten, labels)], _SHOWN_FORMS)}"
        )


_IN_FORM = "only in case, blanks or Unicode form"

_REPEATED = 5
"""Texts that are the answer of at least this many examples on average are labels."""


def labels_of(answers: pl.Series, kind: AnswerKind) -> list[str]:
    """Return the labels in data that declares none; empty if answers are not labels."""
    if kind not in ("one", "any-of", "all-of"):
        return []
    if answers.dtype == pl.List(pl.String):
        answers = answers.explode()
    if answers.dtype != pl.String:
        return []
    labels = answers.drop_nulls().unique(maintain_order=True).to_list()
    return labels if len(labels) * _REPEATED <= len(answers) else []


def label_forms(labels: Iterable[str]) -> Iterator[str]:
    """Say which labels of the data differ in form only."""
    forms: dict[str, list[str]] = {}
    for label in labels:
        forms.setdefault(folded(label), []).append(label)
    several = [", ".join(map(ascii, form)) for form in forms.values() if len(form) > 1]
    if several:
        shown = first_of(several, _SHOWN_FORMS, "; ")
        yield (
            f"labels of the data differ {_IN_FORM}: {shown}; each is a label of its own"
        )
