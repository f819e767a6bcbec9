"""The web application: the API and the pages over one database."""

from __future__ import annotations

import ipaddress
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy import text
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evalkit.errors import EvalkitError
from evalkit_services_server import access, api, pages
from evalkit_services_server.access import FAULTS, RateLimit, RequestError, explain
from evalkit_services_server.api_types import Refusal
from evalkit_services_server.database import connect, reading
from evalkit_services_server.settings import Settings

API = "/api/v1"
LARGEST_BODY = 1 << 20
"""Bytes of a request other than an upload."""

REFUSALS: dict[int | str, dict[str, Any]] = {"4XX": {"model": Refusal}}

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; "
    "style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


def make_app(settings: Settings) -> FastAPI:
    """Return the application; its state holds the settings and the database."""
    check_exposure(settings)
    app = FastAPI(
        title="evalkit",
        max_body_size=LARGEST_BODY,
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{API}/openapi.json",
    )
    app.state.settings = settings
    app.state.engine = connect(settings)
    app.state.limits = RateLimit()
    app.include_router(api.router, prefix=API, responses=REFUSALS)
    app.include_router(pages.router)
    app.add_api_route("/health", health, tags=["health"])
    for error in (EvalkitError, RequestValidationError, *FAULTS):
        app.add_exception_handler(error, _refuse)
    app.add_middleware(_Guarded, settings=settings)
    return app


def check_exposure(settings: Settings) -> None:
    """Refuse to serve others than this machine without https."""
    try:
        is_local = ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        is_local = settings.host == "localhost"
    if not is_local and not settings.is_behind_https:
        raise EvalkitError(
            "EVALKIT_SERVER_IS_BEHIND_HTTPS: true is required to listen on "
            f"{settings.host}, behind a proxy with https"
        )


def health(request: Request) -> dict[str, str]:
    """Tell whether the server reaches its database."""
    with reading(request.app.state.engine) as connection:
        connection.execute(text("SELECT 1"))
    return {"status": "ok"}


def _refuse(request: Request, error: Exception) -> Response:
    """Explain an error: the API as JSON, and pages as a page."""
    (status, detail), headers = explain(error), dict[str, str]()
    problems = getattr(error, "problems", ())
    if isinstance(error, RequestError) and error.retry_after is not None:
        headers["retry-after"] = str(error.retry_after)
    if not request.url.path.startswith(API):
        return pages.explain_error(request, error, status, detail, headers)
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    body = {"detail": detail, **({"problems": problems} if problems else {})}
    return JSONResponse(body, status, headers)


class _Guarded:
    """Refuses what another site's page sends, and adds headers to what is answered."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._headers = dict(HEADERS)
        if settings.is_behind_https:
            self._headers["strict-transport-security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        site = headers.get("origin", f"://{headers.get('host')}").partition("://")[2]
        app = self._app
        if scope["method"] not in access.SAFE_METHODS and site != headers.get("host"):
            app = JSONResponse({"detail": "sent by a page of another site"}, 403)
        await app(scope, receive, send_with_headers)
