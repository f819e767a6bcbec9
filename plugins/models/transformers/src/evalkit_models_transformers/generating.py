"""Texts that a model generates, in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from evalkit_models_base import Completion, Request, Token
from evalkit_models_transformers.choosing import (
    Ends,
    Noise,
    Penalties,
    Recorder,
    Told,
    seed_of,
)
from evalkit_models_transformers.encoding import Encoder
from evalkit_models_transformers.loading import padding_of

_LOOKED_AT = 4
_SPARE = 64
"""So many times as many alternatives are looked at, and these, as parts of characters
are written alike."""


class Row(NamedTuple):
    """One text that is generated.

    Attributes:
        place: Which request it belongs to.
        request: The request.
        tokens: What is continued.
        number: Which one of the request's texts it is.
        limit: The most tokens of it.
    """

    place: int
    request: Request
    tokens: list[int]
    number: int
    limit: int

    @property
    def settings(self) -> tuple[Any, ...]:
        """What all texts of a batch have in common."""
        own = self.request
        return (
            *(own.temperature, own.top_p, own.top_k, own.stop, own.logprobs),
            *(own.presence_penalty or 0.0, own.frequency_penalty or 0.0),
        )


class Generated(NamedTuple):
    """A text, and how many tokens it took."""

    completion: Completion
    tokens: int


class Generator:
    """Generates texts."""

    def __init__(
        self, model: Any, tokenizer: Any, encoder: Encoder, places: int | None
    ) -> None:
        self._model, self._encoder, self._places = model, encoder, places
        self._padding = padding_of(tokenizer)
        ends = model.generation_config.eos_token_id
        listed = ends if isinstance(ends, list) else [ends]
        self._ends = frozenset(int(each) for each in listed if each is not None)

    def texts(self, rows: Sequence[Row]) -> list[Generated | None]:
        """Generate a text for each of some rows, which have the same settings."""
        # drawn once: a row that is begun again has the same text
        seeds = [seed_of(row.request, row.tokens, row.number) for row in rows]
        found: dict[int, Generated | None] = {}
        left = [*range(len(rows))]
        while left:
            some = self._begun([rows[n] for n in left], [seeds[n] for n in left])
            found |= {left[place]: text for place, text in some.items()}
            # where none has ended, the first one is by itself
            left, waiting = [n for n in left if n not in found], left
            if len(left) == len(waiting):
                found |= {left[0]: self._begun([rows[left[0]]], [seeds[left[0]]])[0]}
                left = left[1:]
        return [found[n] for n in range(len(rows))]

    def _room(self, rows: Sequence[Row], start: int) -> int:
        """Return how many tokens are generated, so that no row has too many.

        Rows that have ended grow with the others.
        """
        most = max(row.limit for row in rows)
        if self._places is None or len(rows) == 1:
            return most
        return max(min(most, self._places - start), 1)

    def _begun(
        self, rows: Sequence[Row], seeds: Sequence[int]
    ) -> dict[int, Generated | None]:
        """Return the texts that end while there is room for the longest row."""
        import torch

        start = max(len(row.tokens) for row in rows)
        spare = [start - len(row.tokens) for row in rows]
        pairs = [*zip(rows, spare, strict=True)]
        tokens = [[self._padding] * more + row.tokens for row, more in pairs]
        is_token = [[0] * more + [1] * len(row.tokens) for row, more in pairs]
        recorder = self._recorder(rows[0].request)
        ends = Ends(
            start,
            [row.limit for row in rows],
            self._ends,
            rows[0].request.stop,
            lambda place, new: self._text(rows[place], new),
        )
        device = self._model.device
        with torch.inference_mode():
            whole = self._model.generate(
                torch.tensor(tokens, device=device),
                attention_mask=torch.tensor(is_token, device=device),
                do_sample=False,
                max_new_tokens=self._room(rows, start),
                logits_processor=[
                    ends.numbers,
                    *self._processors(rows, seeds, start, recorder),
                ],
                stopping_criteria=[ends],
            )
        if recorder is not None:
            recorder.settle(whole)
        told = [] if recorder is None else recorder.told
        new = whole[:, start:].tolist()
        return {
            **{
                place: self._generated(
                    rows[place], new[place], ended, [*_of_row(told, place)]
                )
                for place, ended in ends.found.items()
                if place not in ends.numbers.broken
            },
            **dict.fromkeys(ends.numbers.broken),
        }

    def _recorder(self, request: Request) -> Recorder | None:
        if request.logprobs is None:
            return None
        count = request.logprobs
        return Recorder(_LOOKED_AT * count + _SPARE if count else 0)

    def _processors(
        self,
        rows: Sequence[Row],
        seeds: Sequence[int],
        start: int,
        recorder: Recorder | None,
    ) -> list[Any]:
        from transformers import (
            TemperatureLogitsWarper,
            TopKLogitsWarper,
            TopPLogitsWarper,
        )

        own = rows[0].request
        presence, frequency = own.presence_penalty or 0.0, own.frequency_penalty or 0.0
        found: list[Any] = [] if recorder is None else [recorder]
        if presence or frequency:
            found.append(Penalties(start, presence, frequency))
        if not own.temperature:
            return found
        found.append(TemperatureLogitsWarper(own.temperature))
        if own.top_k is not None:
            found.append(TopKLogitsWarper(own.top_k))
        if own.top_p is not None and own.top_p < 1:
            found.append(TopPLogitsWarper(own.top_p))
        return [*found, Noise(seeds)]

    def _text(self, row: Row, tokens: Sequence[int]) -> str:
        return self._encoder.text_after(row.tokens, tokens, shows_special=False)

    def _generated(
        self, row: Row, new: list[int], ended: tuple[int, str], told: list[Told]
    ) -> Generated:
        count, reason = ended
        new = new[:count]
        kept = new[:-1] if new[-1] in self._ends else new
        text = self._text(row, kept)
        ends_at = min(
            (text.index(stop) for stop in row.request.stop if stop in text),
            default=len(text),
        )
        tokens = None
        if row.request.logprobs is not None:
            # of a reply without a text that token is told which ended it
            tokens = self._tokens(row, kept or new, told, ends_at)
        completion = Completion(
            text=text[:ends_at], tokens=tokens, finish_reason=reason
        )
        return Generated(completion, count)

    def _tokens(
        self, row: Row, new: Sequence[int], told: Sequence[Told], ends_at: int
    ) -> tuple[Token, ...]:
        """Return the tokens that begin before a text ends."""
        found: list[Token] = []
        begin = 0
        for place, known in zip(range(len(new)), told, strict=False):
            if place and begin >= ends_at:
                break
            before = [*row.tokens[-1:], *new[:place]]
            text = self._text(row, new[: place + 1])[begin:]
            found.append(
                Token(
                    text=text,
                    logprob=known.chosen[0],
                    alternatives=self._alternatives(
                        before, known, row.request.logprobs or 0
                    ),
                )
            )
            begin += len(text)
        return tuple(found)

    def _alternatives(
        self, before: Sequence[int], known: Told, wanted: int
    ) -> dict[str, float]:
        """Return the likeliest tokens by their texts; of those alike the likeliest."""
        found: dict[str, float] = {}
        for token, logprob in zip(known.tokens[0], known.logprobs[0], strict=True):
            if len(found) >= wanted:
                break
            text = self._encoder.text_after(before, [token], shows_special=True)
            found.setdefault(text, logprob)
        return found


def _of_row(told: Sequence[Told], place: int) -> list[Told]:
    """Return what was written down of one row."""
    return [
        Told([each.chosen[place]], [each.logprobs[place]], [each.tokens[place]])
        for each in told
    ]
