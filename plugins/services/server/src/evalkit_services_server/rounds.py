"""Rounds of a task's data collection.

A data set joins an open round, and models are evaluated on it. In a closed round, only
models that were evaluated before are evaluated again, such as by a new metric. In a
frozen round nothing is. Round 0 means none.
"""

from __future__ import annotations

from sqlalchemy import Connection, func, select, update

from evalkit.errors import EvalkitError
from evalkit_services_server.database import insert
from evalkit_services_server.tables import ROUND


def open_round(connection: Connection, task_id: int, number: int | None = None) -> int:
    """Open a round, by default the next one, or open a closed one again.

    Returns:
        The id of the round.

    Raises:
        EvalkitError: The number is less than 1, or the round is frozen.
    """
    of_task = ROUND.c.task_id == task_id
    if number is None:
        last = connection.scalar(select(func.max(ROUND.c.number)).where(of_task))
        number = (last or 0) + 1
    if number < 1:
        raise EvalkitError(f"round must be at least 1, got {number}")
    row = {"task_id": task_id, "number": number, "state": "open"}
    statement = insert(connection, ROUND).values(row)
    connection.execute(
        statement.on_conflict_do_nothing(index_elements=["task_id", "number"])
    )
    return _set_state(connection, task_id, number, "open")


def close_round(connection: Connection, task_id: int, number: int) -> int:
    """Close a round: no data set joins it, and no model is new in it.

    Raises:
        EvalkitError: The task has no such round, or it is frozen.
    """
    return _set_state(connection, task_id, number, "closed")


def freeze_round(connection: Connection, task_id: int, number: int) -> int:
    """Freeze a round: its scores stay as they are. It is never opened again.

    Raises:
        EvalkitError: The task has no such round.
    """
    return _set_state(connection, task_id, number, "frozen")


def round_to_join(connection: Connection, task_id: int, number: int) -> int | None:
    """Return the id of the round that a data set joins; None for round 0.

    A round that the task lacks is opened.

    Raises:
        EvalkitError: The round is closed or frozen.
    """
    if number == 0:
        return None
    found = connection.execute(
        select(ROUND).where(ROUND.c.task_id == task_id, ROUND.c.number == number)
    ).first()
    if found is None:
        return open_round(connection, task_id, number)
    if found.state != "open":
        raise EvalkitError(f"round {number} is {found.state}: no dataset can join it")
    return int(found.id)


def _set_state(connection: Connection, task_id: int, number: int, state: str) -> int:
    found = connection.execute(
        select(ROUND).where(ROUND.c.task_id == task_id, ROUND.c.number == number)
    ).first()
    if found is None:
        raise EvalkitError(f"the task has no round {number}")
    if found.state == "frozen" and state != "frozen":
        raise EvalkitError(f"round {number} is frozen")
    connection.execute(update(ROUND).where(ROUND.c.id == found.id).values(state=state))
    return int(found.id)
