"""What the verdicts on all responses show together."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalkit.errors import AnnotatorError
from evalkit.reporting import count_of
from evalkit_annotators_judge.checks import unsaid_words
from evalkit_annotators_judge.columns import (
    FIRST_BETTER,
    JUDGED,
    ORDER,
    SAME,
    orders_of,
)
from evalkit_annotators_judge.declaration import Declaration
from evalkit_annotators_judge.labels import COUNT, FOUND, has_labels
from evalkit_annotators_judge.parsing import LOSS, TIE, WIN

Values = Mapping[str, Sequence[Any]]

_KINDS = ("unparsed", "refused", "failed", "not asked", "inconsistent", "no majority")
_KIND = re.compile(rf"(?:^|: )({'|'.join(_KINDS)})(?=:)")
_OTHER = "without a verdict"


def conclude(said: Declaration, values: Values, asked: int) -> list[str]:
    """Say what came of all responses; warn of what makes verdicts worthless."""
    statuses = [each for each in values["status"] if each is not None]
    if not statuses:
        return []
    kinds = Counter(map(_kind_of, statuses))
    if {*kinds} <= {"failed", "not asked"}:
        why, count = Counter(statuses).most_common(1)[0]
        who = ", ".join(each.described for each in said.panel)
        of_all = f"{count:,} of {len(statuses):,}"
        raise AnnotatorError(f"{who}: no response could be judged: {why} ({of_all})")
    _warn_of_people(values)
    _warn_of_labels(said, values)
    known = len(statuses) - asked - kinds["not asked"]
    where = f", {known:,} answered from the cache" if known else ""
    found = [f"asked about {count_of(asked, 'response')}{where}; {_counts(kinds)}"]
    if said.pair is not None:
        found += _of_pairs(said, values)
    return found


def _kind_of(status: str) -> str:
    if status == JUDGED:
        return JUDGED
    found = _KIND.search(status)
    return found[1] if found else _OTHER


def _counts(kinds: Mapping[str, int]) -> str:
    order = (JUDGED, *_KINDS, _OTHER)
    return ", ".join(f"{kinds[kind]:,} {kind}" for kind in order if kind in kinds)


def _of_pairs(said: Declaration, values: Values) -> Iterator[str]:
    labels = Counter(each for each in values["label"] if each is not None)
    if not said.verdict.values:
        parts = ((WIN, "wins"), (TIE, "ties"), (LOSS, "losses"))
        yield ", ".join(f"{labels[label]:,} {word}" for label, word in parts)
    for name in orders_of(said):
        orders = Counter(each for each in values[name] if each is not None)
        pairs = orders.total()
        changed = pairs - orders[SAME]
        judge = name.removesuffix(ORDER).rstrip("-")
        text = (
            f"{f'{judge}: ' if judge else ''}the verdict changed with the order of the "
            f"answers in {changed:,} of {pairs:,} pairs"
        )
        if changed:
            text += f", and favoured the first one in {orders[FIRST_BETTER]:,} of these"
        if pairs:
            yield text
        if 2 * changed > pairs:
            warnings.warn(
                f"{text}: such verdicts tell more of the judge than of the answers",
                stacklevel=2,
            )


def _warn_of_labels(said: Declaration, values: Values) -> None:
    """Warn of labels that no verdict has, and that the judge was not told of."""
    labels = said.verdict.values or {}
    unsaid = [each for each in unsaid_words(said) if each in labels]
    never = [repr(each) for each in unsaid if each not in values["label"]]
    if never and has_labels(said):
        warnings.warn(
            f"no verdict is {' or '.join(never)}, of which neither the prompt nor a "
            "rubric tells the judge",
            stacklevel=2,
        )


def _warn_of_people(values: Values) -> None:
    """Warn of verdicts of people that meet no response, or several."""
    total = next((each for each in values.get(COUNT, ()) if each is not None), 0)
    times = Counter(each for each in values.get(FOUND, ()) if each is not None)
    if not times:  # of which the agreement says so itself; copies have other ids
        return
    if len(times) < total:
        warnings.warn(
            f"{total - len(times):,} of {total:,} ids of human_file match no example "
            "that is scored",
            stacklevel=2,
        )
    several = sum(count > 1 for count in times.values())
    if several:
        warnings.warn(
            f"{several:,} of people's verdicts in human_file are compared with several "
            "responses to the same example each, though people saw one: put them into "
            "a field of the predictions, and name it in human",
            stacklevel=2,
        )
