"""Asks one judge batch after batch: loaded once, within limits that hold for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from evalkit.errors import AnnotatorError
from evalkit_annotators_judge.declaration import JudgeModel, Limits
from evalkit_models_base import Reply, Request

if TYPE_CHECKING:
    from evalkit_models_base import Asked, Session

_FEWEST_ERRORS = 20
_SHARE_OF_ERRORS = 0.05


class Heard(NamedTuple):
    """What came of a request."""

    reply: Reply
    is_cached: bool


class Sitting:
    """One judge, while responses are judged."""

    def __init__(self, judge: JudgeModel, limits: Limits) -> None:
        self._judge, self._limits = judge, limits
        self._session: Session | None = None

    def ask(self, requests: Sequence[Request]) -> list[Heard]:
        """Ask the judge."""
        if not requests:
            return []
        if self._session is None:
            from evalkit_models_base import Session

            self._session = Session(self._judge.model, asked=_asked(self._limits))
        found = self._session.ask(requests)
        if found.ended is not None:
            kept = "; what was judged until then is kept" if self._limits.cache else ""
            why = found.ended.replace("--max-errors", "max_errors")  # of its file, too
            raise AnnotatorError(f"{described(self._judge)}: {why}{kept}")
        return [Heard(*each) for each in zip(found.replies, found.cached, strict=True)]

    def close(self) -> None:
        """Let the model go; it is loaded again where it is asked again."""
        if self._session is not None:
            session, self._session = self._session, None
            session.close()


def described(judge: JudgeModel) -> str:
    """Say which judge it is, and which model."""
    return f"the judge {judge.model}" + (
        f" ({judge.name})" if judge.name != "judge" else ""
    )


def _asked(limits: Limits) -> Asked:
    from evalkit_models_base import Asked

    most = limits.max_errors
    return Asked(
        concurrency=limits.concurrency,
        retries=limits.retries,
        seconds=limits.timeout,
        requests_per_minute=limits.requests_per_minute,
        tokens_per_minute=limits.tokens_per_minute,
        token_limit=limits.token_limit,
        max_errors=_SHARE_OF_ERRORS if most is None else most,
        least_errors=_FEWEST_ERRORS if most is None else 0,
        is_cached=limits.cache,
    )
