"""A model from weights on this machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import Field

import evalkit
from evalkit.errors import PluginContractError
from evalkit_models_base import Continuation, Model, NotAnswered, Reply, Request, Usage
from evalkit_models_base.hookspecs import Ability, ModelKind
from evalkit_models_transformers.encoding import Encoder, Given
from evalkit_models_transformers.loading import (
    Where,
    identity,
    load_weights,
    padding_of,
    read_outline,
)

if TYPE_CHECKING:
    from evalkit_models_transformers.generating import Generated, Generator, Row

Kind = Literal["auto", "float32", "float16", "bfloat16"]

Each = TypeVar("Each")

_BATCHES = 8
"""Batches that are made of the requests of one call, so that each has texts of about
one length."""


class Transformers(Model):
    """Continues texts and chats with weights on this machine, by transformers.

    Requests are asked in batches of about one length. A text that is drawn
    (`temperature` above 0) has a generator of its own, which the request's `seed` and
    its text decide, so that it does not depend on what else is asked; what a batch
    changes are the last digits of numbers, and an answer only where two tokens are
    equally likely but for these. Log-probabilities are the model's own, before
    temperature and penalties.
    """

    abilities: Sequence[Ability] = ("text", "chat", "logprobs", "continuations")
    uses_network = False

    class Parameters(evalkit.Parameters):
        """Which weights, and how they run."""

        model: str = Field(
            min_length=1,
            exclude=True,
            description="Folder of the weights, or their name on the hub.",
        )
        revision: str | None = Field(
            default=None,
            exclude=True,
            description="Commit, branch or tag on the hub; by default the latest.",
        )
        dtype: Kind = Field(
            default="auto",
            description="Kind of numbers; by default that of the weights.",
        )
        device: str = Field(
            default="",
            exclude=True,
            description="cpu, cuda:1, …; by default a graphics card, if there is one.",
        )
        batch_size: int = Field(
            default=8, ge=1, exclude=True, description="Most texts at once."
        )
        context_length: int | None = Field(
            default=None,
            ge=1,
            description="Most tokens of a request and its reply; by default what the "
            "model's configuration says.",
        )
        kind: ModelKind | None = Field(
            default=None, exclude=True, description="base, instruct or reasoning."
        )

    def __init__(self, parameters: Parameters) -> None:
        self._given, self.kind = parameters, parameters.kind
        self._where = Where(
            parameters.model, parameters.revision, parameters.dtype, parameters.device
        )
        self._outline = read_outline(self._where)
        self._encoder = Encoder(self._outline.tokenizer)
        self.context_length = parameters.context_length or self._outline.context_length
        self.batch_requests = _BATCHES * parameters.batch_size
        if not self._outline.chats:
            self.abilities = ("text", "logprobs", "continuations")
        self._weights: Any = None
        self._generator: Generator | None = None

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer requests, in batches."""
        from torch import OutOfMemoryError

        try:
            self._load()
            return self._replies(requests)
        except PluginContractError as error:
            reason = str(error)
        except OutOfMemoryError:
            reason = (
                f"{self._given.batch_size} texts at once are too many for the "
                "memory: lower batch_size"
            )
        return [Reply(error=reason, is_fatal=True)] * len(requests)

    def describe(self) -> Mapping[str, str]:
        """Say which weights answer."""
        return self._identity

    def close(self) -> None:
        """Give up the weights."""
        self._weights = self._generator = None

    @cached_property
    def _identity(self) -> Mapping[str, str]:
        return identity(self._where)

    def _replies(self, requests: Sequence[Request]) -> list[Reply]:
        replies: dict[int, Reply] = {}
        given: list[tuple[int, Given]] = []
        rows: list[Row] = []
        for place, request in enumerate(requests):
            try:
                if request.continuations:
                    given += [(place, each) for each in self._continuations(request)]
                else:
                    rows += self._rows(place, request)
            except NotAnswered as error:
                replies[place] = Reply(error=error.reason)
        replies |= self._scored(requests, given)
        replies |= self._generated(requests, rows)
        return [replies[place] for place in range(len(requests))]

    def _texts(self, rows: Sequence[Row]) -> list[Generated | None]:
        assert self._generator is not None  # it is made with the weights
        return self._generator.texts(rows)

    def _load(self) -> None:
        """Load the weights when they are asked first."""
        if self._weights is None:
            from evalkit_models_transformers.generating import Generator

            self._weights = load_weights(self._where, self._outline)
            self._generator = Generator(
                self._weights,
                self._outline.tokenizer,
                self._encoder,
                self._outline.context_length,
            )

    def _continuations(self, request: Request) -> list[Given]:
        found = self._encoder.continuations(request)
        longest = max(len(each.tokens) for each in found)
        if self.context_length is not None and longest > self.context_length:
            raise NotAnswered(
                f"the text has {longest:,} tokens, and the model reads "
                f"{self.context_length:,}"
            )
        return found

    def _rows(self, place: int, request: Request) -> list[Row]:
        from evalkit_models_transformers.generating import Row

        tokens = self._encoder.prompt(request)
        limit = self._limit(request, len(tokens))
        return [
            Row(place, request, tokens, number, limit)
            for number in range(request.completions)
        ]

    def _limit(self, request: Request, size: int) -> int:
        """Return how many tokens may be generated."""
        length, wanted = self.context_length, request.max_tokens
        if length is None:
            if wanted is None:
                raise NotAnswered(
                    "nobody says how long the reply may be: set max_tokens, or "
                    "context_length"
                )
            return wanted
        room = length - size
        if room < 1:
            raise NotAnswered(
                f"the prompt has {size:,} tokens, and the model reads {length:,}"
            )
        return room if wanted is None else min(wanted, room)

    def _scored(
        self,
        requests: Sequence[Request],
        given: Sequence[tuple[int, Given]],
    ) -> dict[int, Reply]:
        """Return the replies to requests for log-probabilities of continuations."""
        from evalkit_models_transformers.likelihoods import continuations_of

        order = sorted(
            range(len(given)), key=lambda n: len(given[n][1].tokens), reverse=True
        )
        found: dict[int, Continuation | None] = {}
        for some in _batches(order, self._given.batch_size):
            scored = continuations_of(
                self._weights,
                [given[n][1] for n in some],
                padding_of(self._outline.tokenizer),
            )
            found.update(zip(some, scored, strict=True))
        replies: defaultdict[int, list[Continuation | None]] = defaultdict(list)
        sizes: defaultdict[int, int] = defaultdict(int)
        for number, (place, each) in enumerate(given):
            replies[place].append(found[number])
            sizes[place] += len(each.tokens)
        return {
            place: self._no_numbers()
            if None in continuations
            else Reply(
                continuations=tuple(each for each in continuations if each),
                usage=Usage(input_tokens=sizes[place], output_tokens=0),
            )
            for place, continuations in replies.items()
        }

    def _no_numbers(self) -> Reply:
        kind = str(self._weights.dtype).removeprefix("torch.")
        advice = "" if kind == "float32" else ": try dtype=float32"
        return Reply(
            error=f"the model's logits are no numbers (NaN or infinite) in {kind}"
            f"{advice}"
        )

    def _generated(
        self, requests: Sequence[Request], rows: Sequence[Row]
    ) -> dict[int, Reply]:
        """Return the replies to requests for texts."""
        alike: defaultdict[Any, list[int]] = defaultdict(list)
        for number, row in enumerate(rows):
            alike[row.settings].append(number)
        found: dict[int, Generated | None] = {}
        for numbers in alike.values():
            numbers.sort(key=lambda n: len(rows[n].tokens), reverse=True)
            for some in _batches(numbers, self._given.batch_size):
                texts = self._texts([rows[n] for n in some])
                found.update(zip(some, texts, strict=True))
        by_place: defaultdict[int, list[int]] = defaultdict(list)
        for number, row in enumerate(rows):
            by_place[row.place].append(number)
        replies = {}
        for place, numbers in by_place.items():
            made = [each for n in numbers if (each := found[n])]
            size = len(rows[numbers[0]].tokens)
            whole = len(made) == len(numbers)
            replies[place] = _reply(made, size) if whole else self._no_numbers()
        return replies


def _reply(texts: Sequence[Generated], input_tokens: int) -> Reply:
    return Reply(
        completions=tuple(each.completion for each in texts),
        usage=Usage(
            input_tokens=input_tokens,
            output_tokens=sum(each.tokens for each in texts),
        ),
    )


def _batches(given: Iterable[Each], size: int) -> Iterator[list[Each]]:
    listed = [*given]
    for first in range(0, len(listed), size):
        yield listed[first : first + size]
