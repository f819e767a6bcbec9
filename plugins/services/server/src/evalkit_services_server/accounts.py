"""Accounts, their passwords, and the tokens by which they ask."""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, select

from evalkit.errors import EvalkitError
from evalkit_services_server.database import insert, now
from evalkit_services_server.tables import ACCOUNT, TOKEN

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SCOPES = {
    "submitter": ("read", "submit"),
    "administrator": ("read", "submit", "administer"),
}
"""What an account of a role may do, and a token of it at most."""

SESSION_TIME = timedelta(days=7)
NAME = r"[a-zA-Z0-9._-]{1,64}"
SHORTEST_PASSWORD, LONGEST_PASSWORD = 12, 256

LOG = logging.getLogger(__name__)
_HASHING = BoundedSemaphore(2)
"""A hash takes 64 MiB, and anybody can ask for one."""


def save_account(
    connection: Connection,
    name: str,
    password: str | None = None,
    role: str | None = None,
) -> int:
    """Add an account, or change what is given of one that exists."""
    if not re.fullmatch(NAME, name):
        raise EvalkitError(
            f"account name: expected 1 to 64 letters, digits, '.', '_' and '-', "
            f"got {name!r}"
        )
    changed: dict[str, Any] = {"name": name}
    if role is not None:
        changed["role"] = role
    if password is not None:
        changed["password"] = _hash(password)
    row = insert(connection, ACCOUNT).values({"role": "submitter", **changed})
    saved = row.on_conflict_do_update(index_elements=["name"], set_=changed)
    key: int = connection.execute(saved.returning(ACCOUNT.c.id)).scalar_one()
    if password is not None:
        sessions = TOKEN.c.account_id == key, TOKEN.c.expires.is_not(None)
        connection.execute(delete(TOKEN).where(*sessions))
    return key


def close_account(connection: Connection, name: str) -> None:
    """Delete the password, sessions and tokens of an account; its models stay."""
    of_name = select(ACCOUNT.c.id).where(ACCOUNT.c.name == name)
    closed = ACCOUNT.update().where(ACCOUNT.c.name == name).values(password=None)
    if not connection.execute(closed).rowcount:
        raise EvalkitError(f"account {name!r} does not exist")
    connection.execute(delete(TOKEN).where(TOKEN.c.account_id.in_(of_name)))


def check_password(connection: Connection, name: str, password: str) -> int | None:
    """Return the id of the account of a name and password; None if they are wrong.

    It takes as long for a name that nobody has.
    """
    from argon2.exceptions import VerificationError

    query = select(ACCOUNT.c.id, ACCOUNT.c.password).where(ACCOUNT.c.name == name)
    key, stored = connection.execute(query).first() or (None, None)
    with _HASHING:
        try:
            _hasher().verify(stored or _of_nobody(), password[:LONGEST_PASSWORD])
        except VerificationError:
            LOG.warning("wrong password of %r", name)
            return None
    return key if stored else None


def create_token(
    connection: Connection,
    account_id: int,
    scopes: Iterable[str],
    expires: datetime | None = None,
) -> str:
    """Add a token of an account, and return it; its hash is stored."""
    token = f"evalkit_{secrets.token_urlsafe(32)}"
    values = {"account_id": account_id, "digest": digest_of(token)}
    values |= {"scopes": sorted(scopes), "expires": expires}
    connection.execute(TOKEN.insert().values(values))
    return token


def open_session(connection: Connection, account_id: int) -> str:
    """Return the token of a new session of the pages."""
    moment = now(connection)
    ended = TOKEN.c.account_id == account_id, TOKEN.c.expires < moment
    connection.execute(delete(TOKEN).where(*ended))
    scopes, expires = SCOPES["administrator"], moment + SESSION_TIME
    return create_token(connection, account_id, scopes, expires)


def digest_of(token: str) -> str:
    """Return what the table `token` has in the place of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def _hash(password: str) -> str:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise EvalkitError(
            f"password must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters, "
            f"got {len(password)}"
        )
    return _hasher().hash(password)


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _of_nobody() -> str:
    return _hasher().hash(secrets.token_hex())
