"""Publish datasets, predictions and runs in the layout of a benchmark host.

```
datasets/<task>/<name>.jsonl                  a dataset
datasets/<task>/<prefix>-<name>.jsonl         perturbed examples of it
predictions/<model>/<task>/<name>.jsonl       a model's predictions for it
runs/<dataset>/<run>/                         a run
```

The layout of datasets is Dynabench's. Beside each file lies `<name>.manifest.json` with
its rows, size and SHA-256, and for a dataset its version and license. The manifest is
written last. Rows without a manifest of their SHA-256 are not published yet.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalkit import Registry
from evalkit.base.json_text import json_lines
from evalkit.errors import EvalkitError, ObjectExistsError, StorageError
from evalkit.places import is_remote, join, local_file, put, refuse_offline, uri_of
from evalkit.plugins.sources import sha256_of

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}", "letters, digits, dots, dashes and _"
_DATASET_NAME = r"[a-z0-9][a-z0-9-]{0,200}", "lower case letters, digits and dashes"

_OPTIONS = {"dataset": "--name", "model": "--model"}
"""Options that give another name."""

WRITTEN, PRESENT, PLANNED = "written", "there", "would be written"


class Published(NamedTuple):
    """The outcome for one file or run."""

    uri: str
    rows: int | None
    """None for a run, which is a folder."""
    size: int | None
    sha256: str | None
    state: str
    """`written`, `there` (the same was there already), or `would be written`."""


class Publication(NamedTuple):
    """A file to publish."""

    path: Path
    folder: str
    """Path or URI of the folder to write to."""
    name: str
    """Name of the file, without `.jsonl`."""
    rows: int
    facts: Mapping[str, Any]
    """Further fields of the manifest."""


def publish(
    publication: Publication, *, overwrite: bool = False, dry_run: bool = False
) -> Published:
    """Publish a file with its manifest, unless the same is published already.

    Args:
        publication: The file.
        overwrite: Whether to replace another file that is there.
        dry_run: Look only, and write nothing.

    Returns:
        What was done.

    Raises:
        ObjectExistsError: Another file is there.
        StorageError: It cannot be written.
    """
    refuse_offline(publication.folder)
    sha256 = sha256_of(publication.path)
    size = publication.path.stat().st_size
    uri = join(publication.folder, f"{publication.name}.jsonl")
    place = join(publication.folder, f"{publication.name}.manifest.json")
    rows = local_file(uri)
    has_rows = rows is not None and sha256_of(rows) == sha256
    if rows is not None and not has_rows and not overwrite:
        option = _OPTIONS["model" if "model" in publication.facts else "dataset"]
        raise ObjectExistsError(
            f"{uri}: another file is there already. Use another name ({option}), or "
            "replace it (--overwrite)"
        )
    state = PRESENT if has_rows and _described(place) == sha256 else PLANNED
    if state == PLANNED and not dry_run:
        if not has_rows:
            put(publication.path, uri, overwrite=overwrite)
        manifest = {
            "file": f"{publication.name}.jsonl",
            "rows": publication.rows,
            "bytes": size,
            "sha256": sha256,
            **publication.facts,
        }
        _put_text(f"{json.dumps(manifest, indent=2)}\n", place)
        state = WRITTEN
    return Published(uri, publication.rows, size, sha256, state)


def _described(place: str) -> str | None:
    """Return the SHA-256 of the rows that a manifest describes, where there is one."""
    path = local_file(place)
    try:
        manifest = {} if path is None else json.loads(path.read_bytes())
    except ValueError:
        return None
    sha256 = manifest.get("sha256") if isinstance(manifest, dict) else None
    return sha256 if isinstance(sha256, str) else None


def _put_text(text: str, uri: str) -> None:
    with tempfile.TemporaryDirectory(prefix="evalkit-publish-") as folder:
        path = Path(folder, "text")
        path.write_text(text, encoding="utf-8")
        put(path, uri, overwrite=True)


def publish_run(
    run: str | Path, root: str, *, folder: str | Path = "runs", dry_run: bool = False
) -> Published:
    """Publish a run; another run is never replaced.

    Args:
        run: What `evalkit.find_run` takes.
        root: Path or URI of the folder to publish in.
        folder: The folder in which the run is looked for.
        dry_run: Look only, and write nothing.

    Returns:
        What was done.

    Raises:
        StorageError: There is no such run, or it cannot be written.
    """
    from evalkit.runs import find_run, send_run

    path = find_run(run, folder)
    uri, is_new = send_run(path, join(_root(root), "runs"), dry_run=dry_run)
    state = PRESENT if not is_new else PLANNED if dry_run else WRITTEN
    return Published(uri, None, None, None, state)


def prepare_dataset(
    dataset: Any,
    root: str,
    staging: Path,
    *,
    task: str | None = None,
    split: str | None = None,
    name: str | None = None,
    prefix: str | None = None,
) -> Publication:
    """Prepare a dataset, or perturbed examples of one.

    Args:
        dataset: Name of an installed dataset, a `Dataset`, or a file of examples.
        root: Path or URI of the folder to publish in, such as `s3://bucket`.
        staging: An empty folder for the rows.
        task: The task of a file.
        split: The split of a dataset.
        name: The name to publish it under. Default: its own name.
        prefix: The prefix of perturbed examples, such as `fairness`.

    Returns:
        The file to publish.

    Raises:
        EvalkitError: The rows cannot be loaded, or a name is illegal.
    """
    from evalkit.catalog import Resolver, bind_dataset, is_file_name, model_name
    from evalkit.examples.checking import checked_inputs
    from evalkit.examples.loading import load_rows
    from evalkit.examples.table import convert_examples
    from evalkit.predictions.input_rows import rows_of_columns

    resolver = Resolver(Registry())
    bound = bind_dataset(resolver, dataset, task)
    of_task = resolver.task(bound)
    split = split or bound.default_split
    loaded = checked_inputs(bound, of_task, load_rows(bound, of_task, split))
    if of_task.answer_kind != "none":
        convert_examples(bound, of_task, loaded)
    rows = rows_of_columns(of_task, loaded.frame, loaded.nested, loaded.frame.columns)
    is_file = is_file_name(dataset)
    own = model_name(Path(dataset)) if is_file else bound.component.name
    chosen = _legal_name("dataset", name or own)
    if prefix is not None and not chosen.startswith(f"{prefix}-"):
        chosen = f"{_legal_name('prefix', prefix)}-{chosen}"
    path = staging / "rows.jsonl"
    path.write_bytes("".join(json_lines(rows)).encode())
    facts = {"name": chosen, "task": of_task.component.name, "split": split}
    facts |= {k: getattr(bound, k) for k in ("version", "license", "source_url")}
    folder = join(_root(root), "datasets", _legal_name("task", facts["task"]))
    return Publication(path, folder, chosen, len(rows), facts)


def prepare_predictions(
    predictions: str,
    root: str,
    *,
    dataset: str,
    task: str | None = None,
    model: str | None = None,
) -> Publication:
    """Prepare a model's predictions.

    Args:
        predictions: The file, of JSON lines.
        root: Path or URI of the folder to publish in.
        dataset: Name of the dataset that they are for, or a file of its examples.
        task: The task of such a file.
        model: Name of the model. Default: the file's name.

    Returns:
        The file to publish.

    Raises:
        EvalkitError: An evaluation would refuse the predictions, or a name is illegal.
    """
    from evalkit import validate
    from evalkit.catalog import is_file_name, local_path, model_name

    path = local_path(predictions)
    if path.suffix not in (".jsonl", ".ndjson"):
        raise StorageError(
            f"{path}: predictions are published as JSON lines; `evalkit adapt -o` "
            "writes them"
        )
    validation = validate(dataset, str(predictions), task=task)
    if validation.refusals:
        raise EvalkitError(
            f"{path}: not published, because an evaluation on {dataset} would refuse "
            f"it: {'; '.join(validation.refusals)}. `evalkit validate` names the rows"
        )
    name = model_name(Path(dataset)) if is_file_name(dataset) else dataset
    chosen = _legal_name("model", model or model_name(path))
    facts = {"model": chosen, "dataset": name, "task": validation.task}
    folder = join(
        _root(root), "predictions", chosen, _legal_name("task", validation.task)
    )
    with path.open("rb") as stream:
        rows = sum(1 for line in stream if line.strip())
    return Publication(path, folder, _legal_name("dataset", name), rows, facts)


def _root(root: str) -> str:
    return uri_of(root) if is_remote(root) else root


def _legal_name(what: str, name: str) -> str:
    """Refuse a name that could lead out of its folder, or that hosts refuse."""
    pattern, allowed = _DATASET_NAME if what == "dataset" else _NAME
    if re.fullmatch(pattern, name):
        return name
    option = f"; {_OPTIONS[what]} gives another one" if what in _OPTIONS else ""
    raise EvalkitError(
        f"{name!r} cannot be published as the name of the {what}: it may contain "
        f"{allowed} only{option}"
    )
