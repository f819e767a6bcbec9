"""Writes the folder of a site, and replaces one of an earlier time as a whole."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

from evalkit.errors import StorageError

MANIFEST = "evalkit-site.json"
"""The file by which a site is known; it lists the other files."""


def check_replaceable(folder: Path) -> None:
    """Refuse a folder that holds files that are not of a site."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise StorageError(f"{folder}: expected a folder, got a file. Use another name")
    present = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if not path.is_dir() or path.is_symlink()
    }
    foreign = sorted(present - _listed(folder / MANIFEST) - {MANIFEST})
    if foreign:
        raise StorageError(
            f"{folder}: expected a site made by evalkit or an empty folder, got "
            f"{foreign[0]} among {len(present)} files. Use another folder, or move "
            "them away"
        )


def _listed(manifest: Path) -> set[str]:
    """Return the files of a site; none for a folder that is not a site."""
    try:
        return set(json.loads(manifest.read_bytes())["files"])
    except FileNotFoundError:
        return set()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StorageError(
            f"{manifest}: not the manifest of a site: {error}"
        ) from error


def write_site(folder: Path, files: Iterable[tuple[str, str]]) -> list[str]:
    """Write the files of a site beside its place, then move them there.

    If it fails, an earlier site is still there. Returns the paths of the files.
    """
    folder = folder.resolve()
    token = secrets.token_hex(4)
    new, old = (
        folder.with_name(f".{folder.name}-{token}.{end}") for end in ("new", "old")
    )
    written = []
    try:
        for name, text in files:
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as stream:
                stream.write(text.encode("utf-8", "backslashreplace"))
            written.append(name)
        listed = json.dumps({"files": sorted(written)}, indent=0)
        (new / MANIFEST).write_text(f"{listed}\n", encoding="utf-8")
        check_replaceable(folder)
        _replace(folder, new, old)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return written


def _replace(folder: Path, new: Path, old: Path) -> None:
    if not folder.exists():
        new.rename(folder)
        return
    folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    shutil.rmtree(old)
