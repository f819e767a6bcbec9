"""Why a reply cannot be used."""

from __future__ import annotations

from evalkit_models_base import Reply


class Unusable(Exception):
    """What came is no reply to what was asked."""

    def __init__(
        self, reason: str, *, is_retriable: bool = False, is_fatal: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason, self.is_retriable, self.is_fatal = reason, is_retriable, is_fatal

    def as_reply(self) -> Reply:
        """Return the reply that says so."""
        return Reply(
            error=self.reason, is_retriable=self.is_retriable, is_fatal=self.is_fatal
        )
