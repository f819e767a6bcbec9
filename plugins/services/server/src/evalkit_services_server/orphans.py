"""Run folders of attempts that were never recorded."""

from __future__ import annotations

import logging
from pathlib import Path

from sqlalchemy import Engine, select

from evalkit_services_server.database import reading
from evalkit_services_server.evaluation import remove_attempt
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import JOB, RUN

LOG = logging.getLogger(__name__)


def sweep(engine: Engine, settings: Settings) -> list[str]:
    """Remove runs of attempts that lost their jobs.

    A bucket is only looked at: its orphans are logged, for the host to delete.

    Returns:
        The names of the orphans, `JOB-ATTEMPT`.
    """
    found = written_attempts(settings)
    with reading(engine) as connection:
        recorded = connection.execute(select(JOB.c.id, JOB.c.attempt).join(RUN))
        running = select(JOB.c.id, JOB.c.attempt).where(JOB.c.state == "running")
        kept = {*map(tuple, recorded), *map(tuple, connection.execute(running))}
    names = {f"{job_id}-{attempt}" for job_id, attempt in kept}
    orphans = sorted(found - names)
    for name in orphans:
        LOG.warning("runs/%s: orphan of an attempt that lost its job", name)
        remove_attempt(settings, name)
    return orphans


def written_attempts(settings: Settings) -> set[str]:
    """Return the names of the attempts that wrote something."""
    from evalkit.places import join, names_below

    if "://" in settings.store:
        below = names_below(join(settings.store, "runs"))
        return {name.partition("/")[0] for name in below}
    folder = Path(settings.store, "runs")
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()
