"""Reads verdicts from what judges write: a verdict, or the reason why there is none."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit_annotators_judge.declaration import Take, VerdictRule

_MARK_UP = re.compile(r"[*`~]|(?<!\w)_+|_+(?!\w)|</?(?:b|i|u|em|strong|code)>")
_ENDS = re.compile(r"[\n\r\v\f\u2028\u2029]+|(?<=[.!?])\s+")
_NEGATION = re.compile(
    r"(?<!\w)(?:not?|non|nor|neither|never|cannot|without|hardly)(?!\w)"
    r"|n['’]t(?!\w)",
    re.I,
)
_DIRECTLY = re.compile(
    r"(?:(?<!\w)(?:not|never)|n['’]t)\s+"
    r"(?:(?:at\s+all|quite|fully|entirely|completely|really|exactly|a|an|the)\s+)?$",
    re.I,
)
_OTHER_CLAUSE = re.compile(
    r"[,;:()\u2013\u2014]|\s-+\s|\b(?:and|but|because|since|as|though|although|while)\b",
    re.I,
)


class Mention(NamedTuple):
    """A word in a text.

    Attributes:
        word: The word.
        is_denied: Whether a negation is about it: `not CORRECT`.
        is_unclear: Whether one stands near by, and may be.
    """

    word: str
    is_denied: bool
    is_unclear: bool


def mentions(text: str, words: Sequence[str]) -> list[Mention]:
    """Return the whole words in a text, in their order, mark-up aside.

    A negation counts within a line and a sentence: before the word and after the one
    before it, and after it within its clause; and as the end of the line before.
    """
    if not any(_MARK_UP.search(word) for word in words):
        text = _MARK_UP.sub("", text)
    found = re.compile(whole_words(words))
    starts = [0, *(end.end() for end in _ENDS.finditer(text))]
    ends = [*(end.start() for end in _ENDS.finditer(text)), len(text)]
    parts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    return [
        each
        for number, part in enumerate(parts)
        for each in _in_sentence(part, parts[number - 1] if number else "", found)
    ]


def _in_sentence(
    sentence: str, before: str, words: re.Pattern[str]
) -> Iterator[Mention]:
    places = [*words.finditer(sentence)]
    for number, place in enumerate(places):
        start = places[number - 1].end() if number else 0
        end = places[number + 1].start() if number + 1 < len(places) else None
        left, right = sentence[start : place.start()], sentence[place.end() : end]
        clause = _OTHER_CLAUSE.split(right, maxsplit=1)[0]
        # a line may break between the two
        hangs = not left.strip() and number == 0 and _ends_with_negation(before)
        is_denied = _DIRECTLY.search(left) is not None
        is_unclear = hangs or any(map(_NEGATION.search, (left, clause)))
        yield Mention(place[0], is_denied, is_unclear and not is_denied)


def _ends_with_negation(line: str) -> bool:
    return any(not line[each.end() :].strip(" :,") for each in _NEGATION.finditer(line))


def whole_words(words: Sequence[str]) -> str:
    """Return a regular expression of words, the longest first."""
    return "|".join(map(_whole, sorted(words, key=len, reverse=True)))


def _whole(word: str) -> str:
    left = r"(?<!\w)" if re.match(r"\w", word) else ""
    right = r"(?!\w)" if re.search(r"\w$", word) else ""
    return f"{left}{re.escape(word)}{right}"


_EXCHANGED = str.maketrans("AB", "BA")


def mirrored(values: Mapping[str, float]) -> dict[str, str] | None:
    """Return what each mark is called when both answers change places.

    It is the mark with A and B exchanged, as `[[B>A]]` of `[[A>B]]`; one mark may be
    its own: the tie. Where marks are not named so, all worths must differ and lie
    symmetrically, so that the worst is the best one's image. The order in which they
    are written is of no account.
    """
    by_name = _by_name(values)
    images = by_name or _by_worth(values)
    return images if images and _is_mirror(images, values) else None


def _by_name(values: Mapping[str, float]) -> dict[str, str] | None:
    images = {mark: mark.translate(_EXCHANGED) for mark in values}
    images = {mark: each if each in values else mark for mark, each in images.items()}
    alone = sum(mark == each for mark, each in images.items())
    return images if alone <= 1 < len(images) else None


def _by_worth(values: Mapping[str, float]) -> dict[str, str] | None:
    if len({*values.values()}) < len(values):
        return None
    marks = sorted(values, key=lambda mark: values[mark])
    images = dict(zip(marks, reversed(marks), strict=True))
    sums = [values[mark] + values[image] for mark, image in images.items()]
    is_even = all(math.isclose(each, sums[0], abs_tol=1e-9) for each in sums)
    return images if is_even else None


def _is_mirror(images: Mapping[str, str], values: Mapping[str, float]) -> bool:
    pairs = sorted((values[mark], -values[image]) for mark, image in images.items())
    worths = [-image for _, image in pairs]
    return worths == sorted(worths, reverse=True)


MET, NOT_MET = "met", "not met"
CORRECT, INCORRECT = "correct", "incorrect"
FIRST, SECOND, TIE = "first", "second", "tie"
WIN, LOSS = "win", "loss"
WORTH = {WIN: 1.0, TIE: 0.5, LOSS: 0.0}
"""What a response is worth that is better than another, as good, or worse."""

SEVERAL = object()
"""What stands in an object of JSON for a key that it has with several values."""

_NEGATED = "a negated verdict"
_MOST_BROKEN = 1000
"""After so many braces that begin no object a text is given up, as each takes time."""


class Verdict(NamedTuple):
    """What one reply says; without a value the reason why."""

    value: float | None = None
    label: str | None = None
    reason: str | None = None


def unparsed(why: str) -> Verdict:
    """Return that there is no verdict in a reply."""
    return Verdict(reason=f"unparsed: {why}")


def read_verdict(text: str, rule: VerdictRule, is_swapped: bool = False) -> Verdict:
    """Read a verdict."""
    if rule.kind == "pair" and rule.values:
        return read_scaled(text, rule.values, is_swapped)
    if rule.kind == "pair":
        return of_response(read_mark(text, rule.marks), is_swapped)
    if rule.kind == "correct":
        return read_correct(text, rule.words)
    if rule.kind == "json":
        return _read_json(text, rule)
    if rule.kind == "label" and rule.tag is None and rule.pattern is None:
        return _read_words(text, rule.values or {}, rule.take or _usual(rule))
    found = _places(text, rule)
    if rule.kind == "label":
        return _read_label(found, rule.values or {}, rule.take or _usual(rule))
    return _read_number(found, rule)


def tagged(text: str, tag: str) -> list[str]:
    """Return what stands in each tag of a name, without blanks at both ends."""
    opens, closes = f"<{re.escape(tag)}>", f"</{re.escape(tag)}>"
    found = re.findall(f"{opens}((?:(?!{opens}).)*?){closes}", text, re.S)
    return [each.strip() for each in found]


def is_closed(text: str, rule: VerdictRule) -> bool:
    """Tell whether a verdict is complete in a reply that was cut off."""
    if rule.tag is not None:
        return text.rstrip().endswith(f"</{rule.tag}>")
    return rule.kind == "json" and text.rstrip("` \n\r\t").endswith("}")


def read_mark(text: str, marks: Sequence[str]) -> Verdict:
    """Read which of two answers is better, which exactly one mark says."""
    found = _only_mark(text, marks)
    if isinstance(found, Verdict):
        return found
    return Verdict(label=(FIRST, SECOND, TIE)[marks.index(found)])


def _only_mark(text: str, marks: Sequence[str]) -> str | Verdict:
    found: set[str] = {*re.findall(whole_words(marks), text)}
    if len(found) == 1:
        return found.pop()
    return unparsed("several verdicts" if found else "no verdict")


def of_response(mark: Verdict, is_swapped: bool) -> Verdict:
    """Return what a verdict on a pair says of the response."""
    if mark.label is None:
        return mark
    better = SECOND if is_swapped else FIRST
    label = TIE if mark.label == TIE else WIN if mark.label == better else LOSS
    return Verdict(WORTH[label], label)


def read_scaled(text: str, values: Mapping[str, float], is_swapped: bool) -> Verdict:
    """Read how much better one of two answers is, which exactly one mark says."""
    mark = _only_mark(text, [*values])
    if isinstance(mark, Verdict):
        return mark
    if is_swapped:
        images = mirrored(values)
        if images is None:
            return unparsed("the marks have no mirror images")
        mark = images[mark]
    return Verdict(values[mark], mark)


def read_correct(text: str, words: Sequence[str]) -> Verdict:
    """Read whether a response is correct, which whole words say."""
    said = mentions(text, words)
    if not said:
        return unparsed("no verdict")
    wrong = [each for each in said if each.word == words[1]]
    if any(each.is_denied or each.is_unclear for each in wrong):
        return unparsed(_NEGATED)
    if wrong:
        return Verdict(0.0, INCORRECT)
    if any(each.is_unclear for each in said):
        return unparsed(_NEGATED)
    if len({each.is_denied for each in said}) > 1:
        return unparsed("several verdicts")
    return Verdict(0.0, INCORRECT) if said[0].is_denied else Verdict(1.0, CORRECT)


def last_object(text: str) -> dict[str, Any] | None:
    """Return the last object of JSON that holds no other; None where it is none."""
    found = re.findall(r"\{[^{}]*\}", text)
    for written in (found[-1], found[-1].replace('\\"', '"')) if found else ():
        try:
            loaded = _DECODER.decode(written)
        except (ValueError, RecursionError):
            continue
        return loaded if isinstance(loaded, dict) else None
    return None


def _without_choice(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object in which no value of a key hides another one."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        same = found.setdefault(key, value)
        if same is not value and (type(same) is not type(value) or same != value):
            found[key] = SEVERAL
    return found


# a judge writes newlines in texts as they are
_DECODER = json.JSONDecoder(object_pairs_hook=_without_choice, strict=False)


def object_with(text: str, key: str) -> dict[str, Any] | None:
    """Return the last object of JSON that has a key, whatever braces its texts have."""
    found: dict[str, Any] | None = None
    is_broken = False
    for piece in _pieces(text):
        loaded = last_object(piece) if isinstance(piece, str) else piece
        if loaded is not None:
            is_broken = is_broken and key not in loaded
            found = loaded if key in loaded else found or loaded
        elif isinstance(piece, str) and _seems_an_object(piece, key):
            is_broken = True
    return None if is_broken else found


def _pieces(text: str) -> Iterator[str | dict[str, Any]]:
    """Split a text into objects of JSON and what is between them."""
    done = broken = 0
    begin = _BEGINS.search(text)
    while begin is not None and broken < _MOST_BROKEN:
        try:
            loaded, end = _DECODER.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            end = begin.start() + 1
            broken += 1
        else:
            yield text[done : begin.start()]
            yield loaded
            done = end
        begin = _BEGINS.search(text, end)
    yield text[done:]


_BEGINS = re.compile(r"\{(?=\s*[\"}])")


def _seems_an_object(text: str, key: str) -> bool:
    name = re.escape(key)
    begins = rf"\{{\s*(?:\\*[\"']|{name}|$)"
    return re.search(rf"{begins}|[\"']{name}\\*[\"']\s*:", text) is not None


def _usual(rule: VerdictRule) -> Take:
    return "last" if rule.tag or rule.pattern else "only"


def _places(text: str, rule: VerdictRule) -> list[str]:
    """Return the texts that may be the verdict, in their order."""
    if rule.tag is not None:
        found = tagged(text, rule.tag)
        _, _, rest = text.rpartition(f"</{rule.tag}>")
        return [*found, rest.strip()] if found and f"<{rule.tag}>" in rest else found
    if rule.pattern is not None:
        matches = (each.group(1) for each in re.finditer(rule.pattern, text))
        return [each.strip() for each in matches if each is not None]
    return _NUMBER.findall(text)


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
    if not meant:
        return unparsed("no verdict")
    # but where the last one counts, none before it does
    chosen = _chosen(meant if take == "first" else found, take)
    if isinstance(chosen, Verdict):
        return chosen
    if chosen not in values:
        return unparsed("a label that is not declared")
    return Verdict(values[chosen], chosen)


def _read_words(text: str, values: Mapping[str, float], take: Take) -> Verdict:
    said = mentions(text, [*values])
    chosen = _chosen([each.word for each in said], take)
    if isinstance(chosen, Verdict):
        return chosen
    counted = {"first": said[:1], "last": said[-1:], "only": said}[take]
    if any(each.is_denied or each.is_unclear for each in counted):
        return unparsed(_NEGATED)
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


def _within(number: int | float, rule: VerdictRule) -> Verdict:
    if rule.range is None or not rule.range[0] <= number <= rule.range[1]:
        return unparsed("a number out of the range")
    return Verdict(float(number))


_PLAIN = re.compile(r"[-+]?\d+(\.\d+)?", re.ASCII)


def _read_json(text: str, rule: VerdictRule) -> Verdict:
    found = object_with(text, rule.key)
    if found is None:
        return unparsed("no object of JSON")
    value = found.get(rule.key)
    if value is SEVERAL:
        return unparsed("several verdicts")
    if isinstance(value, bool):
        if rule.values or rule.range:
            return unparsed(f"{rule.key} is of another kind")
        return Verdict(float(value), MET if value else NOT_MET)
    if isinstance(value, str) and rule.range and _PLAIN.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, int | float) and rule.range:
        return _within(value, rule)
    if isinstance(value, str) and rule.values:
        return _read_label([value.strip()], rule.values, "only")
    absent = value is None
    return unparsed(f"{rule.key} is {'not there' if absent else 'of another kind'}")
