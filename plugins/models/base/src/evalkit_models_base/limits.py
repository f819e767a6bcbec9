"""Limits of requests: rates, failures, tokens and cost, and what they cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from aiolimiter import AsyncLimiter
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalkit.errors import DataError, EvalkitError
from evalkit.reporting import count_of
from evalkit_models_base.questions import Answer
from evalkit_models_base.requests import Reply, Usage

Progress = Callable[[str, float], None]
"""Takes what is being done, and the share of it that is done, 0 to 1."""

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]

_PAUSE = 0.05
"""Seconds between two reports of progress."""


class AskingEnded(EvalkitError):
    """Asking ended before all requests were sent."""


@dataclass(frozen=True)
class Asked:
    """Limits of asking, and what is kept; none of these changes a reply.

    Raises:
        EvalkitError: A number is out of its range.
    """

    concurrency: int | None = None
    """Maximum concurrent requests; None for the model's own limit."""
    retries: int = 5
    """Maximum retries per request."""
    seconds: float = 600.0
    """Timeout of a reply; a batch has as long for each of its replies."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    """Counted when a reply has come, from what it took."""
    max_errors: float = 0.05
    """Fraction of the requests that may fail before asking ends, at least one of
    several; 1 or more is a number of requests."""
    least_errors: int = 0
    """Number of requests that may fail if the fraction is less."""
    token_limit: int | None = None
    """Number of tokens after which no request is sent; replies under way are kept."""
    cost_limit: float | None = None
    """The same for their cost, in the currency of `price`."""
    price: str | Path | Mapping[str, Any] | None = None
    """Price of a million tokens: `input=0.15,output=0.6`, optionally with `cached`
    (input tokens that the model had read before) and `currency` (USD); the same as an
    object; or a file or object of these by the name of the model."""
    is_cached: bool = True
    """Whether replies are taken from the cache, and kept there."""
    keeps_requests: bool = False
    """Whether the record of requests holds the messages, and not only digests."""

    def __post_init__(self) -> None:
        least = {
            **{"concurrency": 1, "retries": 0, "seconds": 0.001, "max_errors": 0},
            **{"requests_per_minute": 0.001, "tokens_per_minute": 0.001},
            **{"token_limit": 1, "cost_limit": 1e-9},
        }
        for name, limit in least.items():
            value = getattr(self, name)
            if value is not None and not value >= limit:
                raise EvalkitError(f"{name} must be {limit} or more, got {value}")

    def errors_allowed(self, requests: int) -> int:
        """Return how many of a number of requests may fail."""
        if self.max_errors >= 1:
            return int(self.max_errors)
        least = max(self.least_errors, int(requests > 1 and self.max_errors > 0))
        return max(least, int(self.max_errors * requests))


def even_limiter(per_minute: float | None) -> AsyncLimiter | None:
    """Return a limiter without bursts, which would make a minute too full."""
    return None if per_minute is None else AsyncLimiter(1, 60.0 / per_minute)


class Price(BaseModel):
    """What a million tokens cost."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Amount
    output: Amount
    """Tokens of thinking included."""
    cached: Amount | None = None
    """Input tokens that the model had read before; None for `input`."""
    currency: str = Field("USD", pattern="^[A-Z]{3}$")
    """Its code of ISO 4217."""

    def of(self, usage: Usage) -> float | None:
        """Return what a reply cost; None if its tokens are unknown."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        again = 0 if self.cached is None else usage.cached_tokens or 0
        read = max(0, usage.input_tokens - again) * self.input
        read_again = again * (self.cached or 0)
        return (read + read_again + usage.output_tokens * self.output) / 1e6


def price_of(
    given: str | Path | Mapping[str, Any] | None, names: Sequence[str]
) -> Price | None:
    """Return the price of a model, which has several names."""
    if given is None:
        return None
    said, where = _read(given)
    if not isinstance(said, Mapping) or not said:
        raise DataError(f"{where}: a price is input=…,output=…, or these by model")
    if not all(isinstance(each, Mapping) for each in said.values()):
        return _checked(where, said)
    prices = {name: _checked(f"{where}: {name}", each) for name, each in said.items()}
    return next((prices[name] for name in names if name in prices), None)


def _read(given: str | Path | Mapping[str, Any]) -> tuple[Any, str]:
    if isinstance(given, Mapping):
        return given, "price"
    text = str(given)
    if isinstance(given, Path) or "=" not in text:
        from evalkit_adapters_rows import read_stages

        return read_stages(text), text
    pairs = [part.partition("=") for part in text.split(",")]
    return {name.strip(): value.strip() for name, _, value in pairs}, "price"


def _checked(where: str, said: Any) -> Price:
    try:
        return Price.model_validate(said)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        problems = {
            "extra_forbidden": f"there is no {key!r}; there is "
            f"{', '.join(Price.model_fields)}",
            "missing": f"{key} is missing: what a million tokens cost",
        }
        other = f"{key}: {first['msg']}, got {first['input']!r}"
        problem = problems.get(first["type"], other)
        raise DataError(f"{where}: {problem}") from None


class Budget:
    """Counts failures, tokens and cost, and says when they are too much."""

    def __init__(self, model: str, asked: Asked, price: Price | None) -> None:
        if asked.cost_limit is not None and price is None:
            raise EvalkitError(
                f"--cost-limit needs what the tokens of {model} cost: say it with "
                "--price input=…,output=… (per million), or in a file by its name"
            )
        self._model, self._asked, self._price = model, asked, price
        self.requests = self._failed = self._tokens = 0
        self._cost = 0.0

    def spend(self, reply: Reply) -> int:
        """Count what a reply took, whatever becomes of it; return its tokens."""
        counts = (reply.usage.input_tokens, reply.usage.output_tokens)
        if reply.error is None and None in counts:
            for name in ("token_limit", "cost_limit"):
                if getattr(self._asked, name) is not None:
                    raise AskingEnded(
                        f"{self._model} does not say how many tokens a reply takes, so "
                        f"that --{name.replace('_', '-')} cannot be kept: leave it out"
                    )
        tokens = sum(count or 0 for count in counts)
        self._tokens += tokens
        if self._price is not None:
            self._cost += self._price.of(reply.usage) or 0.0
        return tokens

    @property
    def said(self) -> str:
        """What was spent, in words; empty if nothing is known."""
        tokens = f", {self._tokens:,} tokens" if self._tokens else ""
        if self._price is None or not tokens:
            return tokens
        return f"{tokens}, {self._cost:,.4f} {self._price.currency}"

    def why_enough(self) -> str | None:
        """Return why no further request may be sent; None if it may."""
        limit, most = self._asked.token_limit, self._asked.cost_limit
        if limit is not None and self._tokens >= limit:
            return f"{self._tokens:,} tokens were taken, and the limit is {limit:,}"
        if most is not None and self._price is not None and self._cost >= most:
            currency = self._price.currency
            return f"{self._cost:,.6g} {currency} were spent, and the limit is {most:g}"
        return None

    def take(self, reply: Reply) -> None:
        """Count a final reply.

        Raises:
            AskingEnded: It is fatal, or too many failed.
        """
        if reply.error is None:
            return
        self._failed += 1
        if reply.is_fatal:
            raise AskingEnded(f"{self._model} answers nothing: {reply.error}")
        allowed = self._asked.errors_allowed(self.requests)
        if self._failed > allowed:
            raise AskingEnded(
                f"{count_of(self._failed, 'request')} failed, and {allowed:,} may "
                f"(--max-errors); the last one: {reply.error}"
            )


class Told:
    """Reports the progress, with the rate, what it took, and the time that is left."""

    def __init__(self, progress: Progress | None, model: str, total: int) -> None:
        self._progress, self._model, self._total = progress, model, total
        self._started, self._last = time.monotonic(), 0.0

    def count(self, done: int, budget: Budget) -> None:
        """Report how many are answered."""
        now = time.monotonic()
        is_late = now - self._last >= _PAUSE or done == self._total
        if self._progress is None or not is_late:
            return
        self._last = now
        seconds = max(now - self._started, 1e-9)
        left = (self._total - done) * seconds / done
        text = (
            f"asking {self._model}: {done:,} of {self._total:,}, {done / seconds:,.1f} "
            f"a second, {timedelta(seconds=round(left))} left{budget.said}"
        )
        self._progress(text, done / self._total)


_TOKENS = ("input_tokens", "output_tokens")


class Totals:
    """What all replies took together, as far as each of them says it.

    Several requests may be asked about one example, and one that several examples have
    in common counts once, and among the `shared` ones.
    """

    def __init__(self, price: Price | None = None) -> None:
        self._price, self._costs = price, 0.0
        self.answers = 0
        self.from_cache = self.shared = 0
        self._started = time.monotonic()
        self._counted: dict[bytes, bool] = {}
        self._tokens = dict.fromkeys(_TOKENS, 0)
        self._unknown: set[str] = set()

    def add(self, answer: Answer) -> None:
        """Add an answer."""
        self.answers += 1
        if answer.key is not None:
            is_kept = self._counted.get(answer.key, answer.is_cached)
            self.from_cache += is_kept
            self.shared += answer.is_cached and not is_kept
            if answer.key in self._counted:
                return
            self._counted[answer.key] = is_kept
        for name in _TOKENS:
            count = getattr(answer.reply.usage, name)
            if count is None:
                self._unknown.add(name)
            else:
                self._tokens[name] += count
        if self._price is not None:
            self._costs += self._price.of(answer.reply.usage) or 0.0

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know of it."""
        if not self.shared:
            return ()
        is_one = self.shared == 1
        what = "1 request is" if is_one else f"{self.shared:,} requests are"
        return (f"{what} the same as others in this command, and not asked again",)

    @property
    def figures(self) -> dict[str, Any]:
        """The seconds since it began, tokens, and what these cost.

        None where an answer did not say its part, or there is none; and for seconds
        where something was in the cache, or is shared, as asking for all of it takes
        longer.
        """
        tokens = {
            name: None if name in self._unknown or not self.answers else total
            for name, total in self._tokens.items()
        }
        cost = None
        if self._price is not None and None not in tokens.values():
            cost = self._costs
        is_part = self.from_cache or self.shared
        seconds = None if is_part else time.monotonic() - self._started
        figures: dict[str, Any] = {"seconds": seconds, **tokens, "cost": cost}
        if cost is not None and self._price is not None:
            figures["currency"] = self._price.currency
        return figures
