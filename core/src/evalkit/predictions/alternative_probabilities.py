"""Probabilities of labels, of alternatives that have a log-probability each."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.base.ids import RESPONSES_KEY
from evalkit.base.violations import Violation
from evalkit.base.wording import count_of
from evalkit.predictions.alternatives import Alternatives, Outcome
from evalkit.predictions.causes import PROBABILITIES

LOGPROB = "logprob"
"""Key of an alternative: the natural logarithm of its probability."""
MADE = "(made of alternatives)"
"""Key beside the fields of a response under which a `Made` says how `prob` was made."""

_COMPUTED = f" were computed from the `{LOGPROB}` of their alternatives"

_COUNTED = re.compile(
    rf"of (\d+) responses?{re.escape(_COMPUTED)}"
    r"(?:; in (\d+) responses? labels)?(?:[^;]*)(?:; (\d+) alternatives? without)?"
)


class Made(NamedTuple):
    """What the probabilities of responses were made of."""

    responses: int
    gaps: int
    """How many of them have a label without an alternative."""
    left_out: int
    """Their alternatives without a declared label."""


class AlternativeProbabilities:
    """Makes the field `prob` of alternatives that have a `logprob`.

    Args:
        fields: Fields of a response that are scored.
        labels: The labels that get a probability; None where none are declared.

    Attributes:
        keys: What it reads of an alternative; nothing where nobody asks for `prob`.
    """

    def __init__(self, fields: Collection[str], labels: Sequence[str] | None) -> None:
        wanted = (labels or ()) if PROBABILITIES in fields else ()
        self._labels = list(dict.fromkeys(wanted))
        self.keys = {LOGPROB} if wanted else set()

    def added(self, ranked: Alternatives, outcome: Outcome) -> Outcome:
        """Give a response the probabilities of its alternatives.

        Args:
            ranked: The alternatives.
            outcome: What was made of them.

        Returns:
            The same with `prob` and `MADE`, where no alternative has its own and all
            have a `logprob`; with violations, where these are no log-probabilities.
        """
        said, fields, violations = outcome
        firsts = [ranked.items[answer[0]] for answer in ranked.answers]
        given = [item.get(LOGPROB) for item in firsts]
        has_own = fields.get(PROBABILITIES) is not None or any(
            item.get(PROBABILITIES) is not None for item in ranked.items
        )
        if (
            not self.keys
            or violations
            or has_own
            or all(value is None for value in given)
        ):
            return outcome
        places = [answer[0] for answer in ranked.answers]
        broken = tuple(_violations(places, given))
        if broken:
            return None, {}, broken
        logarithms = self._by_label(fields[RESPONSES_KEY], given)
        if max(map(max, logarithms.values()), default=-math.inf) == -math.inf:
            rule = f"must have a finite `{LOGPROB}` for one of the labels"
            return None, {}, (Violation(RESPONSES_KEY, rule, given),)
        made = Made(
            1,
            int(len(logarithms) < len(self._labels)),
            len(given) - sum(map(len, logarithms.values())),
        )
        own = {PROBABILITIES: self._shares(logarithms), MADE: made}
        return said, {**fields, **own}, ()

    def _by_label(
        self, predictions: Sequence[Any], given: Sequence[Any]
    ) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for label, value in zip(predictions, given, strict=True):
            if isinstance(label, str) and label in self._labels:
                found.setdefault(label, []).append(_as_float(value))
        return found

    def _shares(self, logarithms: Mapping[str, Sequence[float]]) -> dict[str, float]:
        # less the greatest, so that the exponentials of none but tiny shares are 0
        greatest = max(map(max, logarithms.values()))
        parts = {
            label: math.fsum(math.exp(value - greatest) for value in values)
            for label, values in logarithms.items()
        }
        whole = math.fsum(parts.values())
        return {label: parts.get(label, 0.0) / whole for label in self._labels}


def made_notices(made: Iterable[Made]) -> tuple[str, ...]:
    """Say how many responses were given probabilities.

    Args:
        made: Of which responses, each once.

    Returns:
        At most one sentence.
    """
    responses, gaps, left_out = map(sum, zip((0, 0, 0), *made, strict=True))
    if not responses:
        return ()
    count = count_of(responses, "response")
    told = f"the probabilities (`{PROBABILITIES}`) of {count}{_COMPUTED}"
    if gaps:
        told += (
            f"; in {count_of(gaps, 'response')} labels without an alternative got the "
            "probability 0"
        )
    if left_out:
        count = count_of(left_out, "alternative")
        told += f"; {count} without a declared label left out"
    return (told,)


def merged_made_notices(notices: Iterable[str]) -> tuple[str, ...]:
    """Add up what `made_notices` said of parts that share no response.

    Args:
        notices: All notices of all parts.
    """
    found = filter(None, map(_COUNTED.search, notices))
    return made_notices(Made(*map(int, match.groups("0"))) for match in found)


def are_of_alternatives(notices: Iterable[str]) -> bool:
    """Tell whether a notice of a run says that its probabilities are of alternatives.

    Args:
        notices: The notices.
    """
    return any(_COMPUTED in notice for notice in notices)


def _violations(places: Sequence[int], given: Sequence[Any]) -> Iterable[Violation]:
    for place, value in zip(places, given, strict=True):
        field = f"{RESPONSES_KEY}.{place}.{LOGPROB}"
        if value is None:
            rule = "is required, as other alternatives have it"
            yield Violation(field, rule, value)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            yield Violation(field, "must be a number", value)
        elif not value <= 0:  # neither is nan
            yield Violation(
                field, "must be the logarithm of a probability (<= 0)", value
            )


def _as_float(value: float) -> float:
    """Return a number at most 0, also an integer that is below all floats."""
    return -math.inf if value < -sys.float_info.max else float(value)
