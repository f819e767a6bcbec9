"""`evalkit serve` and `evalkit work`."""

from __future__ import annotations

import click


@click.command("serve")
@click.option("--with-worker", is_flag=True, help="Also evaluate, in one process.")
def serve_command(with_worker: bool) -> None:
    """Serve leaderboards, datasets and models. Scan the datasets at the start."""
    from multiprocessing import get_context
    from threading import Thread

    import uvicorn

    from evalkit_services_server.app import make_app
    from evalkit_services_server.database import connect, migrate
    from evalkit_services_server.scan import scan_and_log
    from evalkit_services_server.settings import Settings
    from evalkit_services_server.workers import work

    settings = Settings()
    engine = connect(settings)
    migrate(engine)
    Thread(target=scan_and_log, args=(engine, settings), daemon=True).start()
    worker = get_context("spawn").Process(target=work, args=(settings, 1))
    if with_worker:  # it also stops by itself when this process is killed
        worker.start()
    try:
        host, port = settings.host, settings.port
        uvicorn.run(make_app(settings), host=host, port=port, server_header=False)
    finally:
        if with_worker:
            worker.terminate()


@click.command("work")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Maximum concurrent evaluations.",
)
def work_command(jobs: int) -> None:
    """Run the requested evaluations."""
    from evalkit_services_server.database import opened
    from evalkit_services_server.settings import Settings
    from evalkit_services_server.workers import work

    with opened(Settings()):
        work(Settings(), jobs)
