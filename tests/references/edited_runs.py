"""Edits of run folders by somebody who computes the digests anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evalkit
from evalkit.runs.digests import SEAL, SEALED_SINCE, digest_of, sealed
from evalkit.runs.identity import evaluation_id
from evalkit.runs.storage import write_parquet


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write a `run.json`, with digests of itself and of the files beside it.

    Args:
        folder: The run folder.
        record: What it holds; of a format without digests it gets none.
    """
    found = {key: value for key, value in record.items() if key not in (SEAL, "files")}
    if not isinstance(found.get("format"), int) or found["format"] < SEALED_SINCE:
        (folder / "run.json").write_text(json.dumps(found), "utf-8")
        return
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    found["files"] = {
        path.relative_to(folder).as_posix(): digest_of(path.read_bytes()).to_dict()
        for path in paths
        if path.name != "run.json"
    }
    (folder / "run.json").write_bytes(sealed(found))


def seal_again(folder: Path) -> None:
    """Let the record of a run hold the digests of the files that are there now."""
    write_record(folder, json.loads((folder / "run.json").read_bytes()))


def forge(folder: Path) -> None:
    """Make the id and `scores.parquet` of an evaluation those of its record."""
    result = evalkit.read_run(folder)
    (folder / "scores.parquet").unlink()
    write_parquet(result.frame, folder / "scores.parquet")
    run_id = evaluation_id(result.record, ())
    write_record(folder, {**result.to_dict(), "run_id": run_id})


def make_older(folder: Path) -> None:
    """Make a run one of format 2, as the last evalkit without digests wrote it."""
    record = json.loads((folder / "run.json").read_bytes())
    record["format"] = 2
    for component in record["components"]:
        del component["installation"], component["other_byte_code"]
    write_record(folder, record)
    record["run_id"] = evaluation_id(evalkit.read_run(folder).record, ())
    write_record(folder, record)
