"""How much may fail, and be spent, before asking ends."""

from __future__ import annotations

from evalkit.reporting import count_of
from evalkit_models_base.limits import AskingEnded
from evalkit_models_base.prices import Price
from evalkit_models_base.requests import Reply
from evalkit_models_base.settings import Asked


class Budget:
    """Counts what is asked in this command, and says when that is too much."""

    def __init__(
        self, model: str, asked: Asked, requests: int, price: Price | None = None
    ) -> None:
        self._model, self._asked, self._price = model, asked, price
        self._cost = 0.0
        self._requests = requests
        self._failed = 0
        self._tokens = 0

    @property
    def _errors_allowed(self) -> int:
        return self._asked.errors_allowed(self._requests)

    def expect(self, requests: int) -> None:
        """Count in further requests, of which a share may fail."""
        self._requests += requests

    def spend(self, reply: Reply) -> int:
        """Count what a reply took, whatever becomes of it."""
        usage = reply.usage
        counts = (usage.input_tokens, usage.output_tokens)
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
            self._cost += self._price.of(usage) or 0.0
        return tokens

    @property
    def said(self) -> str:
        """What was spent, in words; nothing where nothing is known."""
        tokens = f", {self._tokens:,} tokens" if self._tokens else ""
        if self._price is None or not tokens:
            return tokens
        return f"{tokens}, {self._cost:,.4f} {self._price.currency}"

    def why_enough(self) -> str | None:
        """Return why nothing more may be asked; None where more may."""
        limit = self._asked.token_limit
        if limit is not None and self._tokens >= limit:
            return f"{self._tokens:,} tokens were taken, and the limit is {limit:,}"
        most = self._asked.cost_limit
        if most is not None and self._price is not None and self._cost >= most:
            currency = self._price.currency
            return f"{self._cost:,.6g} {currency} were spent, and the limit is {most:g}"
        return None

    def take(self, reply: Reply) -> None:
        """Count a reply that stands."""
        if reply.error is None:
            return
        self._failed += 1
        if reply.is_fatal:
            raise AskingEnded(f"{self._model} answers nothing: {reply.error}")
        if self._failed > self._errors_allowed:
            raise AskingEnded(
                f"{count_of(self._failed, 'request')} failed, and "
                f"{self._errors_allowed:,} may (--max-errors); the last one: "
                f"{reply.error}"
            )
