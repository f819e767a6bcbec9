"""The API of one's own account and tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fastapi import APIRouter
from sqlalchemy import Select, delete, select

from evalkit_services_server import access, accounts
from evalkit_services_server.access import Principal, RequestError
from evalkit_services_server.api import Asking, Database, Key, Resource
from evalkit_services_server.api_types import CreatedToken, NewToken, OwnAccount
from evalkit_services_server.database import now, writing
from evalkit_services_server.tables import TOKEN

router = APIRouter()


def _own_tokens(asking: Principal) -> Select[Any]:
    return select(TOKEN).where(TOKEN.c.account_id == asking.own_id)


TOKENS = Resource(
    *("tokens", TOKEN, "read", _own_tokens), hidden=("account_id", "digest")
)
TOKENS.offer(router)


@router.get("/account", tags=["tokens"])
def show_own_account(asking: Asking) -> OwnAccount:
    """Show the account whose token this is."""
    return OwnAccount(id=asking.own_id, name=asking.name, scopes=sorted(asking.scopes))


@router.post("/tokens", status_code=201, tags=["tokens"])
def add_token(given: NewToken, asking: Asking, engine: Database) -> CreatedToken:
    """Add a token that may do as much as who asks, or less, and ends no later."""
    access.require(asking, "submit")
    beyond = sorted({*given.scopes} - asking.scopes)
    if beyond:
        raise RequestError(f"{asking.name} has not the scope {beyond[0]!r}", 403)
    with writing(engine) as connection:
        ends = [asking.expires] if asking.expires else []
        if given.days is not None:
            ends.append(now(connection) + timedelta(days=given.days))
        token = accounts.create_token(
            connection,
            asking.own_id,
            given.label,
            given.scopes,
            min(ends, default=None),
        )
    return CreatedToken(token=token)


@router.delete("/tokens/{key}", status_code=204, tags=["tokens"])
def delete_token(key: Key, asking: Asking, engine: Database) -> None:
    """End a token or session of one's own."""
    access.require(asking, "submit")
    with writing(engine) as connection:
        TOKENS.find(connection, asking, key)
        connection.execute(delete(TOKEN).where(TOKEN.c.id == key))
