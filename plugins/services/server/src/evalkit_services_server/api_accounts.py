"""The API of accounts and tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Response
from sqlalchemy import Connection, select

from evalkit.errors import EvalkitError
from evalkit_services_server import access, accounts
from evalkit_services_server.access import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    Principal,
    UnauthenticatedError,
)
from evalkit_services_server.api import (
    LAST,
    Asking,
    Before,
    Database,
    Key,
    Limit,
    listed,
    one,
    page,
)
from evalkit_services_server.api_types import (
    Account,
    ChangedAccount,
    CreatedToken,
    NewAccount,
    NewToken,
    Token,
)
from evalkit_services_server.database import now, reading, writing
from evalkit_services_server.tables import ACCOUNT, TOKEN

router = APIRouter()


@router.get("/account", response_model=Account, tags=["accounts"])
def show_own_account(asking: Asking, engine: Database) -> Any:
    """Show the account whose token this is."""
    with reading(engine) as connection:
        return _account(connection, _own_id(asking))


@router.get("/accounts", response_model=list[Account], tags=["accounts"])
def list_accounts(
    asking: Asking, engine: Database, before: Before = LAST, limit: Limit = 100
) -> Any:
    """List accounts, the newest first."""
    access.require(asking, "administer")
    with reading(engine) as connection:
        return listed(connection, page(select(ACCOUNT), ACCOUNT, before, limit))


@router.post("/accounts", response_model=Account, status_code=201, tags=["accounts"])
def add_account(given: NewAccount, asking: Asking, engine: Database) -> Any:
    """Add an account."""
    access.require(asking, "administer")
    with writing(engine) as connection:
        try:
            key = accounts.create_account(connection, **given.model_dump())
        except EvalkitError as error:
            raise ConflictError(str(error)) from error
        return _account(connection, key)


@router.patch("/accounts/{key}", response_model=Account, tags=["accounts"])
def change_account(
    key: Key, change: ChangedAccount, asking: Asking, engine: Database
) -> Any:
    """Change the role or password of an account, or close it."""
    access.require(asking, "administer")
    with writing(engine) as connection:
        _account(connection, key)
        accounts.change_account(connection, key, **change.model_dump())
        return _account(connection, key)


@router.get("/tokens", response_model=list[Token], tags=["accounts"])
def list_tokens(asking: Asking, engine: Database) -> Any:
    """List one's own tokens and sessions, without their secrets."""
    with reading(engine) as connection:
        own = TOKEN.c.account_id == _own_id(asking)
        return listed(connection, select(TOKEN).where(own).order_by(TOKEN.c.id))


@router.post("/tokens", response_model=CreatedToken, status_code=201, tags=["accounts"])
def add_token(given: NewToken, asking: Asking, engine: Database) -> Any:
    """Add a token that may do as much as who asks, or less."""
    key = _own_id(asking)
    beyond = sorted({*given.scopes} - asking.scopes)
    if beyond:
        raise ForbiddenError(f"{asking.name} has not the scope {beyond[0]!r} itself")
    with writing(engine) as connection:
        expires = given.days and now(connection) + timedelta(days=given.days)
        token = accounts.create_token(
            connection, key, given.label, given.scopes, expires or None
        )
    return {"token": token}


@router.delete("/tokens/{key}", status_code=204, tags=["accounts"])
def delete_token(key: Key, asking: Asking, engine: Database) -> Response:
    """End a token or session of one's own."""
    own = _own_id(asking)
    with writing(engine) as connection:
        token = connection.scalar(
            select(TOKEN.c.id).where(TOKEN.c.id == key, TOKEN.c.account_id == own)
        )
        if token is None:
            raise NotFoundError(f"token {key}: not found")
        accounts.delete_token(connection, key)
    return Response(status_code=204)


def _own_id(asking: Principal) -> int:
    if asking.account_id is None:
        raise UnauthenticatedError("log in, or send a token: Authorization: Bearer …")
    return asking.account_id


def _account(connection: Connection, key: int) -> dict[str, Any]:
    statement = select(ACCOUNT).where(ACCOUNT.c.id == key)
    return one(connection, statement, f"account {key}")
