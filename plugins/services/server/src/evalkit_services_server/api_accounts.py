"""The API of accounts and tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Response
from sqlalchemy import Select, select

from evalkit_services_server import access, accounts
from evalkit_services_server.access import Principal, RequestError
from evalkit_services_server.api import Asking, Database, Key, Resource
from evalkit_services_server.api_types import (
    ChangedAccount,
    CreatedToken,
    NewAccount,
    NewToken,
)
from evalkit_services_server.database import now, reading, writing
from evalkit_services_server.tables import ACCOUNT, TOKEN

router = APIRouter()


def _own_tokens(asking: Principal) -> Select[Any]:
    return select(TOKEN).where(TOKEN.c.account_id == asking.own_id)


ACCOUNTS = Resource(
    *("accounts", ACCOUNT, "administer", lambda _asking: select(ACCOUNT)),
    hidden=("password",),
    filters={"name": ACCOUNT.c.name},
)
TOKENS = Resource(
    *("tokens", TOKEN, "read", _own_tokens), hidden=("account_id", "digest")
)
for resource in (ACCOUNTS, TOKENS):
    resource.offer(router)


@router.get("/account", response_model=ACCOUNTS.answer, tags=["accounts"])
def show_own_account(asking: Asking, engine: Database) -> Any:
    """Show the account whose token this is."""
    with reading(engine) as connection:
        return ACCOUNTS.find(connection, asking, asking.own_id)


@router.post(
    "/accounts", response_model=ACCOUNTS.answer, status_code=201, tags=["accounts"]
)
def add_account(given: NewAccount, asking: Asking, engine: Database) -> Any:
    """Add an account."""
    access.require(asking, "administer")
    with writing(engine) as connection:
        key = accounts.create_account(connection, **given.model_dump())
        return ACCOUNTS.find(connection, asking, key)


@router.patch("/accounts/{key}", response_model=ACCOUNTS.answer, tags=["accounts"])
def change_account(
    key: Key, change: ChangedAccount, asking: Asking, engine: Database
) -> Any:
    """Change the role or password of an account, or close it."""
    access.require(asking, "administer")
    with writing(engine) as connection:
        accounts.change_account(connection, key, **change.model_dump())
        return ACCOUNTS.find(connection, asking, key)


@router.post("/tokens", response_model=CreatedToken, status_code=201, tags=["tokens"])
def add_token(given: NewToken, asking: Asking, engine: Database) -> Any:
    """Add a token that may do as much as who asks, or less."""
    access.require(asking, "submit")
    beyond = sorted({*given.scopes} - asking.scopes)
    if beyond:
        raise RequestError(f"{asking.name} has not the scope {beyond[0]!r}", 403)
    with writing(engine) as connection:
        expires = given.days and now(connection) + timedelta(days=given.days)
        token = accounts.create_token(
            connection, asking.own_id, given.label, given.scopes, expires or None
        )
    return {"token": token}


@router.delete("/tokens/{key}", status_code=204, tags=["tokens"])
def delete_token(key: Key, asking: Asking, engine: Database) -> Response:
    """End a token or session of one's own."""
    access.require(asking, "submit")
    with writing(engine) as connection:
        TOKENS.find(connection, asking, key)
        accounts.delete_token(connection, key)
    return Response(status_code=204)
