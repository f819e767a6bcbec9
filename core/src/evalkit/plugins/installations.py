"""Compares the files of an installed distribution with its `RECORD`."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.metadata
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

_BY_INSTALLERS = re.compile(
    r".*\.dist-info/(RECORD.*|INSTALLER|REQUESTED|direct_url\.json|uv_\w+\.json)"
)
"""Files that tell how and when it was installed, and differ between machines."""

_HASHES = ("sha256", "sha384", "sha512")


def describe_installation(name: str) -> dict[str, Any]:
    """Say what of a distribution is as its `RECORD` says, and where it came from.

    Args:
        name: The distribution's name.

    Returns:
        Its kind and source; of one that is installed with a `RECORD` also a SHA-256
        over the files that are named there, and the names of those that differ, are
        missing, or lie in its packages without being named.
    """
    try:
        found = importlib.metadata.distribution(name)
        source, is_editable = _source(found.read_text("direct_url.json"))
        record = found.read_text("RECORD")
        if is_editable or not record:
            return {"kind": "editable" if is_editable else "unrecorded", **source}
        lines = [line for line in csv.reader(record.splitlines()) if line]
        named = {line[0]: ",".join(line[1:2]) for line in lines}
        files = {each: Path(str(found.locate_file(each))) for each in named}
        return {"kind": "installed", **source, **_compared(named, files)}
    except Exception:  # no distribution, or with metadata that nobody can read
        return {"kind": "unreadable"}


def _source(text: str | None) -> tuple[dict[str, Any], bool]:
    """Read `direct_url.json`, but for the address: it may hold a folder or a token."""
    if text is None:
        return {"source": None}, False
    found = json.loads(text)
    vcs, archive = found.get("vcs_info"), found.get("archive_info")
    if vcs is not None:
        source = {"kind": str(vcs["vcs"]), "commit": str(vcs["commit_id"])}
    elif archive is not None:
        hashes = [f"{key}={value}" for key, value in archive.get("hashes", {}).items()]
        given = archive.get("hash") or ",".join(sorted(hashes))
        source = {"kind": "archive", **({"hash": str(given)} if given else {})}
    else:
        source = {"kind": "folder"}
    return {"source": source}, bool((found.get("dir_info") or {}).get("editable"))


def _compared(named: Mapping[str, str], files: Mapping[str, Path]) -> dict[str, Any]:
    differing, missing, digest = [], [], hashlib.sha256()
    for name in sorted(named):
        if name.endswith(".pyc"):  # Python writes it anew
            continue
        path, (algorithm, _, expected) = files[name], named[name].partition("=")
        if not path.is_file():
            missing.append(_shown(name))
            continue
        algorithm = algorithm if algorithm in _HASHES else ""
        found = _hash_of(path, algorithm or "sha256")
        if algorithm and _encoded(found) != expected.rstrip("="):
            differing.append(_shown(name))
        is_outside = name.startswith(("../", "/"))  # launchers name the interpreter
        if not is_outside and not _BY_INSTALLERS.fullmatch(name):
            digest.update(name.encode("utf-8", "surrogatepass") + b"\0" + found)
    return {
        "sha256": digest.hexdigest(),
        "differing": differing,
        "missing": missing,
        "unnamed": sorted(_unnamed(named, files)),
    }


def _hash_of(path: Path, algorithm: str) -> bytes:
    status = path.stat()
    return _hash(
        path, algorithm, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    )


@lru_cache(maxsize=4096)
def _hash(path: Path, algorithm: str, *_status: int) -> bytes:
    """Hash a file, once while it stays as it is: plugins share distributions."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).digest()


def _encoded(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _shown(name: str) -> str:
    """Return a name without its folder where it is a path of this machine."""
    is_path = name.startswith("/") or Path(name).is_absolute()
    return PurePosixPath(name).name if is_path else name


def _unnamed(named: Mapping[str, str], files: Mapping[str, Path]) -> Iterator[str]:
    """Find files in the packages of a distribution that it does not name."""
    packages = {
        name.rpartition("/")[0]
        for name in named
        if name.endswith("/__init__.py") and not name.startswith(("../", "/"))
    }
    for package in packages:
        if any(package.startswith(f"{other}/") for other in packages):
            continue
        folder = files[f"{package}/__init__.py"].parent
        for root, folders, names in os.walk(folder):
            folders[:] = [each for each in folders if each != "__pycache__"]
            within = Path(root).relative_to(folder).as_posix()
            prefix = package if within == "." else f"{package}/{within}"
            found = (f"{prefix}/{name}" for name in names)
            yield from (name for name in found if name not in named)
