"""Loads a data set and turns it into what is scored: ids, answers, tags, clusters."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from pydantic import BaseModel, ValidationError

from evalkit.columns import to_series
from evalkit.conversion import (
    LABEL_CONVERTER,
    convert_labels_by_columns,
    convert_labels_by_rows,
    find_converter,
)
from evalkit.errors import DataError, EvalkitError, SchemaError
from evalkit.hookspecs import AnswerKind
from evalkit.ids import EXAMPLE_ID_KEYS, read_id
from evalkit.prediction_files import read_json_lines
from evalkit.registry import Bound
from evalkit.sources import Source, locate, sha256_of
from evalkit.violations import Violation, describe, from_pydantic

_SHOWN_PROBLEMS = 5


class Examples(NamedTuple):
    """The checked examples of one split, in the data's order."""

    frame: pl.DataFrame
    """Columns `id`, `answer`, `tags` (list of texts, each once) and `cluster`
    (integers; null where the data set names none)."""
    inputs: pl.DataFrame
    """The rows as loaded, with `uid` as text."""
    labels: tuple[str, ...] | None
    """The labels, as the task spells them."""
    answer_kind: AnswerKind
    """The task's; `any-of` where the task says `one` and an answer has several."""
    fingerprint: str
    """SHA-256 of the data."""
    files: tuple[Mapping[str, str], ...]
    """Name and SHA-256 of each file that was read."""
    notices: tuple[str, ...]

    @property
    def clustered(self) -> bool:
        """Whether rows are grouped into clusters."""
        return self.frame["cluster"].null_count() < self.frame.height


def load_examples(dataset: Bound, task: Bound, split: str) -> Examples:
    """Load, check and convert the examples of a split.

    Args:
        dataset: The data set.
        task: Its task.
        split: Name of the split.

    Returns:
        The examples.

    Raises:
        DataError: The data cannot be loaded, or is empty.
        SchemaError: Rows break the task's `Input`, ids repeat, or answers are none
            of the labels.
    """
    splits = dataset.attributes["splits"]
    if split not in splits:
        raise DataError(
            f"{dataset.component.id} has no split {split!r}; it has {', '.join(splits)}"
        )
    loaded = _load(dataset, split)
    rows, frame, lines = _materialise(dataset, loaded)
    if frame.is_empty():
        raise DataError(f"{dataset.component.origin}: split {split!r} has no examples")
    frame = _check_ids(dataset, frame, lines)
    _check_inputs(dataset, task, rows, frame, lines)
    labels, mapping = labels_of(dataset, task)
    converted = _convert(dataset, task, rows, frame)
    answers = _map_answers(dataset, frame["uid"], converted["answers"], labels, mapping)
    kind, answer_column = _answer_column(dataset, task, frame["uid"], answers)
    prepared = pl.DataFrame(
        [
            frame["uid"].alias("id"),
            answer_column,
            _tag_column(dataset, frame["uid"], converted["tags"]),
            _cluster_column(dataset, frame),
        ]
    )
    fingerprint, files, notices = _fingerprint(dataset, loaded, frame)
    return Examples(prepared, frame, labels, kind, fingerprint, files, notices)


def _load(dataset: Bound, split: str) -> Any:
    try:
        loaded = dataset.hooks.load(split=split)
    except (EvalkitError, KeyboardInterrupt):
        raise
    except (Exception, SystemExit) as error:
        raise DataError(
            f"{dataset.component.origin}: load({split!r}) failed with "
            f"{type(error).__name__}: {error}"
        ) from error
    if loaded is None:
        raise DataError(f"{dataset.component.origin}: load({split!r}) returned nothing")
    return loaded


Rows = list[Mapping[str, Any]]


def _materialise(
    dataset: Bound, loaded: Any
) -> tuple[Rows | None, pl.DataFrame, Sequence[int] | None]:
    """Give the rows where they came as dicts, a frame, and line numbers of a file."""
    if isinstance(loaded, pl.LazyFrame):
        return None, loaded.collect(), None
    if isinstance(loaded, pl.DataFrame):
        return None, loaded, None
    if hasattr(loaded, "__arrow_c_stream__"):
        return None, pl.DataFrame(loaded), None
    lines = None
    if isinstance(loaded, str | Path):
        rows, lines = _read_file(Path(loaded))
    elif isinstance(loaded, Iterable):
        rows = list(loaded)
    else:
        raise DataError(
            f"{dataset.component.origin}: load returned {type(loaded).__name__}; it "
            "must return a polars frame, an Arrow table, a path or an iterable of dicts"
        )
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise DataError(
                f"{dataset.component.origin}: example {number} is {row!r}, not a dict"
            )
    return rows, _frame_of(rows), lines


def _read_file(path: Path) -> tuple[Rows, Sequence[int]]:
    rows: Rows = []
    lines: list[int] = []
    problems = []
    for row in read_json_lines(path):
        if row.values is None:
            problems.append(f"line {row.line}: {row.problem}")
        else:
            rows.append(row.values)
            lines.append(row.line)
    if problems:
        raise SchemaError(f"{path}: {_few(problems)}")
    return rows, lines


def _frame_of(rows: Rows) -> pl.DataFrame:
    names = dict.fromkeys(key for row in rows for key in row)
    return pl.DataFrame(
        [to_series(name, [row.get(name) for row in rows]) for name in names]
    )


def _few(problems: Sequence[str]) -> str:
    shown = "; ".join(problems[:_SHOWN_PROBLEMS])
    more = len(problems) - _SHOWN_PROBLEMS
    return shown + (f"; and {more} more" if more > 0 else "")


def _where(position: int, lines: Sequence[int] | None) -> str:
    return f"line {lines[position]}" if lines else f"example {position + 1}"


def _check_ids(
    dataset: Bound, frame: pl.DataFrame, lines: Sequence[int] | None
) -> pl.DataFrame:
    key = next((key for key in EXAMPLE_ID_KEYS if key in frame.columns), None)
    if key is None:
        raise SchemaError(
            f"{dataset.component.origin}: examples have no id; the key is 'uid', the "
            f"data has {', '.join(frame.columns)}"
        )
    ids = [read_id({key: value}, (key,)) for value in frame[key].to_list()]
    problems = [
        f"{_where(position, lines)}: {found}"
        for position, found in enumerate(ids)
        if isinstance(found, Violation)
    ]
    if problems:
        raise SchemaError(f"{dataset.component.origin}: {_few(problems)}")
    first: dict[Any, int] = {}
    for position, uid in enumerate(ids):
        if uid in first:
            problems.append(
                f"{_where(position, lines)}: uid {uid!r} was given before, at "
                f"{_where(first[uid], lines)}"
            )
        first.setdefault(uid, position)
    if problems:
        raise SchemaError(f"{dataset.component.origin}: {_few(problems)}")
    return frame.with_columns(pl.Series("uid", ids, dtype=pl.String))


def _check_inputs(
    dataset: Bound,
    task: Bound,
    rows: Rows | None,
    frame: pl.DataFrame,
    lines: Sequence[int] | None,
) -> None:
    model: type[BaseModel] = task.attributes["Input"]
    if fits_text_columns(model, frame):
        return
    problems = []
    uids = frame["uid"]
    for position, row in enumerate(rows or frame.iter_rows(named=True)):
        try:
            model.model_validate({**row, "uid": uids[position]})
        except ValidationError as error:
            problems.append(
                f"{_where(position, lines)} (uid {uids[position]!r}): "
                f"{describe(from_pydantic(error))}"
            )
    if problems:
        raise SchemaError(
            f"{dataset.component.origin}: {len(problems)} of {frame.height} examples "
            f"break the input of the task {task.component.name}: {_few(problems)}"
        )


def fits_text_columns(model: type[BaseModel], frame: pl.DataFrame) -> bool:
    """Tell whether columns alone show that every row has the shape of a model.

    Args:
        model: The model; only fields that are plain texts can be seen from columns.
        frame: The rows.

    Returns:
        True if every field is a plain text and its column holds texts without nulls.
    """
    return all(
        field.annotation is str
        and not field.metadata
        and name in frame.columns
        and frame.schema[name] == pl.String
        and frame[name].null_count() == 0
        for name, field in model.model_fields.items()
    ) and not any(
        (
            model.__pydantic_decorators__.field_validators,
            model.__pydantic_decorators__.model_validators,
            model.model_config.get("extra") == "forbid",
        )
    )


def labels_of(
    dataset: Bound, task: Bound
) -> tuple[tuple[str, ...] | None, Mapping[str, str] | None]:
    """Give a data set's labels as its task spells them.

    Args:
        dataset: The data set.
        task: Its task.

    Returns:
        The labels (None where neither names any), and the mapping from stored
        labels to them where the data set gives one.
    """
    declared = dataset.attributes["labels"]
    if isinstance(declared, Mapping):
        return tuple(dict.fromkeys(declared.values())), declared
    labels = declared if declared is not None else task.attributes["labels"]
    return (None if labels is None else tuple(labels)), None


def _convert(
    dataset: Bound, task: Bound, rows: Rows | None, frame: pl.DataFrame
) -> dict[str, list[Any]]:
    bound, declared = find_converter(LABEL_CONVERTER, dataset, task)
    if declared is not None:
        if rows is not None and isinstance(declared.get("answer"), str):
            # a frame cannot hold a column of both texts and lists, the rows can
            key = declared["answer"]
            answers = [row.get(key) for row in rows]
            declared = {**declared, "answer": pl.lit(None)}
            tags = convert_labels_by_columns(bound, declared, frame)["tags"]
            return {"answers": answers, "tags": tags.to_list()}
        columns = convert_labels_by_columns(bound, declared, frame)
        return {
            "answers": columns["answer"].to_list(),
            "tags": columns["tags"].to_list(),
        }
    converted = convert_labels_by_rows(
        bound, rows if rows is not None else list(frame.iter_rows(named=True))
    )
    _check_converted_ids(bound, frame["uid"], converted)
    return {
        "answers": [result["answer"] for result in converted],
        "tags": [result.get("tags", []) for result in converted],
    }


def _check_converted_ids(
    bound: Bound, uids: pl.Series, converted: Sequence[Mapping[str, Any]]
) -> None:
    for uid, result in zip(uids, converted, strict=True):
        if read_id(result, ("id",)) != uid:
            raise DataError(
                f"{bound.component.origin}: {LABEL_CONVERTER} gave the example "
                f"{uid!r} the id {result['id']!r}"
            )


def _map_answers(
    dataset: Bound,
    uids: pl.Series,
    answers: list[Any],
    labels: tuple[str, ...] | None,
    mapping: Mapping[str, str] | None,
) -> list[Any]:
    problems: list[str] = []
    results = []
    for uid, answer in zip(uids, answers, strict=True):
        if answer is None or (isinstance(answer, list) and not answer):
            problems.append(f"uid {uid!r}: has no answer")
        elif mapping is not None:
            answer = _mapped(answer, mapping)
        if labels is not None and answer is not None:
            items = answer if isinstance(answer, list) else [answer]
            problems.extend(
                f"uid {uid!r}: its answer {item!r} is none of the labels "
                f"{', '.join(mapping or labels)}"
                for item in items
                if item not in labels
            )
        results.append(answer)
    if problems:
        raise SchemaError(f"{dataset.component.origin}: {_few(problems)}")
    return results


def _mapped(answer: Any, mapping: Mapping[str, str]) -> Any:
    if isinstance(answer, list):
        return [mapping.get(str(item), item) for item in answer]
    return mapping.get(str(answer), answer)


def _answer_column(
    dataset: Bound, task: Bound, uids: pl.Series, answers: list[Any]
) -> tuple[AnswerKind, pl.Series]:
    kind: AnswerKind = task.attributes["answer_kind"]
    if kind in ("one", "any-of") and any(isinstance(a, list) for a in answers):
        wrapped = [a if isinstance(a, list) else [a] for a in answers]
        if all(len(answer) == 1 for answer in wrapped):
            return "one", to_series("answer", [answer[0] for answer in wrapped])
        column = to_series("answer", wrapped)
        if column.dtype != pl.List(pl.String):
            raise SchemaError(
                f"{dataset.component.origin}: acceptable answers must be lists of texts"
            )
        return "any-of", column
    column = to_series("answer", answers)
    if kind == "any-of":
        return "one", column
    if kind == "number" and not column.dtype.is_numeric():
        wrong = next(
            (uid, answer)
            for uid, answer in zip(uids, answers, strict=True)
            if isinstance(answer, bool) or not isinstance(answer, int | float)
        )
        raise SchemaError(
            f"{dataset.component.origin}: uid {wrong[0]!r}: its answer must be a "
            f"number, found {wrong[1]!r}"
        )
    return kind, column


def _tag_column(dataset: Bound, uids: pl.Series, tags: list[Any]) -> pl.Series:
    cleaned: list[list[str]] = []
    for uid, given in zip(uids, tags, strict=True):
        found = [] if given is None else given
        if not isinstance(found, list | tuple) or not all(
            isinstance(tag, str) and tag for tag in found
        ):
            raise SchemaError(
                f"{dataset.component.origin}: uid {uid!r}: tags must be a list of "
                f"texts that are not empty, found {given!r}"
            )
        cleaned.append(list(dict.fromkeys(found)))
    return pl.Series("tags", cleaned, dtype=pl.List(pl.String))


def _cluster_column(dataset: Bound, frame: pl.DataFrame) -> pl.Series:
    cluster = dataset.attributes["cluster"]
    if not cluster:
        return pl.Series("cluster", [None] * frame.height, dtype=pl.UInt32)
    columns = [cluster] if isinstance(cluster, str) else list(cluster)
    unknown = [column for column in columns if column not in frame.columns]
    if unknown:
        raise DataError(
            f"{dataset.component.origin}: its cluster names the column {unknown[0]!r}, "
            f"which the data does not have ({', '.join(frame.columns)})"
        )
    ranks = pl.struct(columns).rank("dense").cast(pl.UInt32)
    return frame.select(ranks.alias("cluster"))["cluster"]


def _fingerprint(
    dataset: Bound, loaded: Any, frame: pl.DataFrame
) -> tuple[str, tuple[Mapping[str, str], ...], tuple[str, ...]]:
    sources: Mapping[str, Source] = dataset.attributes["sources"]
    notices: list[str] = []
    files: list[Mapping[str, str]] = []
    if isinstance(loaded, str | Path):
        files.append({"name": Path(loaded).name, "sha256": sha256_of(Path(loaded))})
    for filename, source in sources.items():
        found = sha256_of(locate(dataset.component.name, filename, source))
        files.append({"name": filename, "sha256": found})
        if source.sha256 and found != source.sha256:
            notices.append(
                f"{filename} is not the published file (its SHA-256 is {found[:12]}…)"
            )
    digest = hashlib.sha256()
    if files:
        digest.update(json.dumps(files, sort_keys=True).encode())
    else:
        digest.update(frame.write_ndjson().encode())
    return digest.hexdigest(), tuple(files), tuple(notices)


def describe_tags(frame: pl.DataFrame) -> Counter[str]:
    """Count the examples of each tag.

    Args:
        frame: The examples' frame.

    Returns:
        Number of examples by tag.
    """
    return Counter(
        dict(
            frame.select(pl.col("tags").explode().drop_nulls())["tags"]
            .value_counts()
            .iter_rows()
        )
    )
