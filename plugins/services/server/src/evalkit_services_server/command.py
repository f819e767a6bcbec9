"""`evalkit serve` and `evalkit work`."""

from __future__ import annotations

import click


@click.command("serve")
@click.option("--with-worker", is_flag=True, help="Evaluate in this process, too.")
def serve_command(with_worker: bool) -> None:
    """Serve boards, data sets and models, and scan the data sets at the start."""
    import uvicorn

    from evalkit_services_server.app import make_app
    from evalkit_services_server.database import connect, migrate
    from evalkit_services_server.settings import Settings

    settings = Settings()
    migrate(connect(settings))
    uvicorn.run(make_app(settings), host=settings.host, port=settings.port)


@click.command("work")
@click.option("-j", "--jobs", default=1, show_default=True, help="Processes.")
def work_command(jobs: int) -> None:
    """Evaluate what is requested."""
