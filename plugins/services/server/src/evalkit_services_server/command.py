"""`evalkit serve` and `evalkit work`."""

from __future__ import annotations

import click


@click.command("serve")
@click.option("--with-worker", is_flag=True, help="Also evaluate, in one process.")
def serve_command(with_worker: bool) -> None:
    """Serve leaderboards, datasets and models. Scan the datasets at the start.

    Settings such as EVALKIT_SERVER_DATABASE, EVALKIT_SERVER_STORE and
    EVALKIT_SERVER_PORT are listed in docs/server.md.
    """
    import logging
    from multiprocessing import get_context
    from threading import Thread

    import uvicorn

    from evalkit.errors import EvalkitError
    from evalkit_services_server.app import make_app
    from evalkit_services_server.database import connect, migrate
    from evalkit_services_server.scan import scan_and_log
    from evalkit_services_server.settings import Settings
    from evalkit_services_server.workers import work

    settings = Settings()
    engine = connect(settings)
    migrate(engine)
    logging.basicConfig(level=logging.INFO)
    host, port = settings.host, settings.port
    config = uvicorn.Config(make_app(settings), host, port, server_header=False)
    server = uvicorn.Server(config)
    Thread(target=scan_and_log, args=(engine, settings), daemon=True).start()
    if not with_worker:
        server.run()
        return
    worker = get_context("spawn").Process(target=work, args=(settings, 1))

    def end_with_worker() -> None:
        worker.join()
        server.should_exit = True

    worker.start()  # it also stops by itself when this process is killed
    Thread(target=end_with_worker, daemon=True).start()
    try:
        server.run()
        if worker.exitcode is not None:
            raise EvalkitError(f"the worker ended (exit code {worker.exitcode})")
    finally:
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
    from evalkit_services_server.workers import work

    with opened() as (_, settings):
        work(settings, jobs)
