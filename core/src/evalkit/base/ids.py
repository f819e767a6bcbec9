"""Ids: what counts as one, under which keys it is found, and how it is spelled."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from evalkit.base.terms import storable
from evalkit.base.violations import REQUIRED, Violation

EXAMPLE_ID_KEYS = ("uid", "id", "_index_")
"""Keys under which an example's id is found; the first one is the canonical one."""

RESPONSE_ID_KEYS = ("id", "uid", "_index_")
"""Keys under which a response's id is found; the first one is the canonical one."""

REPLICATION_KEY = "_replication_"
"""Key under which a response says of which replication it is."""


ASKING_KEYS = ("finish_reason", "thinking")
"""Keys under which `evalkit predict` writes how a reply came, for who reads the file;
no task need declare them."""


def read_id(row: Mapping[str, Any], keys: tuple[str, ...]) -> str | Violation:
    """Find the id of a row under the first of the keys, or say what is wrong with it.

    An id is a text that is not empty, or an integer, which is taken as its decimal
    text. `id` and `uid` must not name two different ids.
    """
    key = next((key for key in keys if key in row), None)
    if key is None:
        return Violation(keys[0], REQUIRED)
    uid = _as_text(key, row[key])
    other = row.get(keys[1]) if key == keys[0] and len(keys) > 1 else None
    if other is None or isinstance(uid, Violation) or str(other) == uid:
        return uid
    rule = f"differs from {key!r} ({uid!r}); remove one, or map a column to {key!r}"
    return Violation(keys[1], rule, other)


def read_replication(response: Mapping[str, Any]) -> str | Violation | None:
    """Find the replication of a response, or say what is wrong with it.

    It is a text that is not empty, or an integer, which is taken as its decimal text.
    """
    value = response.get(REPLICATION_KEY)
    return None if value is None else _as_text(REPLICATION_KEY, value)


def _as_text(key: str, value: Any) -> str | Violation:
    if isinstance(value, str) and value:
        text: str = str.__str__(value)  # a subclass may compare as it likes
        if text.isascii() or storable(text) == text:
            return text
        return Violation(key, "must be a text without half surrogate pairs", value)
    # Integral covers numpy's integers, which are no int
    if isinstance(value, Integral) and not isinstance(value, bool):
        try:
            return str(int(value))
        except ValueError:
            return Violation(key, "must be an integer of fewer digits", value)
    return Violation(key, "must be a text that is not empty or an integer", value)


AS_INTEGERS = "write them as integers, in pandas by astype('Int64')"
"""What to do about ids that are floats."""


RESPONSES_KEY = "responses"
"""Key of the list of alternatives, and name of the scored field that they become."""
