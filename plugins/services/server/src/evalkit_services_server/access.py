"""Who asks, what they may do, and how often.

A browser has a cookie, and everything else a bearer token. Where a cookie would do
something, the page's own token must come with it, so that no other site can ask.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import time

from fastapi.exceptions import RequestValidationError
from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import InterfaceError, OperationalError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from evalkit.errors import EvalkitError, StorageError
from evalkit_services_server.accounts import SCOPES, SESSION_TIME, digest_of
from evalkit_services_server.database import insert, now, reading
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import ACCOUNT, QUOTA, TOKEN
from evalkit_services_server.withholding import without_paths

LOG = logging.getLogger(__name__)

COOKIE = "evalkit_session"
CSRF = "csrf_token"
"""In the address of a form, so that it is checked before the form is read."""

LOG_IN = "log in, or send a token: Authorization: Bearer …"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
LOGINS_A_MINUTE = 10

FAULTS = (StorageError, OSError, OperationalError, InterfaceError)
"""What the store, the disk or the database raise if they cannot be used."""


class RequestError(EvalkitError):
    """A request is refused; `problems` are rows that break rules, with lines."""

    def __init__(
        self,
        message: str,
        status: int = 422,
        problems: Sequence[dict[str, object]] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.problems = status, problems
        self.retry_after = retry_after


def explain(error: Exception) -> tuple[int, str]:
    """Return the status of an error, and its text without paths of the server."""
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        names = [name for name in first["loc"][1:] if isinstance(name, str)]
        why = ": ".join([*names, first["msg"].removeprefix("Value error, ")])
        return 422, why.encode("utf-8", "backslashreplace").decode()
    if isinstance(error, FAULTS):
        LOG.error("%s: %s", type(error).__name__, error)
        return 503, "the server's store, disk or database cannot be used at present"
    return getattr(error, "status", 422), without_paths(str(error))


@dataclass(frozen=True)
class Principal:
    """Who asks: an account, or 0 for anybody; `csrf` is None without a session."""

    account_id: int = 0
    name: str = ""
    scopes: frozenset[str] = frozenset({"read"})
    csrf: str | None = None
    token_id: int | None = None

    @property
    def is_anonymous(self) -> bool:
        """Whether nobody is logged in."""
        return not self.account_id

    @property
    def is_administrator(self) -> bool:
        """Whether everything may be read and changed."""
        return "administer" in self.scopes

    def owns(self, account_id: int) -> bool:
        """Tell whether something of an account is theirs to read and change."""
        return self.is_administrator or self.account_id == account_id


def identify(connection: Connection, token: str) -> Principal | None:
    """Return whose token it is; None if it is unknown or over."""
    row = connection.execute(
        select(TOKEN, ACCOUNT.c.name, ACCOUNT.c.role)
        .select_from(TOKEN.join(ACCOUNT))
        .where(TOKEN.c.digest == digest_of(token))
        .where(TOKEN.c.expires.is_(None) | (TOKEN.c.expires > now(connection)))
    ).first()
    if row is None:
        return None
    scopes = frozenset(row.scopes).intersection(SCOPES[row.role])
    return Principal(row.account_id, row.name, scopes, token_id=row.id)


def require(principal: Principal, scope: str) -> None:
    """Refuse who may not do such a thing at all, before anything is looked up."""
    if scope in principal.scopes:
        return
    if principal.is_anonymous:
        raise RequestError(LOG_IN, 401)
    raise RequestError(f"scope {scope!r} is required", 403)


async def principal(request: Request) -> Principal:
    """Return who asks; the dependency of every route."""
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    is_bearer = scheme.lower() == "bearer"
    token = bearer.strip() if is_bearer else request.cookies.get(COOKIE)
    state = request.app.state
    asking = await run_in_threadpool(_find, state.engine, token) if token else None
    subject = f"account {asking.account_id}" if asking else _network(request)
    state.limits.count(subject, state.settings.requests_a_minute)
    if asking is None:
        if is_bearer:
            raise RequestError("the token is unknown, has ended or was deleted", 401)
        return Principal()
    if not is_bearer:
        asking = replace(asking, csrf=csrf_token(str(token)))
    request.state.asking = asking
    if asking.csrf and request.method not in SAFE_METHODS:
        sent = request.query_params.get(CSRF, "")
        if not hmac.compare_digest(sent.encode(), asking.csrf.encode()):
            raise RequestError("the page is out of date. Load it again", 403)
    return asking


def _find(engine: Engine, token: str) -> Principal | None:
    with reading(engine) as connection:
        return identify(connection, token)


class RateLimit:
    """Counts requests in each minute of the clock, in this process."""

    def __init__(self) -> None:
        self._minute = 0
        self._counts = Counter[str]()

    def count(self, subject: str, most: int) -> None:
        """Count a request."""
        minute, second = divmod(int(time()), 60)
        if minute != self._minute:
            self._minute, self._counts = minute, Counter()
        self._counts[subject] += 1
        if self._counts[subject] > most:
            message = f"more than {most} requests in a minute"
            raise RequestError(message, 429, retry_after=60 - second)


def spend(connection: Connection, account_id: int, subject: str, most: int) -> None:
    """Count a use of a day's quota; the transaction that is undone takes it back."""
    day = now(connection).date().isoformat()
    row = {"account_id": account_id, "day": day, "subject": subject, "used": 1}
    counted = insert(connection, QUOTA).values(row)
    counted = counted.on_conflict_do_update(
        index_elements=["account_id", "day", "subject"],
        set_={"used": QUOTA.c.used + 1},
        where=QUOTA.c.used < most,
    )
    if connection.scalar(counted.returning(QUOTA.c.used)) is None:
        message = f"quota of {most} {subject} a day is used up until 00:00 UTC"
        raise RequestError(message, 429)


def count_login(request: Request, name: str) -> None:
    """Count a login by a password."""
    network, state = _network(request), request.app.state
    state.limits.count(network, state.settings.requests_a_minute)
    state.limits.count(f"{network} as {name}", LOGINS_A_MINUTE)


def csrf_token(session: str) -> str:
    """Return what the pages of a session have in the addresses of their forms."""
    return hmac.new(session.encode(), CSRF.encode(), hashlib.sha256).hexdigest()


def set_session(response: Response, token: str, settings: Settings) -> None:
    """Give a browser the cookie of its session."""
    response.set_cookie(
        COOKIE,
        token,
        max_age=int(SESSION_TIME.total_seconds()),
        secure=settings.is_behind_https,
        httponly=True,
        samesite="lax",
    )


def _network(request: Request) -> str:
    """Return the address of a request, or of IPv6 the network that a customer has."""
    address = request.client.host if request.client else ""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    bits = 32 if found.version == 4 else 64
    return str(ipaddress.ip_network((found, bits), strict=False))
