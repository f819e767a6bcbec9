"""Checks that a data set keeps the laws that its scores rest on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from evalkit import EvalkitError, Registry, Result, evaluate, validate
from evalkit.catalog import BoundDataset, BoundMetric, BoundTask, Resolver
from evalkit.errors import StorageError
from evalkit_models_base import Answered, load_answered
from evalkit_testing.laws import (
    Law,
    LawBroken,
    LawError,
    MissingOption,
    NotTried,
    check_laws,
    chosen_laws,
    told_alone,
)

if TYPE_CHECKING:
    import polars as pl


def check_narrow(dataset: BoundDataset, task: BoundTask, split: str) -> None:
    """Compare what `load` gives of some columns, and of the first rows, with all.

    What `load` returns as a path or an Arrow table is not looked at, and neither is a
    data set with adapters, whose columns are others before them.
    """
    taken = {"columns", "limit"} & {*dataset.arguments_of("load")}
    if not taken or dataset.adapters:
        return
    whole = _loaded(dataset, split)
    if whole is None:
        return
    if "limit" in taken:
        _check_limit(dataset, split, whole)
    if "columns" in taken:
        _check_columns(dataset, task, split, whole)


def _check_limit(dataset: BoundDataset, split: str, whole: pl.DataFrame) -> None:
    count = max(1, whole.height // 2)
    first = _loaded(dataset, split, limit=count)
    # more than was asked for may come, too
    if first is None or not first.head(count).equals(whole.head(count)):
        raise LawBroken(
            f"the first {count} examples of the split {split!r} are others where "
            f"`load` is given limit={count}"
        )


def _check_columns(
    dataset: BoundDataset, task: BoundTask, split: str, whole: pl.DataFrame
) -> None:
    wanted = ["uid", *task.Input.model_fields, "tags", *dataset.declared_cluster]
    if task.answer_field is not None:
        wanted.append(task.answer_field)
    names = [name for name in dict.fromkeys(wanted) if name in whole.columns]
    narrow = _loaded(dataset, split, columns=names)
    for name in names:
        if narrow is None or name not in narrow.columns:
            raise LawBroken(
                f"the split {split!r} has no column {name!r} where `load` is given "
                f"columns={names}, and has it otherwise"
            )
        if not narrow[name].equals(whole[name]):
            raise LawBroken(
                f"the column {name!r} of the split {split!r} is another where `load` "
                f"is given columns={names}"
            )


def _loaded(dataset: BoundDataset, split: str, **offered: Any) -> pl.DataFrame | None:
    """Return what `load` gives as a table; None where that is for others to read."""
    import polars as pl

    given = {"columns": None, "limit": None, **offered}
    loaded = dataset.row_function("load")(split=split, **given)
    if isinstance(loaded, pl.LazyFrame):
        return loaded.collect()
    if isinstance(loaded, pl.DataFrame):
        return loaded
    if isinstance(loaded, str | Path) or not isinstance(loaded, Iterable):
        return None
    rows = list(loaded)
    if not rows or not all(isinstance(each, Mapping) for each in rows):
        return None
    return pl.DataFrame([dict(each) for each in rows], infer_schema_length=None)


Respond = Callable[[Mapping[str, Any], Any], Mapping[str, Any]]
"""Makes the response of a model that is right: of an example's row and its answer."""

_OFFLINE = "EVALKIT_OFFLINE"
_SHOWN = 200


class DatasetLawError(LawError):
    """A data set breaks a law; `law` is its name, one of `DATASET_LAWS`."""


@dataclass
class _Trial:
    dataset: BoundDataset
    task: BoundTask
    registry: Registry
    respond: Respond | None
    sha256: Mapping[str, str]
    examples: dict[str, list[Answered]] = field(default_factory=dict)


@told_alone
def check_dataset(
    dataset: Any,
    *,
    respond: Respond | None = None,
    sha256: Mapping[str, str] | None = None,
    laws: Collection[str] | None = None,
    registry: Registry | None = None,
) -> None:
    """Check that a data set keeps the laws of `evalkit_testing.DATASET_LAWS`.

    Each split is loaded three times, and scored once. Its files are fetched where they
    are not in the cache.

    Args:
        dataset: Name of an installed data set, or a class or instance.
        respond: Makes a right response, `{"id": …}` with the task's output, of an
            example's row and its answer; by default the answer stands in the task's
            `answer_field`.
        sha256: What `dataset_sha256` gave of each version that was published. Data that
            changed under one of these versions break the law `version`.
        laws: Names of the laws to check; all by default.
        registry: Where plugins are found; all that are installed by default.

    Raises:
        DatasetLawError: It breaks a law; the message has the law, the split and the
            example. It is an AssertionError.
        EvalkitError: There is no such law.
        PluginError: The data set, its task or one of its metrics is unknown or broken.
    """
    registry = registry or Registry()
    resolver = Resolver(registry)
    bound = resolver.dataset(dataset)
    trial = _Trial(bound, resolver.task(bound), registry, respond, sha256 or {})
    chosen = chosen_laws(DATASET_LAWS, laws)
    check_laws(chosen, trial, bound.component.origin, DatasetLawError)


def dataset_sha256(dataset: Any, *, registry: Registry | None = None) -> str:
    """Hash what a data set holds: all splits, rows and answers, in their order.

    Args:
        dataset: As for `check_dataset`.
        registry: As for `check_dataset`.

    Returns:
        64 hex digits, for `check_dataset(…, sha256={version: …})`.

    Raises:
        EvalkitError: The data cannot be loaded.
    """
    registry = registry or Registry()
    bound = Resolver(registry).dataset(dataset)
    return _hash_of(
        {
            split: load_answered(bound, split=split, registry=registry)
            for split in bound.splits
        }
    )


def _hash_of(examples: Mapping[str, Sequence[Answered]]) -> str:
    digest = hashlib.sha256()
    for split, rows in examples.items():
        digest.update(f"{json.dumps(split)}\n".encode())
        for each in rows:
            line = json.dumps([each.row, each.answer], sort_keys=True, default=str)
            digest.update(f"{line}\n".encode())
    return digest.hexdigest()


_NOT_THERE = (OSError, StorageError)
"""What fetching a file fails with where nobody can be asked."""


def _check_loads(trial: _Trial) -> None:
    for split in trial.dataset.splits:
        trial.examples[split] = _load(trial, split)


def _load(trial: _Trial, split: str) -> list[Answered]:
    try:
        return load_answered(trial.dataset, split=split, registry=trial.registry)
    except EvalkitError as error:
        said = f"the split {split!r} cannot be loaded: {error}"
        if trial.dataset.sources and isinstance(error.__cause__, _NOT_THERE):
            # the place's fault, or the network's, and not the data set's
            raise MissingOption(f"{trial.dataset.component.origin}: {said}") from error
        raise LawBroken(said) from error


def _all(trial: _Trial) -> dict[str, list[Answered]]:
    if not trial.examples:
        _check_loads(trial)
    return trial.examples


def _check_repeatable(trial: _Trial) -> None:
    for split, rows in _all(trial).items():
        _compare(split, rows, _load(trial, split), "loaded again")


def _check_offline(trial: _Trial) -> None:
    rows = _all(trial)
    with _offline():
        for split, before in rows.items():
            _compare(split, before, _load(trial, split), "without the network")


@contextmanager
def _offline() -> Iterator[None]:
    """Forbid the network by the setting, and have connections fail."""
    import socket

    def refuse(*_: Any) -> NoReturn:
        raise OSError("a connection is made, though EVALKIT_OFFLINE forbids it")

    before = os.environ.get(_OFFLINE)
    connect, named = socket.socket.connect, socket.getaddrinfo
    os.environ[_OFFLINE] = "1"
    socket.socket.connect = refuse  # type: ignore[method-assign]
    socket.getaddrinfo = refuse  # type: ignore[assignment]
    try:
        yield
    finally:
        socket.socket.connect, socket.getaddrinfo = connect, named  # type: ignore[method-assign]
        if before is None:
            del os.environ[_OFFLINE]
        else:
            os.environ[_OFFLINE] = before


def _compare(
    split: str, first: Sequence[Answered], second: Sequence[Answered], how: str
) -> None:
    if len(first) != len(second):
        raise LawBroken(
            f"the split {split!r} has {len(first)} examples, and {how} {len(second)}"
        )
    for one, other in zip(first, second, strict=True):
        if _shown(one) != _shown(other):
            raise LawBroken(
                f"in the split {split!r} {_shown(one)[:_SHOWN]}, and {how} "
                f"{_shown(other)[:_SHOWN]}"
            )


def _shown(each: Answered) -> str:
    return f"{each.row!r} with the answer {each.answer!r}"


def _check_valid(trial: _Trial) -> None:
    for split in _all(trial):
        try:
            found = validate(trial.dataset, split=split, registry=trial.registry)
        except EvalkitError as error:
            raise LawBroken(f"the split {split!r}: {error}") from error
        if found.refusals:
            raise LawBroken(f"the split {split!r}: {found.refusals[0]}")


def _check_narrow(trial: _Trial) -> None:
    for split in _all(trial):
        check_narrow(trial.dataset, trial.task, split)


def _check_clusters(trial: _Trial) -> None:
    for split, rows in _all(trial).items():
        for column in trial.dataset.declared_cluster:
            for each in rows:
                if each.row.get(column) is None:
                    raise LawBroken(
                        f"{each.row['uid']!r} of the split {split!r} has no "
                        f"{column!r}, which `cluster` names"
                    )


def _check_tags(trial: _Trial) -> None:
    for split, rows in _all(trial).items():
        for each in rows:
            for tag in each.row.get("tags") or ():
                if not isinstance(tag, str) or tag != tag.strip() or not tag:
                    raise LawBroken(
                        f"{each.row['uid']!r} of the split {split!r} has the tag "
                        f"{tag!r}"
                    )


def _check_best(trial: _Trial) -> None:
    if trial.respond is None and trial.task.answer_field is None:
        raise LawBroken(
            f"its task {trial.task.name} has a converter of its own, so that nobody "
            "knows what a right response is: give respond="
        )
    for split, rows in _all(trial).items():
        answered = [each for each in rows if each.answer is not None]
        if answered:
            _check_scores(trial, split, _scored(trial, split, answered))


def _scored(trial: _Trial, split: str, rows: Sequence[Answered]) -> Result:
    said = [_response(trial, each) for each in rows]
    try:
        result = evaluate(
            trial.dataset,
            said,
            split=split,
            on_missing="skip" if len(rows) < len(trial.examples[split]) else "error",
            registry=trial.registry,
        )
    except EvalkitError as error:
        raise LawBroken(
            f"the right answers of the split {split!r} are refused: {error}"
        ) from error
    return result


def _response(trial: _Trial, each: Answered) -> dict[str, Any]:
    if trial.respond is not None:
        return dict(trial.respond(each.row, each.answer))
    answer = each.answer
    is_one_of = isinstance(answer, list) and trial.task.answer_kind in ("one", "any-of")
    if is_one_of and answer:
        answer = answer[0]
    return {"id": each.row["uid"], str(trial.task.answer_field): answer}


def _unread(trial: _Trial, split: str, result: Result) -> str:
    """Say which right answer is taken for none, and why."""
    assert result.examples is not None
    lacking = result.examples.filter(pl.col("pred").is_null())["id"]
    found = next(
        each for each in trial.examples[split] if str(each.row["uid"]) == lacking[0]
    )
    reasons = "; ".join(map(str, result.record.unparsed))
    return (
        f"of the right answers of the split {split!r} {len(lacking)} count as none, "
        f"such as {found.answer!r} of {lacking[0]!r}: {reasons}"
    )


def _check_scores(trial: _Trial, split: str, result: Result) -> None:
    if result.counts.get("unparsed"):
        raise LawBroken(_unread(trial, split, result))
    if result.errors:
        raise LawBroken(
            f"the right answers of the split {split!r} are not scored: "
            f"{result.errors[0]}"
        )
    for metric in _metrics(trial):
        best = _best(metric)
        score = next(each for each in result.scores if each.metric == metric.name)
        if best is None or score.value is None:
            continue
        if abs(score.value - best) > 1e-9:
            raise LawBroken(
                f"the right answers of the split {split!r} score {score.value:.6g} by "
                f"{metric.name}, of which {best:g} is the best"
            )


def _metrics(trial: _Trial) -> list[BoundMetric]:
    resolver = Resolver(trial.registry)
    return resolver.metrics(trial.dataset, trial.task, None, ())


def _best(metric: BoundMetric) -> float | None:
    if metric.bounds is None or metric.higher_is_better is None:
        return None
    return metric.bounds[1 if metric.higher_is_better else 0]


def _check_version(trial: _Trial) -> None:
    version = str(trial.dataset.version)
    if not trial.sha256:
        raise NotTried("give sha256=…, what dataset_sha256 returns, by version")
    found = _hash_of(_all(trial))
    known = trial.sha256.get(version)
    if known is None:
        raise LawBroken(
            f"nothing is known of the version {version!r}: its data have the SHA-256 "
            f"{found}, and sha256= has {', '.join(map(repr, trial.sha256))}"
        )
    if known != found:
        raise LawBroken(
            f"the data of the version {version!r} had the SHA-256 {known}, and have "
            f"{found}: raise `version` and say in `changes` what is new, or, if nobody "
            "has that version yet, write the latter into sha256="
        )


DATASET_LAWS: tuple[Law[_Trial], ...] = (
    Law(
        "loads",
        "each of its splits loads, and has examples.",
        _check_loads,
        mend="correct what the message names, take a split out of `splits`, or have "
        "`load` give its examples.",
    ),
    Law(
        "repeatable",
        "a split that is loaded twice is the same.",
        _check_repeatable,
        mend="give examples in a fixed order, and seed what is random.",
    ),
    Law(
        "offline",
        "once its files are there, it loads without the network.",
        _check_offline,
    ),
    Law(
        "valid",
        "examples keep the task's Input, have ids of their own and answers among the "
        "labels.",
        _check_valid,
        mend="mend the example that is named, or what reads it.",
    ),
    Law(
        "narrow",
        "what is read of some columns, or of the first examples, is as in the whole.",
        _check_narrow,
        mend="take the first `limit` rows, and keep the columns that are asked for.",
    ),
    Law("clusters", "each example has what `cluster` names.", _check_clusters),
    Law("tags", "tags are texts without blanks around them.", _check_tags),
    Law(
        "best",
        "right answers are taken, and score best.",
        _check_best,
        mend="look at the answers and the converters.",
    ),
    Law(
        "version",
        "the data of a version that is known are those that it had.",
        _check_version,
        mend="raise `version` where the data were meant to change.",
    ),
)
"""What holds of every data set."""
