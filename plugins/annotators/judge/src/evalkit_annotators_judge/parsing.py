"""Reads verdicts from what judges write: a verdict, or the reason why there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalkit_annotators_judge.declaration import Take, VerdictRule

MET, NOT_MET = "met", "not met"
CORRECT, INCORRECT = "correct", "incorrect"
FIRST, SECOND, TIE = "first", "second", "tie"
WIN, LOSS = "win", "loss"
WORTH = {WIN: 1.0, TIE: 0.5, LOSS: 0.0}
"""What a response is worth that is better than another, as good, or worse."""


class Verdict(NamedTuple):
    """What one reply says; without a value the reason why."""

    value: float | None = None
    label: str | None = None
    reason: str | None = None


def unparsed(why: str) -> Verdict:
    """Return that there is no verdict in a reply.

    Args:
        why: The reason, in words that many replies may share.
    """
    return Verdict(reason=f"unparsed: {why}")


def read_verdict(text: str, rule: VerdictRule, is_swapped: bool = False) -> Verdict:
    """Read a verdict.

    Args:
        text: What a judge wrote.
        rule: How verdicts are read.
        is_swapped: Whether the response was the second one of a pair.

    Returns:
        The verdict; of a pair whether the response is better: `win`, `loss` or `tie`.
    """
    if rule.kind == "pair" and rule.values:
        return read_scaled(text, rule.values, is_swapped)
    if rule.kind == "pair":
        return of_response(read_mark(text, rule.marks), is_swapped)
    if rule.kind == "correct":
        return read_correct(text, rule.words)
    if rule.kind == "json":
        return _read_json(text, rule)
    found = _places(text, rule)
    if rule.kind == "label":
        return _read_label(found, rule.values or {}, rule.take or _usual(rule))
    return _read_number(found, rule)


def tagged(text: str, tag: str) -> list[str]:
    """Return what stands in each tag of a name, without blanks at both ends.

    Args:
        text: What a judge wrote.
        tag: The name.
    """
    opens, closes = f"<{re.escape(tag)}>", f"</{re.escape(tag)}>"
    found = re.findall(f"{opens}((?:(?!{opens}).)*?){closes}", text, re.S)
    return [each.strip() for each in found]


def read_mark(text: str, marks: Sequence[str]) -> Verdict:
    """Read which of two answers is better, which exactly one mark says.

    Args:
        text: What a judge wrote.
        marks: Of the first answer, of the second, and of a tie.
    """
    found = [
        label
        for label, mark in zip((FIRST, SECOND, TIE), marks, strict=True)
        if mark in text
    ]
    if len(found) == 1:
        return Verdict(label=found[0])
    return unparsed("several verdicts" if found else "no verdict")


def of_response(mark: Verdict, is_swapped: bool) -> Verdict:
    """Return what a verdict on a pair says of the response.

    Args:
        mark: Which answer is better.
        is_swapped: Whether the response was the second one.
    """
    if mark.label is None:
        return mark
    better = SECOND if is_swapped else FIRST
    label = TIE if mark.label == TIE else WIN if mark.label == better else LOSS
    return Verdict(WORTH[label], label)


def read_scaled(text: str, values: Mapping[str, float], is_swapped: bool) -> Verdict:
    """Read how much better one of two answers is, which exactly one mark says.

    Args:
        text: What a judge wrote.
        values: What each mark is worth for the first answer, from the best to the
            worst; for the second one they are worth it the other way round.
        is_swapped: Whether the response was the second one.
    """
    marks = [*values]
    found = [place for place, mark in enumerate(marks) if mark in text]
    if len(found) != 1:
        return unparsed("several verdicts" if found else "no verdict")
    mark = marks[-1 - found[0]] if is_swapped else marks[found[0]]
    return Verdict(values[mark], mark)


def read_correct(text: str, words: Sequence[str]) -> Verdict:
    """Read whether a response is correct, which whole words say.

    Args:
        text: What a judge wrote.
        words: What says that it is, and what that it is not; the latter wins, as in
            `INCORRECT, since the CORRECT answer is 5`.
    """
    right, wrong = (re.escape(word) for word in words)
    nots = r"(?:(?i:not|never|n't|n’t)\s+(?:\w+\s+)?)"
    if re.search(rf"{nots}(?<!\w){wrong}(?!\w)", text):
        return unparsed("a negated verdict")
    if re.search(rf"(?<!\w){wrong}(?!\w)", text):
        return Verdict(0.0, INCORRECT)
    mentions = len(re.findall(rf"(?<!\w){right}(?!\w)", text))
    negated = len(re.findall(rf"{nots}(?<!\w){right}(?!\w)", text))
    if mentions and negated not in (0, mentions):
        return unparsed("several verdicts")
    if not mentions:
        return unparsed("no verdict")
    return Verdict(0.0, INCORRECT) if negated else Verdict(1.0, CORRECT)


def last_object(text: str) -> dict[str, Any] | None:
    """Return the last object of JSON that holds no other; None where it is none.

    Args:
        text: What a judge wrote. Quotes that were escaped twice are mended.
    """
    found = re.findall(r"\{[^{}]*\}", text)
    for written in (found[-1], found[-1].replace('\\"', '"')) if found else ():
        try:
            loaded = json.loads(written)
        except (ValueError, RecursionError):
            continue
        return loaded if isinstance(loaded, dict) else None
    return None


def object_with(text: str, key: str) -> dict[str, Any] | None:
    """Return the last object of JSON that has a key, whatever braces its texts have.

    Args:
        text: What a judge wrote.
        key: The key.
    """
    decoder, found = json.JSONDecoder(), None
    start = text.find("{")
    while start >= 0:
        try:
            loaded, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            found = loaded if key in loaded else found
        start = text.find("{", end)
    return found


def _usual(rule: VerdictRule) -> Take:
    return "last" if rule.tag or rule.pattern else "only"


def _places(text: str, rule: VerdictRule) -> list[str]:
    """Return the texts that may be the verdict, in their order."""
    if rule.tag is not None:
        return tagged(text, rule.tag)
    if rule.pattern is not None:
        found = (each.group(1) for each in re.finditer(rule.pattern, text))
        return [each.strip() for each in found if each is not None]
    if rule.kind == "number":
        return _NUMBER.findall(text)
    labels = sorted(map(re.escape, rule.values or {}), key=len, reverse=True)
    return re.findall(rf"(?<!\w)(?:{'|'.join(labels)})(?!\w)", text)


def _chosen(found: Sequence[str], take: Take) -> str | Verdict:
    if not found:
        return unparsed("no verdict")
    if take == "only" and len({*found}) > 1:
        return unparsed("several verdicts")
    return found[0] if take == "first" else found[-1]


def _read_label(
    found: Sequence[str], values: Mapping[str, float], take: Take
) -> Verdict:
    # what is neither a word nor a label was never meant as one
    meant = [each for each in found if each in values or re.fullmatch(r"\w+", each)]
    chosen = _chosen(meant, take)
    if isinstance(chosen, Verdict):
        return chosen
    if chosen not in values:
        return unparsed("a label that is not declared")
    return Verdict(values[chosen], chosen)


_NUMBER = re.compile(
    r"(?<![\w./])[-+]?\d+(?:\.\d+)?(?:\s*/\s*\d+(?:\.\d+)?)?(?![\w.]*\w)"
)


def _read_number(found: Sequence[str], rule: VerdictRule) -> Verdict:
    chosen = _chosen(found, rule.take or _usual(rule))
    if isinstance(chosen, Verdict):
        return chosen
    match = re.fullmatch(r"([-+]?\d+(?:\.\d+)?)(?:\s*/\s*(\d+(?:\.\d+)?))?", chosen)
    if match is None or (match[2] and rule.range and float(match[2]) != rule.range[1]):
        return unparsed("no number")
    return _within(float(match[1]), rule)


def _within(number: float, rule: VerdictRule) -> Verdict:
    if rule.range is None or not rule.range[0] <= number <= rule.range[1]:
        return unparsed("a number out of the range")
    return Verdict(number)


def _read_json(text: str, rule: VerdictRule) -> Verdict:
    found = last_object(text)
    if found is None or rule.key not in found:
        found = object_with(text, rule.key) or found
    if found is None:
        return unparsed("no object of JSON")
    value = found.get(rule.key)
    if isinstance(value, bool):
        if rule.values or rule.range:
            return unparsed(f"{rule.key} is of another kind")
        return Verdict(float(value), MET if value else NOT_MET)
    if isinstance(value, int | float) and rule.range:
        return _within(float(value), rule)
    if isinstance(value, str) and rule.values:
        return _read_label([value.strip()], rule.values, "only")
    absent = value is None
    return unparsed(f"{rule.key} is {'not there' if absent else 'of another kind'}")
