"""How often an account or address may ask, and what an account may use in a day."""

from __future__ import annotations

from collections import Counter
from threading import Lock
from time import time

from sqlalchemy import Connection

from evalkit_services_server.access import RequestError
from evalkit_services_server.database import insert, now
from evalkit_services_server.tables import QUOTA

MINUTE = 60


class RateLimit:
    """Counts what is asked in each minute of the clock, in this process.

    Args:
        most: Requests of one subject in a minute.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._minute = 0
        self._counts: Counter[str] = Counter()

    def count(self, subject: str) -> None:
        """Count a request.

        Raises:
            RequestError: The subject has asked too often in this minute.
        """
        moment = time()
        minute = int(moment // MINUTE)
        with self._lock:
            if minute != self._minute:
                self._minute, self._counts = minute, Counter()
            self._counts[subject] += 1
            is_too_often = self._counts[subject] > self._most
        if is_too_often:
            left = MINUTE - int(moment % MINUTE)
            message = f"more than {self._most} requests in a minute"
            raise RequestError(message, 429, retry_after=left)


def spend(connection: Connection, account_id: int, subject: str, most: int) -> None:
    """Count a use of a day's quota; the transaction that is undone takes it back.

    Args:
        connection: A transaction that writes.
        account_id: Whose quota it is.
        subject: Of what, such as `submissions`, or those to one private dataset.
        most: Uses a day.

    Raises:
        RequestError: The quota is used up.
    """
    moment = now(connection)
    values = {"account_id": account_id, "day": moment.date().isoformat()}
    counted = insert(connection, QUOTA).values(**values, subject=subject, used=1)
    used = connection.scalar(
        counted.on_conflict_do_update(
            index_elements=["account_id", "day", "subject"],
            set_={"used": QUOTA.c.used + 1},
            where=QUOTA.c.used < most,
        ).returning(QUOTA.c.used)
    )
    if used is None:
        left = 86_400 - moment.hour * 3600 - moment.minute * 60
        message = f"quota of {most} {subject} a day is used up until 00:00 UTC"
        raise RequestError(message, 429, retry_after=left)
