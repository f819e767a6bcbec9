"""Edits of run folders by somebody who computes the digests anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evalkit
from evalkit.runs.identity import fingerprint_of
from evalkit.runs.recorded import FileDigest
from evalkit.runs.storage import write_parquet


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write a `run.json`, with digests of the files beside it.

    Args:
        folder: The run folder.
        record: What it holds.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {
        path.relative_to(folder).as_posix(): FileDigest.of(path.read_bytes()).to_dict()
        for path in paths
        if path.name != "run.json"
    }
    text = json.dumps({**record, "files": files})
    (folder / "run.json").write_text(text, "utf-8")


def seal_again(folder: Path) -> None:
    """Let the record of a run hold the digests of the files that are there now."""
    write_record(folder, json.loads((folder / "run.json").read_bytes()))


def forge(folder: Path) -> None:
    """Make the id and `scores.parquet` of an evaluation those of its record."""
    result = evalkit.read_run(folder)
    (folder / "scores.parquet").unlink()
    write_parquet(result.frame, folder / "scores.parquet")
    fingerprint = fingerprint_of(result.record)
    write_record(folder, {**result.to_dict(), "fingerprint": fingerprint})
