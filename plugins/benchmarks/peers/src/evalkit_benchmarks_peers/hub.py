"""Tasks of datasets on the Hugging Face hub: `hub:eval.yaml` and `hub:OWNER/NAME`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from evalkit.catalog import ReadPlugin
from evalkit.errors import DataError
from evalkit_benchmarks_declared import check_benchmark, dataset_class
from evalkit_benchmarks_declared.schema import Data
from evalkit_benchmarks_declared.sources import hub_file, stored_rows
from evalkit_benchmarks_peers.hub_prompts import LETTERS, Prompting, field_of
from evalkit_benchmarks_peers.hub_scorers import Scoring
from evalkit_benchmarks_peers.hub_spec import EvalFile, FieldSpec
from evalkit_benchmarks_peers.peer_files import (
    PeerFile,
    component_name,
    read_peer_file,
)

_FILE = "eval.yaml"
_REPOSITORY = re.compile(r"([\w.-]+/[\w.-]+?)(?:/([^/@]+))?(?:@(.+))?")
_NOT_READ = ("id", "sandbox", "files", "setup", "checkpoint", "description")
"""Fields of which Inspect reads none for such files, or none that a model is asked."""


def read(text: str) -> ReadPlugin:
    """Read a task of an `eval.yaml`.

    Args:
        text: `FILE[#ID]`, or `OWNER/NAME[@REVISION][#ID]` for a dataset on the hub.

    Returns:
        Its name, its dataset, and the file.

    Raises:
        DataError: The task uses something that evalkit does not have. The message has
            the file, the line and the key.
        StorageError: The hub cannot be read.
    """
    place, _, wanted = text.removeprefix("hub:").partition("#")
    path, hub, revision = Path(place).expanduser(), None, None
    if path.is_dir():
        path /= _FILE
    elif not path.is_file() and path.suffix not in (".yaml", ".yml"):
        match = _REPOSITORY.fullmatch(place)
        if match is None:
            raise DataError(f"{place}: must be a file or OWNER/NAME")
        hub, name, revision = match.groups()
        wanted = wanted or name or ""
        path = hub_file(hub, _FILE, revision)
    task = Task(read_peer_file(path), wanted, hub, revision)
    benchmark = check_benchmark(task.benchmark(), str(path))
    made = dataset_class(benchmark, path, task.rows)
    dataset = type("HubDataset", (made,), {"notices": tuple(task.notices)})
    return ReadPlugin(benchmark.name, dataset, (path,))


class Task:
    """A task that becomes a benchmark.

    Args:
        file: The file.
        wanted: Id of the task; "" for the only one.
        hub: Dataset on the hub; None for files beside the file.
        revision: Revision of the dataset.

    Attributes:
        notices: What a user should know.

    Raises:
        DataError: There is no such task, or evalkit cannot run it.
    """

    def __init__(
        self, file: PeerFile, wanted: str, hub: str | None, revision: str | None
    ) -> None:
        self._file, self._hub, self._revision = file, hub, revision
        self._said = file.checked(EvalFile, file.values)
        ids = [each.id for each in self._said.tasks]
        if not wanted and len(ids) > 1:
            known = ", ".join(f"#{each}" for each in ids)
            raise file.error(f"has {len(ids)} tasks. Name one: {known}", "tasks")
        if wanted and wanted not in ids:
            known = ", ".join(map(repr, ids))
            raise file.error(f"no task has the id {wanted!r}. Ids: {known}", "tasks")
        number = ids.index(wanted) if wanted else 0
        self._task, self._keys = self._said.tasks[number], ("tasks", number)
        fields = self._task.field_spec
        if fields.input_image is not None:
            raise self._error("models are sent text alone", "input_image")
        self._prompting = Prompting(file, self._task, self._keys)
        self._scoring = Scoring(file, self._task, self._keys)
        if self._prompting.has_choices != self._scoring.has_choices:
            problem = "multiple_choice and the scorer choice go together"
            raise file.error(problem, *self._keys, "scorers")
        if self._scoring.has_choices and fields.choices is None:
            raise self._error("is missing, and choices are asked for", "choices")
        self._data = self._stored()
        self.notices = [*self._prompting.notices, *self._scoring.notices]
        idle = [each for each in _NOT_READ if getattr(fields, each) is not None]
        if idle:
            self.notices.append(f"field_spec: not read: {', '.join(idle)}")
        if self._task.shuffle_choices:
            self.notices.append("choices are shuffled by the example's id")
        if self._task.epochs > 1 and "temperature" not in self._prompting.settings:
            self.notices.append(
                "no temperature is given, and with 0 the replies of all epochs are "
                "alike (--generate temperature=1)"
            )

    def benchmark(self) -> dict[str, Any]:
        """Return what a benchmark file says of it."""
        said, task = self._said, self._task
        whose = self._hub or self._file.path.absolute().parent.name
        is_choice = self._scoring.has_choices
        fields = {"input": "text", LETTERS: "text?"} if is_choice else {"input": "text"}
        fields |= {field_of(name): "text?" for name in self._prompting.named}
        answer = {"text": "target"} if is_choice else "target"
        choices = {"choices": "choices"} if is_choice else {}
        scores = self._scoring.scores
        judges = {
            f"grade-{number}": dict(each.judge)
            for number, each in enumerate(scores, start=1)
            if each.judge is not None
        }
        ways = {str(each.stages): each.stages for each in scores}
        names = {way: f"way-{n}" for n, way in enumerate(ways, start=1)}
        uses = []
        for number, each in enumerate(scores, start=1):
            options = dict(each.options)
            if each.judge is not None:
                options["of"] = f"grade-{number}"
            own = {"extract": names[str(each.stages)]} if len(ways) > 1 else {}
            uses.append({"metric": each.metric, "options": options, **own})
        several = {names[key]: stages for key, stages in ways.items()}
        return {
            "benchmark": 1,
            "name": component_name("-".join(filter(None, ["hub", whose, task.id]))),
            "version": self._revision or "1",
            "description": said.description or said.name or f"The benchmark {whose}.",
            "task": {"input": fields, "answer": "choice" if is_choice else "text"},
            "data": {**self._data, "id": "#row", "answer": answer, **choices},
            "prompt": self._prompting.prompt(),
            "extract": several if len(ways) > 1 else next(iter(ways.values())),
            "headline": uses[0],
            "metrics": uses[1:],
            "judges": judges,
            "replications": task.epochs,
        }

    def rows(self, stored: str) -> Iterator[dict[str, Any]]:
        """Return the rows of a stored split."""
        data = Data.model_validate({**self._data, "splits": {"test": stored}})
        for row in stored_rows(data, self._file.path.parent, "test"):
            try:
                yield self._row(row.values)
            except (KeyError, ValueError) as error:
                problem = f"no column {error}" if isinstance(error, KeyError) else error
                raise DataError(f"{row.place}: {problem}") from error

    def _row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        fields = self._task.field_spec
        metadata = {name: row[name] for name in fields.metadata or ()}
        asked = row[fields.input]
        if not isinstance(asked, str):
            raise ValueError(f"{fields.input}: must be a text, got {asked!r:.60}")
        found = {**metadata, "input": asked, "target": _target(row, fields)}
        for name in self._prompting.named:
            found[field_of(name)] = None if row[name] is None else str(row[name])
        if fields.choices is not None:
            several = fields.choices
            options = (
                [row[each] for each in several]
                if isinstance(several, list)
                else row[several]
            )
            found["choices"] = [*map(str, options)]
            found[LETTERS] = ",".join(ascii_uppercase[: len(options)])
        if self._scoring.has_choices:
            letter = found["target"].strip(" ,").upper()
            place = ascii_uppercase.find(letter) if len(letter) == 1 else -1
            if not 0 <= place < len(found["choices"]):
                raise ValueError(
                    f"{fields.target}: must be the letter or place of one option, got "
                    f"{found['target']!r}"
                )
            found["target"] = found["choices"][place]
        return found

    def _stored(self) -> dict[str, Any]:
        """Return where the rows are."""
        task = self._task
        splits = task.split.split("+")
        if not all(re.fullmatch(r"\w[\w.-]*", each) for each in splits):
            raise self._file.error("must be a split", *self._keys, "split")
        config = None if task.config == "default" else task.config
        found: dict[str, Any] = {"splits": {"test": splits}}
        if self._hub is not None:
            return {**found, "hub": self._hub, "config": config} | (
                {"revision": self._revision} if self._revision else {}
            )
        folder = self._file.path.parent
        paths = {}
        for split in splits:
            paths[split] = _files(folder, task.config, split)
            if not paths[split]:
                raise self._file.error(
                    f"no file of the split {split!r} is beside the file, such as "
                    f"{split}.jsonl. For data on the hub name it: hub:OWNER/NAME",
                    *(*self._keys, "split"),
                )
        return {**found, "path": paths}

    def _error(self, problem: str, key: str) -> DataError:
        return self._file.error(problem, *self._keys, "field_spec", key)


def _target(row: Mapping[str, Any], fields: FieldSpec) -> str:
    """Return the answer; of options the letter, where the data has a place."""
    if fields.target.startswith("literal:"):
        return fields.target.removeprefix("literal:")
    value = row[fields.target]
    if isinstance(value, int) and fields.choices is not None:
        return ascii_uppercase[value] if value < len(ascii_uppercase) else str(value)
    return str(value)


def _files(folder: Path, config: str, split: str) -> list[str]:
    """Find the files of a split in a copy of a dataset's repository."""
    for above in (folder / config, folder, folder / "data"):
        found = [
            path
            for pattern in (f"{split}.*", f"{split}-*.*")
            for path in sorted(above.glob(pattern))
            if path.suffix in (".jsonl", ".json", ".parquet", ".csv", ".tsv", ".arrow")
        ]
        if found:
            return [str(path.relative_to(folder)) for path in found]
    return []
