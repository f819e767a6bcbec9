"""Verdicts of people, from a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.errors import PluginContractError
from evalkit_annotators_judge.declaration import RECORDED, Declaration
from evalkit_annotators_judge.labels import UnknownVerdict, peoples_verdict

COLUMN = "people"
"""The column that holds them."""
WHY = "people-status"
"""The column that says why one does not count."""
COUNT, FOUND = "people-count", "people-id"
"""The columns that say how many a file has, and of which example this one is."""

_IDS = ("id", "uid")


class People(NamedTuple):
    """What people say of responses.

    Attributes:
        verdicts: By the id of the example.
        sha256: Of the file.
    """

    verdicts: Mapping[str, str | float]
    sha256: str


def read_people(path: Path, said: Declaration) -> People:
    """Read what people say of responses."""
    recorded = str(path)
    if recorded.startswith(RECORDED):  # by `verify`, which asks nothing
        return People({}, recorded.removeprefix(RECORDED))
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PluginContractError(f"human_file: {path}: {error}") from error
    found: dict[str, str | float] = {}
    for number, row in _rows(path, text):
        where = f"human_file: {path}, line {number}"
        if "_replication_" in row:
            raise PluginContractError(
                f"{where}: verdicts of replications cannot be told apart by the id; "
                "put them into a field of the predictions, and name it in human"
            )
        uid = _id_of(row, where)
        if uid in found:
            raise PluginContractError(f"{where}: the id {uid!r} stands there twice")
        try:
            verdict = peoples_verdict(row.get("verdict"), said)
        except UnknownVerdict as error:
            raise PluginContractError(f"{where}: verdict {error}") from error
        if verdict is None:
            raise PluginContractError(f"{where}: it has no verdict")
        found[uid] = verdict
    if not found:
        raise PluginContractError(f"human_file: {path} has no rows")
    return People(found, hashlib.sha256(content).hexdigest())


def _id_of(row: Mapping[str, Any], where: str) -> str:
    uid = next((row[name] for name in _IDS if row.get(name) is not None), None)
    if uid is None or (isinstance(uid, str) and not uid.strip()):
        raise PluginContractError(f"{where}: it has no id")
    if isinstance(uid, bool) or not isinstance(uid, str | int):
        raise PluginContractError(f"{where}: its id is no text: {uid!r}")
    return str(uid)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("a key stands there twice")
    return row


def _rows(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if path.suffix == ".csv":
        import csv

        reader = csv.DictReader(StringIO(text, newline=""))
        where = f"human_file: {path}, line"
        try:
            names = reader.fieldnames or ()
            if len({*names}) < len(names):
                raise PluginContractError(f"{where} 1: two columns have one name")
            for row in reader:
                if None in row:
                    raise PluginContractError(
                        f"{where} {reader.line_num}: it has more cells than the header"
                    )
                yield reader.line_num, row
        except csv.Error as error:  # a line counts when it has been read
            raise PluginContractError(
                f"{where} {reader.line_num + 1}: {error}"
            ) from error
        return
    # other ends of lines may stand in texts
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            where = f"human_file: {path}, line {number}"
            raise PluginContractError(f"{where}: it is no JSON: {error}") from error
        yield number, row if isinstance(row, Mapping) else {}
