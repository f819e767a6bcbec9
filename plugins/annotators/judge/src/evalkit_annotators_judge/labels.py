"""Which verdicts a judge can give, and which of them people mean."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.errors import PluginContractError
from evalkit_annotators_judge.declaration import RECORDED, Declaration
from evalkit_annotators_judge.parsing import (
    CORRECT,
    INCORRECT,
    LOSS,
    MET,
    NOT_MET,
    TIE,
    WIN,
)

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


def default_metrics(said: Declaration) -> list[str]:
    """Return what is computed of a judge, `{name}` standing for what it is called."""
    kind = "judge-rate" if is_share(said) else "judge-mean"
    found = [f"{kind}:of={{name}}"]
    found += [f"{kind}:of={{name}}.{each.name}" for each in said.criteria]
    part = "label" if has_labels(said) else "value"
    level = "" if part == "label" else "level=interval,"
    if said.pair is not None and said.pair.swap:
        judges = (
            [f".{each.name}" for each in said.judges] if len(said.judges) > 1 else [""]
        )
        found += [f"judge-order:of={{name}}{each}" for each in judges]
    if len(said.judges) > 1:
        found += [f"{kind}:of={{name}}.{each.name}" for each in said.judges]
        columns = "/".join(f"{{name}}.{each.name}-{part}" for each in said.judges)
        found.append(f"krippendorff-alpha:{level}of={columns}")
    if said.human or said.human_file:
        both = f"{{name}}.{part}/{{name}}.people"
        found.append(f"judge-agreement:of={both}")
        found.append(f"krippendorff-alpha:{level}of={both}")
    return found


def is_share(said: Declaration) -> bool:
    """Tell whether all values are from 0 to 1."""
    rule = said.verdict
    bounds = [*(rule.values or {}).values(), *(rule.range or ())]
    return all(0 <= each <= 1 for each in bounds)


def has_labels(said: Declaration) -> bool:
    """Tell whether verdicts, also combined ones, are labels."""
    rule = said.verdict
    is_many = bool(said.criteria_field) or len(said.criteria) > 1
    is_number = rule.kind == "number" or (rule.kind == "json" and bool(rule.range))
    is_number |= rule.kind == "pair" and bool(rule.values)
    return not (is_many or is_number or said.combine == "mean")


class UnknownVerdict(ValueError):
    """A verdict that a judge cannot give."""


def labels_of(said: Declaration) -> tuple[str, ...] | None:
    """Return the labels of a judge; None where its verdicts are numbers."""
    if not has_labels(said):
        return None
    if said.verdict.values:
        return tuple(said.verdict.values)
    usual = {"pair": (WIN, TIE, LOSS), "correct": (CORRECT, INCORRECT)}
    return usual.get(said.verdict.kind, (MET, NOT_MET))


def peoples_verdict(given: Any, said: Declaration) -> str | float | None:
    """Return what people say in the judge's words, without blanks at both ends."""
    text = given.strip() if isinstance(given, str) else given
    if text is None or text == "":
        return None
    labels = labels_of(said)
    if labels is None:
        return _number(text, said)
    if isinstance(text, bool) and labels == (MET, NOT_MET):
        return MET if text else NOT_MET
    if isinstance(text, int | float) and not isinstance(text, bool):
        text = str(text) if isinstance(text, int) else f"{text:.17g}"
    if text not in labels:
        known = ", ".join(map(repr, labels))
        raise UnknownVerdict(f"{given!r} is none of the judge's, which are {known}")
    return str(text)


def _number(given: Any, said: Declaration) -> float:
    try:
        number = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise UnknownVerdict(f"{given!r} is no number, which the judge gives")
    limits = (
        None if said.criteria_field or len(said.criteria) > 1 else said.verdict.range
    )
    if limits is not None and not limits[0] <= number <= limits[1]:
        raise UnknownVerdict(f"{given!r} is out of the judge's range")
    return number
