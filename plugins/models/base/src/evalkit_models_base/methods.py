"""What is asked of an example, and how an answer is made of the replies."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalkit.errors import DataError
from evalkit.reporting import count_of
from evalkit_models_base.choosing import (
    ANY_TEXT,
    NO_EXTRACTOR,
    OptionReader,
    Shown,
    choices_name,
    is_single_letter,
    json_list,
    reads_as_given,
)
from evalkit_models_base.fitting import Fitter
from evalkit_models_base.questions import Sent
from evalkit_models_base.rendering import Renderer, Shot
from evalkit_models_base.requests import Completion, Continuation, Reply, Request, Token

_ROUNDING = 1e-3
"""Log-probabilities may be so much above 0, as models compute with few digits."""

_PIECE = "\ufffd"
"""What stands for a part of a character in the text of a token."""


class NoAnswer(Exception):
    """Says that replies hold no answer, and why."""


def tokens_of(completion: Completion) -> tuple[Token, ...]:
    """Return the tokens of a text."""
    if completion.tokens is None:
        raise NoAnswer("log-probabilities were asked for, and none came")
    return completion.tokens


def logprob_of(completion: Completion) -> dict[str, Any]:
    """Return the log-probability of a text, and how long it is."""
    tokens = tokens_of(completion)
    known = [each.logprob for each in tokens if each.logprob is not None]
    if len(known) < len(tokens):
        raise NoAnswer("some tokens came without their log-probability")
    _refuse_more_than_all(max(known, default=0.0))
    written = "".join(each.text for each in tokens)
    # tokens that are parts of characters do not show which ones
    text = completion.text if _PIECE in written else written
    return {
        "logprob": math.fsum(min(0.0, each) for each in known),
        "num_tokens": len(tokens),
        "num_bytes": len(text.encode()),
        "num_characters": len(text),
    }


def of_letter(token: Token, letter: str) -> list[float]:
    """Return the log-probabilities of the tokens that are a letter: `B` and ` B`."""
    return [
        logprob
        for text, logprob in token.alternatives.items()
        if text.strip() == letter.strip()
    ]


def log_sum(logprobs: Sequence[float]) -> float | None:
    """Return the logarithm of the sum of probabilities; None where there are none."""
    if not logprobs:
        return None
    most = max(logprobs)
    total = most + math.log(math.fsum(math.exp(x - most) for x in logprobs))
    _refuse_more_than_all(total)
    return min(0.0, total)


def _refuse_more_than_all(logprob: float) -> None:
    if logprob > _ROUNDING:
        raise NoAnswer(f"a log-probability is {logprob:g}, and none is more than 0")


def softmax(scores: Sequence[float]) -> list[float]:
    """Return shares of 1 that are as the exponentials of scores."""
    refuse_unbounded(scores)
    most = max(scores)
    shares = [math.exp(score - most) for score in scores]
    total = math.fsum(shares)
    return [share / total for share in shares]


def refuse_unbounded(scores: Sequence[float]) -> None:
    """Refuse scores by which nothing is ranked: those of texts of probability 0."""
    if any(math.isnan(score) or score == math.inf for score in scores):
        raise NoAnswer("a text has the probability 0 where it is calibrated")
    if max(scores, default=0.0) == -math.inf:
        raise NoAnswer("all texts that were asked about have the probability 0")


Row = dict[str, Any]
Read = Callable[[Sequence[Reply]], Row]


class Asked(NamedTuple):
    """The requests of an example, and what makes a response of their replies."""

    requests: tuple[tuple[Request, Sent], ...]
    read: Read


@dataclass
class Methods:
    """Asks in the way that a prompt says."""

    makes: Renderer
    fitter: Fitter
    answer_field: str | None
    """Name of the answer in a response; None where it has none."""
    counts: Counter[str] = field(default_factory=Counter)
    """How often something happened that a user should know."""

    def __post_init__(self) -> None:
        prompt = self.makes.prompt
        if prompt.method != "language-modelling" and self.answer_field is None:
            raise DataError(
                f"{self.makes.inputs.task} has a converter of its own, so that nobody "
                "knows where an answer alone would stand"
            )
        is_read_here = prompt.method == "joint" and (
            bool(prompt.generate.logprobs)
            or not reads_as_given(prompt, self.makes.inputs)
            or any(map(self._has_letters, self.makes.inputs.rows))
        )
        self._reader = OptionReader(prompt.extract) if is_read_here else None

    def _has_letters(self, row: Mapping[str, Any]) -> bool:
        return any(map(is_single_letter, self.makes.shown(row).options))

    @property
    def extract(self) -> Any:
        """What takes the answers out of the rows, as which options may stand there."""
        prompt, inputs = self.makes.prompt, self.makes.inputs
        if prompt.method in ("separate", "calibrated"):
            return NO_EXTRACTOR
        if self._reader is None:
            return prompt.extract
        name = choices_name(prompt, inputs)
        if name is None:
            return "labels"
        return ANY_TEXT if name == inputs.choices_field else NO_EXTRACTOR

    @property
    def requests_of_one(self) -> Callable[[Mapping[str, Any]], int]:
        """How many requests an example takes."""
        method = self.makes.prompt.method
        if method == "calibrated":
            return lambda row: 2
        if method == "ranking":
            return lambda row: len(self.makes.shown(row).options)
        if method == "language-modelling":
            return lambda row: len([*self._windows(self.makes.query(row))])
        return lambda row: 1

    def ask(self, row: Mapping[str, Any], shots: Sequence[Shot]) -> Asked:
        """Make the requests of an example."""
        ways = {
            "generation": self._generation,
            "joint": self._joint,
            "separate": self._separate,
            "calibrated": self._separate,
            "ranking": self._ranking,
            "language-modelling": self._language,
        }
        return ways[self.makes.prompt.method](row, shots)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know of how answers were found, in words."""
        return tuple(
            f"{count_of(count, 'answer')} {what}"
            for what, count in sorted(self.counts.items())
        )

    def refuse_too_long(self, row: Mapping[str, Any]) -> None:
        """Refuse an example that fits into no request, however it is cut."""
        method = self.makes.prompt.method
        if method != "language-modelling":
            options = self.makes.shown(row).options if method == "ranking" else (None,)
            for option in options:
                self.fitter.refuse_too_long(row, self._reply(row), option)

    def _reply(self, row: Mapping[str, Any]) -> int:
        """Return the most tokens that a reply to an example has."""
        prompt = self.makes.prompt
        if not prompt.uses_continuations:
            return prompt.generate.max_tokens or 1
        return max(map(self.fitter.count, self._continuations(row)))

    def _continuations(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the texts of which is asked how probable they are."""
        prompt = self.makes.prompt
        is_ranking = prompt.method == "ranking"
        said = prompt.verdicts if is_ranking else self.makes.shown(row).options
        return tuple(prompt.separators.answer + each for each in said)

    def _settings(self) -> dict[str, Any]:
        return self.makes.prompt.generate.model_dump()

    def _generation(self, row: Mapping[str, Any], shots: Sequence[Shot]) -> Asked:
        made, sent = self.fitter.fitted(row, shots, self._reply(row))

        def read(replies: Sequence[Reply]) -> Row:
            (reply,) = replies
            found = [self._completed(each) for each in reply.completions]
            if len(found) == 1:
                return found[0]
            keys = ("finish_reason", "thinking")
            alike = [{k: v for k, v in e.items() if k not in keys} for e in found]
            return {"responses": alike}

        return Asked(((made.request(**self._settings()), sent),), read)

    def _completed(self, completion: Completion) -> Row:
        prompt, answer = self.makes.prompt, completion.text
        listed = json_list(answer) if prompt.answers == "json" else None
        found: Row = {str(self.answer_field): answer if listed is None else listed}
        if completion.finish_reason is not None:
            found["finish_reason"] = completion.finish_reason
        if completion.thinking is not None:
            found["thinking"] = completion.thinking
        if prompt.generate.logprobs is not None:
            found |= logprob_of(completion)
        return found

    def _joint(self, row: Mapping[str, Any], shots: Sequence[Shot]) -> Asked:
        settings = self._settings()
        shown = self.makes.shown(row)
        made, sent = self.fitter.fitted(row, shots, self._reply(row))
        sent = sent._replace(options=shown.places)

        def read(replies: Sequence[Reply]) -> Row:
            (reply,) = replies
            if settings["logprobs"]:
                found = self._by_letters(reply.completions[0], shown)
                if found is not None:
                    return found
                self.counts["had no letter among the likeliest tokens"] += 1
            if len(reply.completions) > 1:
                return {"responses": [self._named(e, shown) for e in reply.completions]}
            return self._named(reply.completions[0], shown)

        return Asked(((made.request(**settings), sent),), read)

    def _named(self, completion: Completion, shown: Shown) -> Row:
        found = self._completed(completion)
        if self._reader is not None:
            text = str(found[str(self.answer_field)])
            found[str(self.answer_field)] = self._reader.read(text, shown)
        return found

    def _by_letters(self, completion: Completion, shown: Shown) -> Row | None:
        """Rank the options by how probable their letters were."""
        wanted, tokens = self.makes.prompt.generate.logprobs or 0, tokens_of(completion)
        written = next((each for each in tokens if each.text.strip()), None)
        # one without a text ends the reply, in the place of a letter
        first = written or next((each for each in tokens if not each.text), None)
        if first is None:
            raise NoAnswer("the model wrote blanks only, in the place of a letter")
        told = len(first.alternatives)
        if told < wanted:
            raise NoAnswer(f"{wanted} log-probabilities were asked for, {told} came")
        scores = [
            (option, log_sum(of_letter(first, letter)))
            for option, letter in zip(shown.options, shown.letters, strict=True)
        ]
        known = [(option, score) for option, score in scores if score is not None]
        return self._ranked(known, [score for _, score in known]) if known else None

    def _separate(self, row: Mapping[str, Any], shots: Sequence[Shot]) -> Asked:
        prompt, shown = self.makes.prompt, self.makes.shown(row)
        texts = self._continuations(row)
        made = [self.fitter.fitted(row, shots, self._reply(row))]
        if prompt.method == "calibrated":
            made.append((self.makes.calibration(), Sent(calibration=True)))

        def read(replies: Sequence[Reply]) -> Row:
            scores, *without = [
                list(map(self._normalised, reply.continuations, shown.options))
                for reply in replies
            ]
            for less in without:
                scores = [a - b for a, b in zip(scores, less, strict=True)]
            logprobs = [each.logprob for each in replies[0].continuations]
            return self._ranked([*zip(shown.options, logprobs, strict=True)], scores)

        requests = tuple(
            (each.request(continuations=texts), sent._replace(options=shown.places))
            for each, sent in made
        )
        return Asked(requests, read)

    def _normalised(self, found: Continuation, option: str) -> float:
        by = {
            "sum": 1,
            "tokens": found.tokens,
            "bytes": len(option.encode()),
            "characters": len(option),
        }
        return found.logprob / max(1, by[self.makes.prompt.normalise])

    def _ranked(
        self, known: Sequence[tuple[str, float]], scores: Sequence[float]
    ) -> Row:
        """Make a response of options that have a score each, the best one first."""
        refuse_unbounded(scores)
        order = sorted(range(len(known)), key=lambda n: -scores[n])
        if any(logprob == -math.inf for _, logprob in known):
            self.counts["had options of probability 0, which have no logprob"] += 1
        if len(order) > 1 and scores[order[0]] == scores[order[1]]:
            self.counts["had several best options, of which the first counts"] += 1
        name = str(self.answer_field)
        found: Row = {
            "responses": [{name: known[n][0], **_logprob(known[n][1])} for n in order]
        }
        labels = self.makes.inputs.labels
        if labels is None or choices_name(self.makes.prompt, self.makes.inputs):
            return found
        shares = dict(zip([each for each, _ in known], softmax(scores), strict=True))
        if not shares.keys() >= {*labels}:  # of which 0 would say too much
            self.counts["told nothing of some labels, and got no prob"] += 1
            return found
        return {**found, "prob": {label: shares[label] for label in labels}}

    def _ranking(self, row: Mapping[str, Any], shots: Sequence[Shot]) -> Asked:
        shown, texts = self.makes.shown(row), self._continuations(row)
        longest = self._reply(row)
        made = [self.fitter.fitted(row, shots, longest, o) for o in shown.options]
        requests = tuple(
            (each.request(continuations=texts), sent._replace(options=(place,)))
            for (each, sent), place in zip(made, shown.places, strict=True)
        )

        def read(replies: Sequence[Reply]) -> Row:
            scores = [
                softmax([each.logprob for each in reply.continuations])[0]
                for reply in replies
            ]
            order = sorted(range(len(scores)), key=lambda n: -scores[n])
            return {
                str(self.answer_field): [shown.options[n] for n in order],
                "scores": [scores[n] for n in order],
            }

        return Asked(requests, read)

    def _language(self, row: Mapping[str, Any], shots: Sequence[Shot]) -> Asked:
        text = self.makes.query(row)
        requests = tuple(
            (Request(prompt=before, continuations=(part,)), Sent())
            for before, part in self._windows(text)
        )

        def read(replies: Sequence[Reply]) -> Row:
            found = [reply.continuations[0] for reply in replies]
            logprob = math.fsum(each.logprob for each in found)
            refuse_unbounded([logprob])
            return {
                "logprob": logprob,
                "num_tokens": sum(each.tokens for each in found),
                "num_bytes": len(text.encode()),
                "num_characters": len(text),
            }

        return Asked(requests, read)

    def _windows(self, text: str) -> Iterator[tuple[str, str]]:
        """Take a text apart, at blanks, into parts with what stands before them.

        The first part fills what a model can read; each further one half of it, after
        as much of what stands before.
        """
        room = self.fitter.room(0)
        words = [
            piece
            for word in re.findall(r"\s*\S+\s*$|\s*\S+", text) or [text]
            for piece in self._pieces(word, room)
        ]
        sizes = [self.fitter.count(word) for word in words]
        place = 0
        while place < len(words):
            limit = room if room is None or place == 0 else max(1, room // 2)
            end = _filled(sizes, place, limit)
            spare = 0 if room is None else room - sum(sizes[place:end])
            start = place
            while start > 0 and sizes[start - 1] <= spare:
                start -= 1
                spare -= sizes[start]
            yield "".join(words[start:place]), "".join(words[place:end])
            place = end

    def _pieces(self, word: str, room: int | None) -> list[str]:
        if room is None or len(word) < 2 or self.fitter.count(word) <= room // 2:
            return [word]
        middle = len(word) // 2
        return [*self._pieces(word[:middle], room), *self._pieces(word[middle:], room)]


def _logprob(logprob: float) -> Row:
    """Return a log-probability, which no file holds where it is infinite."""
    return {} if logprob == -math.inf else {"logprob": logprob}


def _filled(sizes: Sequence[int], place: int, limit: int | None) -> int:
    """Return where a part ends that begins at a place: behind one word at least."""
    end, size = place + 1, sizes[place]
    while end < len(sizes) and (limit is None or size + sizes[end] <= limit):
        size += sizes[end]
        end += 1
    return end
