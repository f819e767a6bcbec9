"""Edits of run folders by somebody who computes the digests anew."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import evalkit
from evalkit.runs.folders import write_parquet
from evalkit.runs.recorded import FileDigest
from evalkit.runs.recording import fingerprint_of
from evalkit.runs.score_columns import scores_frame


def read_everything(folder: Path) -> dict[str, Any]:
    """Return the record of a run, with its scores."""
    everything: dict[str, Any] = json.loads(
        json.dumps(evalkit.read_run(folder).to_dict())
    )
    return everything


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write a `run.json`, with digests of the files beside it.

    Args:
        folder: The run folder.
        record: What it holds; with `scores`, `scores.parquet` holds those.
    """
    record = dict(record)
    if scores := record.pop("scores", None):
        (folder / "scores.parquet").unlink()
        rows = [evalkit.Score(**score) for score in scores]
        write_parquet(scores_frame(rows), folder / "scores.parquet")
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
    """Make the id of an evaluation that of its record."""
    record = evalkit.read_run(folder).record
    write_record(folder, {**record.to_dict(), "fingerprint": fingerprint_of(record)})
