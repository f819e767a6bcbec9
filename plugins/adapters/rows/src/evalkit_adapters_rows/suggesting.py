"""Says which extractors would read the responses of refused predictions.

They are tried on these responses and never applied: the user decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from evalkit import Registry
from evalkit.catalog import BoundDataset, BoundTask
from evalkit.errors import EvalkitError
from evalkit.examples.conversion import predicted_field
from evalkit.examples.table import Examples
from evalkit.predictions.alignment import Alignment
from evalkit.predictions.answer_readers import OK, RESPONSE, STATUS
from evalkit.reporting import count_of
from evalkit_adapters_rows.answers import choices_of
from evalkit_adapters_rows.extractors import extraction

MANY = 0.05
"""Share of the responses without a valid answer from which on extractors are tried."""

_MOST_TRIED = 1_000
_MOST_NAMED = 3
_BEFORE = (
    "",
    "boxed|",
    "after:Answer:|",
    "after:answer is|",
    "json-path:answer|",
    "without-thinking|",
    "without-thinking|boxed|",
    "without-thinking|after:Answer:|",
)
"""What may stand before the extractor of labels or choices, the simplest first."""

_WHAT = "nothing was changed: these were only tried"


class _Unread(NamedTuple):
    """Responses without a valid answer."""

    texts: pl.Series
    positions: pl.Series
    """The example of each."""
    total: int
    """How many there are, tried or not."""


def suggestions(
    dataset: BoundDataset,
    task: BoundTask,
    examples: Examples,
    alignment: Alignment,
    registry: Registry,
) -> list[str]:
    """Try extractors on responses without a valid answer, where these are many."""
    counts = alignment.counts
    given = counts["scored"] + counts["invalid"]
    last = "choice" if examples.choices is not None else "labels"
    if not given or (last == "labels" and examples.labels is None):
        return []
    field = predicted_field(dataset, task) or task.answer_field
    unread = _unread(examples, alignment, field)
    if unread is None or unread.total <= MANY * given:
        return []
    read = sorted(_tried(unread, examples, last, registry), key=lambda each: -each[1])
    named = [
        f"--extract {_quoted(text)} reads {count}" for text, count in read[:_MOST_NAMED]
    ]
    if not named:
        return []
    which = "them" if len(unread.texts) == unread.total else f"{len(unread.texts)}"
    lack = "has" if unread.total == 1 else "have"
    responses = f"{unread.total} of {count_of(given, 'response')}"
    return [
        f"{responses} {lack} no valid answer; of {which}, {', '.join(named)} ({_WHAT})"
    ]


def _quoted(text: str) -> str:
    return f"'{text}'" if "|" in text or " " in text else text


def _unread(
    examples: Examples, alignment: Alignment, field: str | None
) -> _Unread | None:
    """Return the responses without a valid answer, as far as they are known."""
    texts: list[str] = []
    positions: list[int] = []
    for text, position in _invalid(examples, alignment, field):
        texts.append(text)
        positions.append(position)
    lacking = _without_answer(examples, alignment)
    texts += lacking["text"].to_list()[: _MOST_TRIED - len(texts)]
    positions += lacking["position"].to_list()[: len(texts) - len(positions)]
    if not texts:
        return None
    return _Unread(
        pl.Series(texts, dtype=pl.String),
        pl.Series(positions, dtype=pl.Int64),
        alignment.counts["invalid"] + lacking.height,
    )


def _invalid(
    examples: Examples, alignment: Alignment, field: str | None
) -> Iterator[tuple[str, int]]:
    """Yield the texts for which the answers of responses were refused."""
    if not alignment.counts["invalid"]:
        return
    places = {uid: place for place, uid in enumerate(examples.frame["id"])}
    for problem in alignment.problems.first("invalid", _MOST_TRIED):
        for found in problem.violations:
            place = places.get(str(problem.id))
            if (
                found.field == field
                and isinstance(found.value, str)
                and place is not None
            ):
                yield found.value, place
                break


def _without_answer(examples: Examples, alignment: Alignment) -> pl.DataFrame:
    """Return texts without an answer: unparsed, or none of the example's options."""
    extracted, given = alignment.extracted, alignment.predictions
    if extracted is not None:
        frame = pl.DataFrame(
            {"text": extracted[RESPONSE], "lacks": extracted[STATUS] != OK}
        )
    elif examples.choices is not None and given.dtype == pl.String:
        choices = choices_of(examples)
        frame = pl.DataFrame({"text": given, "choices": choices}).select(
            "text", lacks=~pl.col("choices").list.contains(pl.col("text"))
        )
    else:
        frame = pl.DataFrame(schema={"text": pl.String, "lacks": pl.Boolean})
    rows = frame.with_row_index("position")
    return rows.filter(pl.col("lacks") & pl.col("text").is_not_null())


def _tried(
    unread: _Unread, examples: Examples, last: str, registry: Registry
) -> Iterator[tuple[str, int]]:
    """Yield pipelines that read some of the responses, and of how many."""
    choices = choices_of(examples)
    own = None if choices is None else choices.gather(unread.positions)
    best = 0
    for text in [f"{before}{last}" for before in _BEFORE]:
        try:
            extractors = extraction(text, registry)
            found = extractors.extract(unread.texts, own, examples.labels)
        except EvalkitError:
            continue  # it is not installed, or broken: nothing to advise
        count = int((found.statuses == OK).sum())
        # a longer one is only worth naming where it reads more
        if count > best:
            best = count
            yield text, count
