"""Why a service gave no answer."""

from __future__ import annotations

from collections.abc import Mapping

from evalkit_models_base.services import LONGEST_SERVER_WAIT, retry_after

_LATER = frozenset({408, 409, 425, 429})
_NEVER = frozenset({401, 402, 403, 404, 405, 501})


class Refused(Exception):
    """A service did not answer."""

    def __init__(
        self,
        reason: str,
        *,
        is_retriable: bool = False,
        is_fatal: bool = False,
        after: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason, self.after = reason, after
        self.is_retriable, self.is_fatal = is_retriable, is_fatal


def status_refusal(
    status: int, said: str, headers: Mapping[str, str], *, has_answered: bool
) -> Refused:
    """Return what a status of 300 or more means."""
    is_later = status in _LATER or (status >= 500 and status not in _NEVER)
    told = f": {said}" if said and status != 401 else ""
    advice = {
        **dict.fromkeys(
            (301, 302, 303, 307, 308),
            "; it is a redirect, which is not followed: let url be its target",
        ),
        401: "; put the right credentials where headers_variable says",
        403: "; see headers_variable",
        404: "; see url",
        405: "; it is asked by POST",
    }
    after = retry_after(headers) if is_later else None
    is_too_late = after is not None and after > LONGEST_SERVER_WAIT
    late = f"; it wants to be asked again in {after:,.0f} s" if is_too_late else ""
    return Refused(
        f"the service answers with status {status}{told}{advice.get(status, '')}{late}",
        is_retriable=is_later and not is_too_late,
        is_fatal=(status in _NEVER or status < 400)
        and not (status == 403 and has_answered),
        after=after,
    )
