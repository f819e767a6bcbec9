"""Rounds of a task's data collection.

A dataset joins an open round, and models are evaluated on it. In a closed round, only
models that were evaluated before are evaluated again, such as by a new metric. In a
frozen round nothing is. Round 0 means none.
"""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from evalkit.errors import EvalkitError
from evalkit_services_server.database import insert
from evalkit_services_server.tables import ROUND


def set_round(connection: Connection, task_id: int, number: int, state: str) -> int:
    """Open, close or freeze a round, and return its id; one that is opened is made.

    Raises:
        EvalkitError: The task has no such round, or it is frozen.
    """
    if number < 1:
        raise EvalkitError(f"round must be at least 1, got {number}")
    if state == "open":
        row = {"task_id": task_id, "number": number, "state": state}
        made = insert(connection, ROUND).values(row)
        connection.execute(made.on_conflict_do_nothing())
    chosen = ROUND.c.task_id == task_id, ROUND.c.number == number
    found = connection.execute(select(ROUND).where(*chosen)).first()
    if found is None:
        raise EvalkitError(f"the task has no round {number}")
    if found.state == "frozen" != state:
        raise EvalkitError(f"round {number} is frozen")
    connection.execute(update(ROUND).where(*chosen).values(state=state))
    return int(found.id)


def round_to_join(connection: Connection, task_id: int, number: int) -> int | None:
    """Return the id of the open round that a dataset joins; None for 0.

    Raises:
        EvalkitError: The round is closed or frozen.
    """
    if number == 0:
        return None
    chosen = ROUND.c.task_id == task_id, ROUND.c.number == number
    state = connection.scalar(select(ROUND.c.state).where(*chosen)) or "open"
    if state != "open":
        raise EvalkitError(f"round {number} is {state}: no dataset can join it")
    return set_round(connection, task_id, number, state)
