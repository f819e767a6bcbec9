"""How often an account or address may ask, and what an account may use in a day."""

from __future__ import annotations

from collections import Counter
from time import time

from sqlalchemy import Connection

from evalkit_services_server.access import RequestError
from evalkit_services_server.database import insert, now
from evalkit_services_server.tables import QUOTA


class RateLimit:
    """Counts requests in each minute of the clock, in this process."""

    def __init__(self) -> None:
        self._minute = 0
        self._counts = Counter[str]()

    def count(self, subject: str, most: int) -> None:
        """Count a request."""
        minute, second = divmod(int(time()), 60)
        if minute != self._minute:
            self._minute, self._counts = minute, Counter()
        self._counts[subject] += 1
        if self._counts[subject] > most:
            message = f"more than {most} requests in a minute"
            raise RequestError(message, 429, retry_after=60 - second)


def spend(connection: Connection, account_id: int, subject: str, most: int) -> None:
    """Count a use of a day's quota; the transaction that is undone takes it back."""
    day = now(connection).date().isoformat()
    row = {"account_id": account_id, "day": day, "subject": subject, "used": 1}
    counted = insert(connection, QUOTA).values(row)
    counted = counted.on_conflict_do_update(
        index_elements=["account_id", "day", "subject"],
        set_={"used": QUOTA.c.used + 1},
        where=QUOTA.c.used < most,
    )
    if connection.scalar(counted.returning(QUOTA.c.used)) is None:
        message = f"quota of {most} {subject} a day is used up until 00:00 UTC"
        raise RequestError(message, 429)
