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

from sqlalchemy import Connection, Row, delete, select, update

from evalkit.errors import EvalkitError
from evalkit_services_server.database import insert, now
from evalkit_services_server.tables import ACCOUNT, ROLES, TOKEN

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SCOPES = {
    "submitter": ("read", "submit"),
    "administrator": ("read", "submit", "administer"),
}
"""What an account of a role may do, and a token of it at most."""

SESSION = "session"
"""Scope of the token in a browser's cookie, which may do all that its account may."""

SESSION_TIME = timedelta(days=7)
NAME = r"[a-zA-Z0-9._-]{1,64}"
SHORTEST_PASSWORD, LONGEST_PASSWORD = 12, 256

LOG = logging.getLogger(__name__)
_HASHING = BoundedSemaphore(2)
"""A hash takes 64 MiB, and anybody can ask for one."""


def create_account(
    connection: Connection,
    name: str,
    password: str | None = None,
    role: str = "submitter",
) -> int:
    """Add an account.

    Args:
        connection: A transaction that writes.
        name: Letters, digits, `.`, `_` and `-`, at most 64.
        password: For the pages; None for an account that has tokens alone.
        role: `administrator` or `submitter`.

    Returns:
        Its id.

    Raises:
        EvalkitError: The name is taken or not allowed, or the password is too short.
    """
    if not re.fullmatch(NAME, name):
        raise EvalkitError(
            f"account name: expected 1 to 64 letters, digits, '.', '_' and '-', "
            f"got {name!r}"
        )
    if role not in ROLES:
        raise EvalkitError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
    values = {
        "name": name,
        "password": None if password is None else _hash(password),
        "role": role,
        "is_active": True,
        "created": now(connection),
    }
    made = insert(connection, ACCOUNT).values(values).on_conflict_do_nothing()
    key: int | None = connection.scalar(made.returning(ACCOUNT.c.id))
    if key is None:
        raise EvalkitError(f"account {name!r} exists already")
    return key


def find_account(connection: Connection, name: str) -> Row[Any] | None:
    """Return the account of a name; None for no such."""
    return connection.execute(select(ACCOUNT).where(ACCOUNT.c.name == name)).first()


def change_account(
    connection: Connection,
    account_id: int,
    *,
    password: str | None = None,
    role: str | None = None,
    is_active: bool | None = None,
) -> None:
    """Change what is given of an account; a new password ends its sessions.

    Raises:
        EvalkitError: The password is too short.
    """
    values = {
        "password": None if password is None else _hash(password),
        "role": role,
        "is_active": is_active,
    }
    changed = {name: value for name, value in values.items() if value is not None}
    if changed:
        of_account = ACCOUNT.c.id == account_id
        connection.execute(update(ACCOUNT).where(of_account).values(changed))
    if password is not None:
        sessions = TOKEN.c.account_id == account_id, TOKEN.c.label == SESSION
        connection.execute(delete(TOKEN).where(*sessions))


def check_password(connection: Connection, name: str, password: str) -> int | None:
    """Return the id of the active account of a name and password; None for no such.

    It takes as long for a name that nobody has.
    """
    from argon2.exceptions import VerificationError

    row = find_account(connection, name)
    stored = None if row is None or not row.is_active else row.password
    with _HASHING:
        try:
            _hasher().verify(stored or _of_nobody(), password[:LONGEST_PASSWORD])
        except VerificationError:
            LOG.warning("wrong password of %r", name)
            return None
    return None if row is None or stored is None else int(row.id)


def create_token(
    connection: Connection,
    account_id: int,
    label: str,
    scopes: Iterable[str],
    expires: datetime | None = None,
) -> str:
    """Add a token of an account.

    Args:
        connection: A transaction that writes.
        account_id: Whose it is.
        label: What it is for.
        scopes: What it may do: `read`, `submit`, `administer`.
        expires: When it ends; None for never.

    Returns:
        The token. It is stored as a hash, so this is the only time it can be read.
    """
    token = f"evalkit_{secrets.token_urlsafe(32)}"
    values = {
        "account_id": account_id,
        "label": label,
        "digest": digest_of(token),
        "scopes": sorted(scopes),
        "created": now(connection),
        "expires": expires,
    }
    connection.execute(TOKEN.insert().values(values))
    return token


def open_session(connection: Connection, account_id: int) -> str:
    """Return the token of a new session of the pages."""
    moment = now(connection)
    ended = TOKEN.c.account_id == account_id, TOKEN.c.expires < moment
    connection.execute(delete(TOKEN).where(*ended))
    expires = moment + SESSION_TIME
    return create_token(connection, account_id, SESSION, (SESSION,), expires)


def delete_token(connection: Connection, token_id: int) -> None:
    """End a token or session."""
    connection.execute(delete(TOKEN).where(TOKEN.c.id == token_id))


def digest_of(token: str) -> str:
    """Return what the table `token` has in the place of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def _hash(password: str) -> str:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise EvalkitError(
            f"password must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters, "
            f"got {len(password)}"
        )
    with _HASHING:
        return _hasher().hash(password)


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _of_nobody() -> str:
    return _hasher().hash(secrets.token_hex())
