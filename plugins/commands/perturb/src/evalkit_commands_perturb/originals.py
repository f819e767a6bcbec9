"""Reads the examples of a data set or a file to be perturbed."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, islice
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.ids import EXAMPLE_ID_KEYS
from evalkit.catalog import WITHOUT_PLUGIN, BoundDataset, BoundTask
from evalkit.errors import DataError, EvalkitError, PluginContractError, SchemaError
from evalkit.examples.attachments import with_attached
from evalkit.examples.checking import checked_inputs
from evalkit.examples.conversion import LABEL_CONVERTER, find_converter
from evalkit.examples.fingerprints import fingerprint
from evalkit.examples.loading import load_rows
from evalkit.examples.rows import ExampleRows
from evalkit.examples.selection import Selection
from evalkit.examples.table import convert_examples
from evalkit.plugins.bound import Converting
from evalkit.reading.streams import line_blocks
from evalkit_commands_perturb.copying import Example, Perturber
from evalkit_commands_perturb.rows import (
    WantedTexts,
    aliases_of,
    already_perturbed,
    named_as_data,
)
from evalkit_commands_perturb.texts import read_path


class SourceExamples(NamedTuple):
    """The examples that are to be perturbed."""

    uids: pl.Series
    """Ids of those that were selected, in the data's order."""
    selected: pl.Series | None
    """Which rows were; None for all."""
    tags: pl.Series | None
    """Their tags, where these are not a field of the rows."""
    loaded: ExampleRows
    fingerprint: str
    """What identifies the data."""
    answer_field: str | None
    """The field that holds the answer, where it is one."""
    converter: Converting | None
    """Whose method makes the answers, where no field holds them."""
    aliases: Mapping[str, str]
    """The keys of those fields of `Input` that the data names otherwise, by field."""

    def examples(self, first: int = 0) -> Iterator[Example]:
        """Return the examples."""
        defaults, aliases = self.loaded.defaults, self.aliases
        rows: Iterator[Mapping[str, Any]] = iter(
            self.loaded.checked(_rows(self.loaded))
        )
        if defaults or aliases:
            rows = (named_as_data({**defaults, **row}, aliases) for row in rows)
        if self.selected is not None:
            rows = compress(rows, self.selected)
        uids = self.uids[first:].to_list()
        tags = [None] * len(uids) if self.tags is None else self.tags[first:].to_list()
        found = islice(rows, first, None)
        for uid, own in zip(uids, tags, strict=True):
            row = next(found, None)
            if row is None or _id_of(row) not in (None, uid):
                raise DataError(f"{self.loaded.path}: was changed while it was read")
            yield Example(uid, row, own)

    def refuse_absent(self, fields: Sequence[str] | None) -> None:
        """Refuse a field that no example has, or a path that leads to no text."""
        columns = self.loaded.columns
        for field in fields or ():
            if not {field, read_path(field).outer} & {*columns}:
                near = difflib.get_close_matches(field, columns, n=1)
                hint = f"did you mean {near[0]!r}? " if near else ""
                raise EvalkitError(
                    f"no example has the field {field!r}; {hint}there are: "
                    f"{', '.join(columns)}"
                )
        wanted = WantedTexts(fields)
        if fields and not any(wanted.look_at(each.row) for each in self.examples()):
            wanted.refuse_absent()

    def refuse_taken_uids(self, perturbers: Sequence[Perturber]) -> None:
        """Refuse data in which an example has the id of another one's copy."""
        uids = self.uids
        marks = [f"_{perturber.suffix}" for perturber in perturbers]
        repeated = [mark for mark in marks if marks.count(mark) > 1]
        if repeated:
            raise EvalkitError(
                f"two perturbations would give copies the same uid (…{repeated[0]}); "
                "perturb with one of them at a time"
            )
        suspects = uids.filter(uids.str.contains_any(marks)).to_list()
        known = {*uids.to_list()} if suspects else set()
        for uid in suspects:
            for mark in marks:
                original, found, number = uid.rpartition(mark)
                is_number = not number or (number[0] == "_" and number[1:].isdigit())
                if found and is_number and original in known:
                    raise SchemaError(
                        f"the uid {uid!r} is taken: a copy of {original!r} would get it"
                    )


def _id_of(row: Mapping[str, Any]) -> str | None:
    for key in EXAMPLE_ID_KEYS:
        if key in row:
            return str(row[key])
    return None


def read_originals(
    dataset: BoundDataset,
    task: BoundTask,
    split: str,
    selection: Selection,
    again: bool,
) -> SourceExamples:
    """Load and check the examples that are to be perturbed.

    A file need not hold answers.
    """
    loaded = load_rows(dataset, task, split)
    if not again:
        _refuse_perturbed(dataset, loaded)
    loaded = with_attached(dataset, task, checked_inputs(dataset, task, loaded))
    answer_field, converter = _answer_source(dataset, task)
    aliases = aliases_of(task)
    frame = loaded.frame
    is_file = dataset.component.distribution in WITHOUT_PLUGIN
    has_answers = task.answer_kind != "none"
    if is_file and has_answers and answer_field not in loaded.columns:
        selected = selection.mask_without_answers(
            loaded.source(dataset), answer_field, frame.height
        )
        uids = frame["uid"] if selected is None else frame["uid"].filter(selected)
        identity = fingerprint(dataset, loaded).key
        return SourceExamples(
            uids, selected, None, loaded, identity, None, None, aliases
        )
    examples = convert_examples(dataset, task, loaded)
    selected = selection.mask(examples)
    ids, tags = examples.frame["id"], examples.frame["tags"]
    if selected is not None:
        ids, tags = ids.filter(selected), tags.filter(selected)
    has_own = "tags" in loaded.columns or not tags.list.len().sum()
    own = None if has_own else tags
    identity = examples.identity.key
    return SourceExamples(
        ids, selected, own, loaded, identity, answer_field, converter, aliases
    )


def stored_labels(dataset: BoundDataset) -> tuple[str, ...] | None:
    """Return the labels that a data set names, as they stand in its rows."""
    named = dataset.labels
    if isinstance(named, Mapping):
        # an answer that is spelt as the task does is taken too
        return tuple(dict.fromkeys((*named, *named.values())))
    return None if named is None else tuple(named)


def _refuse_perturbed(dataset: BoundDataset, loaded: ExampleRows) -> None:
    if "input_id" not in loaded.columns:
        return
    found = loaded.frame["input_id"].is_not_null().arg_true()
    if len(found):
        position = int(found[0])
        uid = loaded.frame["uid"][position]
        raise SchemaError(
            f"{loaded.source(dataset)}: {loaded.where(position)}: uid {uid!r} "
            f"{already_perturbed('--again, again=True')}"
        )


def _answer_source(
    dataset: BoundDataset, task: BoundTask
) -> tuple[str | None, Converting | None]:
    """Return the field that holds the answer, or whose method makes it."""
    try:
        bound, declared = find_converter(LABEL_CONVERTER, dataset, task)
    except PluginContractError:
        return None, None
    if declared is None:
        return None, None if task.answer_kind == "none" else bound
    answer = declared.get("answer")
    return answer if isinstance(answer, str) else None, None


def _rows(loaded: ExampleRows) -> Iterator[Mapping[str, Any]]:
    """Yield the rows as they came; those of JSON lines were checked before."""
    # of the files of which no rows are kept, those of JSON lines alone have lines
    if loaded.path is None or loaded.rows is not None or loaded.lines is None:
        yield from loaded.as_they_came()
        return
    read = json.JSONDecoder().decode
    for line in _lines(loaded.path):
        yield read(line.decode("utf-8"))


def _lines(path: Path) -> Iterator[bytes]:
    for block in line_blocks(path):
        for line in block.data.split(b"\n"):
            if line.strip(b" \t\r"):
                yield line
