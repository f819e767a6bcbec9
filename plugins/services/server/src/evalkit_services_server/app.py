"""The web application: the API and the pages over one database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit_services_server.database import connect
from evalkit_services_server.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI


def make_app(settings: Settings) -> FastAPI:
    """Return the application; its state holds the settings and the database.

    Args:
        settings: What the host set.

    Returns:
        The application, whose tables `migrate` has made before.
    """
    from fastapi import FastAPI

    app = FastAPI(title="evalkit", docs_url=None, redoc_url=None)
    app.state.settings = settings
    app.state.engine = connect(settings)
    return app
