"""How fast is asked, and how long a server may let one wait."""

from __future__ import annotations

from aiolimiter import AsyncLimiter

from evalkit.errors import EvalkitError
from evalkit_models_base.requests import Reply
from evalkit_models_base.services import LONGEST_SERVER_WAIT


class Again(Exception):
    """A reply that may come when it is asked for again."""

    def __init__(self, reason: str, after: float | None) -> None:
        super().__init__(reason)
        self.reason, self.after = reason, after


class AskingEnded(EvalkitError):
    """Asking ended before all was asked."""


def even_limiter(per_minute: float | None) -> AsyncLimiter | None:
    """Return what lets one after another pass; a burst would make a minute too full."""
    return None if per_minute is None else AsyncLimiter(1, 60.0 / per_minute)


def limiter(per_minute: float | None) -> AsyncLimiter | None:
    """Return what lets so many pass in any minute."""
    return None if per_minute is None else AsyncLimiter(max(1.0, per_minute), 60.0)


def within_patience(reply: Reply) -> Reply:
    """Take a reply for final that a server wants to be asked for much later."""
    after = reply.retry_after
    if not reply.is_retriable or after is None or after <= LONGEST_SERVER_WAIT:
        return reply
    error = f"{reply.error}; the server wants to be asked again in {after:,.0f} s"
    return reply.model_copy(update={"error": error, "is_retriable": False})
