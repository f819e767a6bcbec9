"""Which token comes next, and what is written down of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Sequence
from secrets import randbits
from typing import Any, NamedTuple

from evalkit_models_base import Request

_SEED_BITS = 63


class Noise:
    """Draws tokens: the greatest of logits with Gumbel noise is a draw from them.

    Each row has a generator of its own, so that nothing depends on what else is in a
    batch.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        import torch

        self._torch = torch
        self._draws = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Add noise to the logits of each row."""
        torch = self._torch
        size = scores.shape[-1]
        shares = torch.stack(
            [torch.rand(size, generator=g, dtype=torch.float64) for g in self._draws]
        )
        noise = -torch.log(-torch.log(shares))
        return scores + noise.to(scores)


class Penalties:
    """Makes tokens less likely that were generated before."""

    def __init__(self, start: int, presence: float, frequency: float) -> None:
        self._start, self._presence, self._frequency = start, presence, frequency

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Take the penalties off."""
        new = input_ids[:, self._start :]
        counts = scores.new_zeros(scores.shape)
        counts.scatter_add_(1, new, scores.new_ones(new.shape))
        return scores - self._frequency * counts - self._presence * (counts > 0)


class Told(NamedTuple):
    """What is written down of the token at one place, for each row.

    Attributes:
        chosen: The log-probability of what was chosen.
        logprobs: Those of the likeliest ones.
        tokens: The likeliest ones.
    """

    chosen: list[float]
    logprobs: list[list[float]]
    tokens: list[list[int]]


class Recorder:
    """Writes down log-probabilities before anything changes them."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._last: Any = None
        self.told: list[Told] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Write down what is known before a token is chosen."""
        import torch

        self.settle(input_ids)
        self._last = torch.log_softmax(scores.float(), dim=-1)
        return scores

    def settle(self, input_ids: Any) -> None:
        """Write down what was chosen."""
        if self._last is None:
            return
        chosen = self._last.gather(1, input_ids[:, -1:]).squeeze(1)
        top = self._last.topk(min(self._count, self._last.shape[-1]))
        self.told.append(
            Told(chosen.tolist(), top.values.tolist(), top.indices.tolist())
        )
        self._last = None


class Numbers:
    """Writes down which rows have logits that are no numbers, before they end."""

    def __init__(self, ended: Container[int]) -> None:
        self._ended = ended
        self.broken: set[int] = set()

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Look at the logits of each row."""
        bad = (~scores.float().logsumexp(dim=-1).isfinite()).tolist()
        self.broken |= {
            row for row, is_bad in enumerate(bad) if is_bad and row not in self._ended
        }
        return scores


class Ends:
    """Ends rows, each where it must, and writes down where and why.

    Attributes:
        found: How many tokens each row that has ended has, and why it ended.
        numbers: Knows which rows end as their logits are no numbers.
    """

    def __init__(
        self,
        start: int,
        limits: Sequence[int],
        ends: frozenset[int],
        stops: Sequence[str],
        text_of: Callable[[int, list[int]], str],
    ) -> None:
        self._start, self._limits = start, limits
        self._ends, self._stops, self._text_of = ends, stops, text_of
        self.found: dict[int, tuple[int, str]] = {}
        self.numbers = Numbers(self.found)

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        """Tell which rows have ended."""
        import torch

        for row, tokens in enumerate(input_ids[:, self._start :].tolist()):
            reason = None if row in self.found else self._reason(row, tokens)
            if reason is not None:
                self.found[row] = (len(tokens), reason)
        broken = self.numbers.broken
        done = [row in self.found or row in broken for row in range(len(input_ids))]
        return torch.tensor(done, device=input_ids.device)

    def _reason(self, row: int, tokens: list[int]) -> str | None:
        if tokens[-1] in self._ends:
            return "stop"
        if self._stops:
            text = self._text_of(row, tokens)
            if any(stop in text for stop in self._stops):
                return "stop"
        return "length" if len(tokens) >= self._limits[row] else None


def seed_of(request: Request, tokens: Sequence[int], number: int) -> int:
    """Return the seed of one text: of the request's own, and what is continued."""
    if request.seed is None:
        return randbits(_SEED_BITS)
    told = f"{request.seed} {number} {[*tokens]}".encode()
    return int.from_bytes(hashlib.sha256(told).digest()) >> (256 - _SEED_BITS)
