"""Publishes data sets, predictions and runs under the layout of a benchmark host.

```
datasets/<task>/<name>.jsonl                  a data set
datasets/<task>/<prefix>-<name>.jsonl         perturbed copies of it
predictions/<model>/<task>/<name>.jsonl       a model's predictions for it
runs/<data set>/<run id>/                     a run
```

The layout of data sets is Dynabench's. Beside each file lies `<name>.manifest.json`:
its rows, size and SHA-256, and of a data set the version and licence.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.errors import EvalkitError, ObjectExistsError, StorageError
from evalkit.storage import (
    ALWAYS,
    join,
    refuse_offline,
    refuse_present,
    send_file,
    store_of,
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")

_NAMED_BY = {
    "data set": "; --name gives another one",
    "model": "; --model gives another one",
}


class Published(NamedTuple):
    """What became of one file that was to be published."""

    uri: str
    rows: int | None
    """None for a run, which is a folder."""
    size: int | None
    sha256: str | None
    state: str
    """`written`, `there` (the same was there already), or `would be written`."""


class Publication(NamedTuple):
    """What is to be published."""

    path: Path
    folder: str
    """URI of the folder."""
    name: str
    """Of the file, without `.jsonl`."""
    rows: int
    facts: Mapping[str, Any]
    """What the manifest says beside."""


def legal_name(what: str, name: str) -> str:
    """Refuse a name that cannot be a part of a URI.

    Args:
        what: What it is the name of.
        name: The name.

    Raises:
        EvalkitError: It holds other characters than letters, digits, `.`, `-`, `_`.
    """
    if _NAME.fullmatch(name):
        return name
    raise EvalkitError(
        f"{name!r} cannot be published as the name of the {what}: it may hold letters, "
        f"digits, dots, dashes and underscores{_NAMED_BY.get(what, '')}"
    )


def publish(publication: Publication, *, overwrite: bool, dry_run: bool) -> Published:
    """Publish a file with its manifest, unless the same is there already.

    Args:
        publication: What is to be published.
        overwrite: Whether another file that is there may be replaced.
        dry_run: Look only, and write nothing.

    Returns:
        What became of it.

    Raises:
        ObjectExistsError: Another file is there.
        StorageError: It cannot be written.
    """
    refuse_offline(publication.folder)
    with publication.path.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    size = publication.path.stat().st_size
    uri = join(publication.folder, f"{publication.name}.jsonl")
    option = "--model" if "model" in publication.facts else "--name"
    state = _state(uri, size, sha256, overwrite, option)
    manifest = {
        "file": f"{publication.name}.jsonl",
        "rows": publication.rows,
        "bytes": size,
        "sha256": sha256,
        **publication.facts,
    }
    if not dry_run:
        if state != "there":
            refuse_present(uri, overwrite=overwrite)
            send_file(publication.path, uri, overwrite=overwrite, sha256=sha256)
        place = join(publication.folder, f"{publication.name}.manifest.json")
        # of the same rows another manifest may say more: it stays
        if state != "there" or store_of(place).stat(place) is None:
            _put_manifest(place, manifest)
        state = state if state == "there" else "written"
    return Published(uri, publication.rows, size, sha256, state)


def _state(uri: str, size: int, sha256: str, overwrite: bool, option: str) -> str:
    found = store_of(uri).stat(uri)
    if found is None:
        return "would be written"
    if found.size == size and _sha256_of(uri, found.digest) == sha256:
        return "there"
    if overwrite:
        return "would be written"
    raise ObjectExistsError(
        f"{uri}: another file is there already; choose another name ({option}), or "
        "say that it may be replaced (--overwrite)"
    )


def _sha256_of(uri: str, digest: str | None) -> str:
    """Return the SHA-256 of an object, which is read where none is recorded."""
    if digest and digest.startswith("sha256:"):
        return digest.removeprefix("sha256:")
    from evalkit.storage import fetch_file

    path = fetch_file(uri)
    if path is None:
        return ""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _put_manifest(uri: str, manifest: Mapping[str, Any]) -> None:
    with tempfile.TemporaryDirectory(prefix="evalkit-publish-") as folder:
        path = Path(folder) / "manifest.json"
        path.write_text(f"{json.dumps(manifest, indent=2)}\n", encoding="utf-8")
        store_of(uri).put(path, uri, ALWAYS)


def data_set(
    given: str,
    root: str,
    staging: Path,
    *,
    task: str | None,
    split: str | None,
    name: str | None,
    prefix: str | None,
) -> Publication:
    """Prepare a data set, or perturbed copies of one.

    Args:
        given: Name of an installed data set, or a file of examples or copies.
        root: URI of the bucket, or of a folder in it.
        staging: An empty folder for the rows.
        task: The task of a file.
        split: The split of a data set.
        name: What it is published as; by default its own name.
        prefix: The prefix of perturbed copies, such as `fairness`.

    Returns:
        What is to be published.

    Raises:
        EvalkitError: The rows cannot be loaded, or a name is illegal.
    """
    from evalkit.catalog import is_file_name, model_name
    from evalkit.reporting import load_whole_rows

    found = load_whole_rows(given, task=task, split=split)
    own = model_name(Path(given)) if is_file_name(given) else given.partition("@")[0]
    chosen = legal_name("data set", name or own)
    if prefix is not None and not chosen.startswith(f"{prefix}-"):
        chosen = f"{legal_name('prefix', prefix)}-{chosen}"
    path = staging / "rows.jsonl"
    found.save(path)
    facts = {
        "name": chosen,
        "task": found.task,
        "split": found.split,
        "version": found.version,
        "license": found.license,
        "source_url": found.source_url,
    }
    folder = join(root, "datasets", legal_name("task", found.task))
    return Publication(path, folder, chosen, len(found.rows), facts)


def predictions(
    given: str, root: str, *, dataset: str, task: str | None, model: str | None
) -> Publication:
    """Prepare a model's predictions.

    Args:
        given: The file, of JSON lines.
        root: URI of the bucket, or of a folder in it.
        dataset: Name of the data set that they are for, or a file of it.
        task: The task of such a file.
        model: Name of the model; by default the file's.

    Returns:
        What is to be published.

    Raises:
        EvalkitError: A row is broken, or matches no example; or a name is illegal.
    """
    from evalkit import validate
    from evalkit.catalog import is_file_name, local_path, model_name

    path = local_path(given)
    if path.suffix not in (".jsonl", ".ndjson"):
        raise StorageError(
            f"{path}: predictions are published as JSON lines; `evalkit adapt -o` "
            "writes them"
        )
    found = validate(dataset, str(given), task=task)
    if found.refusals:
        raise EvalkitError(
            f"{path}: is not published, as an evaluation on {dataset} would refuse it: "
            f"{'; '.join(found.refusals)}. `evalkit validate` names the rows"
        )
    name = model_name(Path(dataset)) if is_file_name(dataset) else dataset
    chosen = legal_name("model", model or model_name(path))
    facts = {"model": chosen, "dataset": name, "task": found.task}
    folder = join(root, "predictions", chosen, legal_name("task", found.task))
    with path.open("rb") as stream:
        rows = sum(1 for line in stream if line.strip())
    return Publication(path, folder, legal_name("data set", name), rows, facts)
