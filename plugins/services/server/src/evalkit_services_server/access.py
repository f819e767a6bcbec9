"""Who asks, and what they may do.

A browser has a cookie, and everything else a bearer token. Where a cookie would do
something, the page's own token must come with it, so that no other site can ask.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, select
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from evalkit.errors import EvalkitError, StorageError
from evalkit_services_server.accounts import (
    SCOPES,
    SESSION,
    SESSION_TIME,
    digest_of,
)
from evalkit_services_server.database import now, reading
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import ACCOUNT, TOKEN

LOG = logging.getLogger(__name__)

COOKIE = "evalkit_session"
CSRF_HEADER = "x-csrf-token"
CSRF_FIELD = "csrf_token"
_LOGGED_OUT = "log in, or send a token: Authorization: Bearer …"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class RequestError(EvalkitError):
    """A request is refused.

    Attributes:
        status: The status of HTTP.
        problems: Rows that break rules, with their lines.
        retry_after: Seconds until it is worth asking again.
    """

    status = 400

    def __init__(
        self,
        message: str,
        status: int | None = None,
        problems: Sequence[dict[str, object]] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status or self.status
        self.problems, self.retry_after = problems, retry_after


def explain(error: Exception) -> tuple[int, str]:
    """Return the status of a refusal, and its text without paths of the server."""
    if isinstance(error, StorageError):
        LOG.error("%s", error)
        return 503, "the store cannot be used at present"
    return getattr(error, "status", 422), str(error)


class UnauthenticatedError(RequestError):
    """Who asks must log in, or send a token."""

    status = 401


class NotFoundError(RequestError):
    """There is no such thing, or none that concerns who asks."""

    status = 404


class UnusableError(RequestError):
    """What was sent breaks a rule."""

    status = 422


@dataclass(frozen=True)
class Principal:
    """Who asks.

    Attributes:
        account_id: The account; None for anybody.
        name: Its name.
        role: Its role; empty for anybody.
        scopes: What it may do: `read`, `submit`, `administer`.
        csrf: What the forms of the session's pages must send; None without a session.
        token_id: The token or session that it used.
    """

    account_id: int | None = None
    name: str = ""
    role: str = ""
    scopes: frozenset[str] = frozenset({"read"})
    csrf: str | None = None
    token_id: int | None = None

    @property
    def is_anonymous(self) -> bool:
        """Whether nobody is logged in."""
        return self.account_id is None

    @property
    def is_administrator(self) -> bool:
        """Whether everything may be read and changed."""
        return "administer" in self.scopes

    @property
    def own_id(self) -> int:
        """The account.

        Raises:
            UnauthenticatedError: Nobody is logged in.
        """
        if self.account_id is None:
            raise UnauthenticatedError(_LOGGED_OUT)
        return self.account_id

    def owns(self, account_id: int) -> bool:
        """Tell whether something of an account is theirs to read and change."""
        return self.is_administrator or self.account_id == account_id


def identify(connection: Connection, token: str) -> Principal | None:
    """Return whose token it is; None if it is unknown, over, or its account closed."""
    row = connection.execute(
        select(TOKEN, ACCOUNT.c.name, ACCOUNT.c.role)
        .select_from(TOKEN.join(ACCOUNT))
        .where(TOKEN.c.digest == digest_of(token), ACCOUNT.c.is_active)
        .where(TOKEN.c.expires.is_(None) | (TOKEN.c.expires > now(connection)))
    ).first()
    if row is None:
        return None
    allowed = SCOPES[row.role]
    own = allowed if SESSION in row.scopes else row.scopes
    scopes = frozenset(own).intersection(allowed)
    return Principal(row.account_id, row.name, row.role, scopes, token_id=row.id)


def require(principal: Principal, scope: str) -> None:
    """Refuse who may not do such a thing at all, before anything is looked up.

    Raises:
        UnauthenticatedError: Nobody is logged in.
        RequestError: The token or account has not this scope.
    """
    if scope in principal.scopes:
        return
    if principal.is_anonymous:
        raise UnauthenticatedError(_LOGGED_OUT)
    raise RequestError(f"scope {scope!r} is required", 403)


async def principal(request: Request) -> Principal:
    """Return who asks; the dependency of every route.

    Raises:
        UnauthenticatedError: The token is unknown or over.
        RequestError: A cookie came without the token of its page.
        RequestError: They ask too often.
    """
    asking = await form_principal(request)
    if asking.csrf is not None and request.method not in SAFE_METHODS:
        sent = request.headers.get(CSRF_HEADER)
        kind = request.headers.get("content-type", "")
        if sent is None and kind.startswith("application/x-www-form-urlencoded"):
            sent = str((await request.form()).get(CSRF_FIELD, ""))
        check_csrf(asking, sent)
    return asking


async def form_principal(request: Request) -> Principal:
    """Return who asks by a form with a file, whose handler calls `check_csrf`."""
    state = request.app.state
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    is_bearer = scheme.lower() == "bearer"
    token = bearer.strip() if is_bearer else request.cookies.get(COOKIE)

    def find() -> Principal | None:
        with reading(state.engine) as connection:
            return identify(connection, token) if token else None

    found = await run_in_threadpool(find) if token else None
    state.requests.count(f"account {found.account_id}" if found else _network(request))
    if found is None:
        if is_bearer:
            raise UnauthenticatedError("the token is unknown, has ended or was deleted")
        return Principal()
    csrf = None if is_bearer else csrf_token(str(token), state.settings)
    request.state.asking = replace(found, csrf=csrf)
    asking: Principal = request.state.asking
    return asking


def count_login(request: Request, name: str) -> None:
    """Count a login by a password.

    Raises:
        RequestError: The account, or the address, has tried too often in this minute.
    """
    for subject in (_network(request), f"account {name}"):
        request.app.state.logins.count(subject)


def check_csrf(asking: Principal, sent: str | None) -> None:
    """Refuse a form that was not on a page of the session.

    Raises:
        RequestError: The token is missing, or of another session.
    """
    csrf = asking.csrf
    if csrf and not hmac.compare_digest((sent or "").encode(), csrf.encode()):
        raise RequestError("the page is out of date. Load it again", 403)


def csrf_token(session: str, settings: Settings) -> str:
    """Return what the pages of a session put into their forms."""
    secret = settings.secret.get_secret_value() if settings.secret else ""
    return hmac.new(secret.encode(), session.encode(), hashlib.sha256).hexdigest()


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


def forget_session(response: Response) -> None:
    """Take the cookie of the session from a browser."""
    response.delete_cookie(COOKIE, httponly=True, samesite="lax")


def _network(request: Request) -> str:
    """Return the address of a request, or of IPv6 the network that a customer has."""
    address = request.client.host if request.client else ""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 4:
        return str(found)
    return str(ipaddress.ip_network((found, 64), strict=False))
