"""Verdicts of people, from a file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalkit.errors import PluginContractError

COLUMN = "people"
"""The column that holds them."""

_IDS = ("id", "uid")


def read_people(path: Path) -> dict[str, Any]:
    """Read what people say of responses, by the id of the example.

    Args:
        path: A file of JSON lines or CSV with `id` and `verdict`.

    Raises:
        PluginContractError: It cannot be read, or an id or a verdict is lacking.
    """
    found: dict[str, Any] = {}
    for number, row in _rows(path):
        where = f"human_file: {path}, line {number}"
        uid = next((row[name] for name in _IDS if row.get(name) is not None), None)
        if uid is None:
            raise PluginContractError(f"{where}: it has no id")
        verdict = row.get("verdict")
        if not isinstance(verdict, str | int | float) or verdict == "":
            raise PluginContractError(f"{where}: it has no verdict")
        if str(uid) in found:
            raise PluginContractError(f"{where}: the id {uid!r} stands there twice")
        found[str(uid)] = verdict
    if not found:
        raise PluginContractError(f"human_file: {path} has no rows")
    kinds = {isinstance(verdict, str) for verdict in found.values()}
    if len(kinds) > 1:
        raise PluginContractError(f"human_file: {path} has texts and numbers")
    if kinds == {False}:
        return {uid: float(verdict) for uid, verdict in found.items()}
    return found


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PluginContractError(f"human_file: {path}: {error}") from error
    if path.suffix == ".csv":
        import csv

        for number, row in enumerate(csv.DictReader(text.splitlines()), start=2):
            yield number, {**row, "verdict": _read(row.get("verdict"))}
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            where = f"human_file: {path}, line {number}"
            raise PluginContractError(f"{where}: it is no JSON: {error}") from error
        yield number, row if isinstance(row, Mapping) else {}


def _read(text: str | None) -> str | float | None:
    """Return a cell as a number where it is one."""
    try:
        return float(text or "")
    except ValueError:
        return text
