"""Finds runs that were written earlier, and gives them back as results."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.errors import PluginError, StorageError
from evalkit.file_datasets import local_path
from evalkit.names import score_name
from evalkit.objects import GIVEN, Resolver
from evalkit.problems import Problems
from evalkit.results import Result, Score
from evalkit.run_files import (
    read_examples,
    read_problems,
    read_record,
    scores_of,
)
from evalkit.run_statistics import read_statistics
from evalkit.storage import EXAMPLES_FILE, RUN_FILE

if TYPE_CHECKING:
    import polars as pl

    from evalkit.hookspecs import AnswerKind
    from evalkit.registry import Bound

LATEST = "latest"
"""Stands for the newest run where a run is asked for."""

_SHOWN = 5


class RunSummary(NamedTuple):
    """What a list of runs says about one of them, from its `run.json` alone."""

    path: Path
    """The run folder."""
    run_id: str
    """The recorded id; the folder's name where there is no record."""
    started: str | None = None
    """When the evaluation began, in ISO 8601; None where it was not recorded."""
    dataset: str | None = None
    task: str | None = None
    split: str | None = None
    model: str | None = None
    status: str | None = None
    """`complete`, `partial` or `refused`."""
    headline: Score | None = None
    """The main score; None where there is none."""
    problem: str | None = None
    """Why the run cannot be read; None where it can. Then only `path` and `run_id`
    are known."""
    bounds: Mapping[str, Sequence[float | None]] = {}
    """The least and the greatest value of each metric that has bounds."""


class StoredResult(Result):
    """The result of a run folder; examples and problems are read when first asked for.

    Args:
        path: The run folder.
        record: What its `run.json` holds, but for the scores.
        scores: All scores.
    """

    def __init__(self, path: Path, record: dict[str, Any], scores: list[Score]) -> None:
        super().__init__(record, scores, (), None)
        # what is there already hides what is read when it is first asked for
        del self.__dict__["examples"], self.__dict__["problems"]
        del self.__dict__["statistics"]
        self.path = path

    @cached_property
    def statistics(self) -> dict[str, pl.DataFrame]:  # type: ignore[override]
        """The statistics of each metric, by its name."""
        assert self.path is not None
        names = metric_names(self._record)
        found = {name: read_statistics(self.path, name) for name in names}
        return {name: frame for name, frame in found.items() if frame is not None}

    @cached_property
    def examples(self) -> pl.DataFrame | None:  # type: ignore[override]
        """One row for each example; None where the run folder has none."""
        assert self.path is not None
        return read_examples(self.path)

    @cached_property
    def problems(self) -> Problems:  # type: ignore[override]
        """Every row or example that was not scored."""
        assert self.path is not None
        return read_problems(self.path)


def read_run(path: str | Path) -> Result:
    """Read a run folder.

    Args:
        path: The run folder; `find_run` finds it by its id.

    Returns:
        The result as it was saved. Its examples and problems are read when they are
        first asked for, and raise `StorageError` where their file is broken.

    Raises:
        StorageError: There is no run, or its `run.json` is broken or of a newer format.
    """
    folder = local_path(path)
    if not _is_run(folder):
        raise StorageError(_no_run(folder))
    record = read_record(folder)
    scores = scores_of(record, folder)
    del record["scores"]
    return StoredResult(folder, record, scores)


def find_run(reference: str | Path, folder: str | Path = "runs") -> Path:
    """Find a run folder.

    Args:
        reference: The path of a run folder, the id of a run or as much of its start as
            tells it from the others, or `latest` for the one that began last.
        folder: Where ids and `latest` are looked for.

    Returns:
        The path of the run folder.

    Raises:
        StorageError: There is no such run, there are several, or the path is of
            something else.
    """
    path, root = local_path(reference), local_path(folder)
    name = str(reference)
    named = path.parent if path.name == RUN_FILE else path
    for candidate in (named, root / path):
        if name and _is_run(candidate):
            return candidate
    if name == LATEST:
        return _newest(root)
    runs = [run for run in _run_folders(root) if _is_run(run)]
    found = [run for run in runs if name and run.name.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise StorageError(
            f"{name!r} is the start of {len(found)} runs: {_few(found)}. Give more of "
            "the id, or the path"
        )
    if name and path.exists():
        raise StorageError(_no_run(path))
    raise StorageError(_unknown(name, root, runs))


def list_runs(folder: str | Path = "runs") -> list[RunSummary]:
    """List the runs of a folder, from their `run.json` alone.

    Args:
        folder: The folder that runs were written to; `<folder>/<data set>/<run id>`.

    Returns:
        One summary for each run folder, the newest first. A folder that is no run or
        whose record is broken comes last, with its `problem`.
    """
    summaries = [_summarise(run) for run in _run_folders(local_path(folder))]
    return sorted(summaries, key=_age, reverse=True)


def _age(summary: RunSummary) -> tuple[bool, float, int, str]:
    started = 0.0
    if summary.started is not None:
        started = datetime.fromisoformat(summary.started).timestamp()
    # the record counts seconds; of several runs of one second the last written is newer
    written = 0
    if summary.problem is None:
        written = (summary.path / RUN_FILE).stat().st_mtime_ns
    return summary.problem is None, started, written, str(summary.path)


def _summarise(folder: Path) -> RunSummary:
    if not _is_run(folder):
        why = f"{folder}: is no run: it holds no {RUN_FILE}"
        return RunSummary(folder, folder.name, problem=why)
    try:
        record = read_record(folder)
        scores = scores_of(record, folder)
    except StorageError as error:
        return RunSummary(folder, folder.name, problem=str(error))
    result = StoredResult(folder, record, scores)
    return RunSummary(
        folder,
        result.run_id,
        _started(record),
        result.dataset,
        result.task,
        record.get("split"),
        result.model,
        result.status,
        result.headline,
        bounds=record.get("bounds", {}),
    )


def _started(record: dict[str, Any]) -> str | None:
    timings = record.get("timings")
    started = timings.get("started") if isinstance(timings, dict) else None
    try:
        datetime.fromisoformat(started)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return str(started)


def _newest(root: Path) -> Path:
    summaries = list_runs(root)
    if not summaries or summaries[0].problem is not None:
        raise StorageError(_unknown(LATEST, root, []))
    return summaries[0].path


def _run_folders(root: Path) -> Iterator[Path]:
    """Give `<root>/<run id>` and `<root>/<data set>/<run id>`, sorted."""
    for child in _folders(root):
        if _is_run(child):
            yield child
        else:
            yield from _folders(child)


def _folders(root: Path) -> list[Path]:
    try:
        children = sorted(root.iterdir())
    except OSError:  # it is not there, is no folder, or may not be read
        return []
    # a hidden folder is one that is still being written, or was left so
    return [path for path in children if path.is_dir() and path.name[0] != "."]


def _is_run(folder: Path) -> bool:
    return (folder / RUN_FILE).is_file()


def _no_run(path: Path) -> str:
    if not path.exists():
        return f"there is no run folder {path}"
    held = [run for run in _run_folders(path) if _is_run(run)]
    hint = f"; it holds the runs {_few(held)}: name one of them" if held else ""
    what = f"holds no {RUN_FILE}" if path.is_dir() else "is a file"
    return f"{path} is no run folder: it {what}{hint}"


def _unknown(name: str, root: Path, runs: list[Path]) -> str:
    if not runs:
        return (
            f"there is no run {name!r}: {root} holds no runs. `evalkit eval` writes "
            "them; -o names another folder"
        )
    near = difflib.get_close_matches(name, [run.name for run in runs], _SHOWN, 0.3)
    known = [run for run in runs if run.name in near] or runs
    return (
        f"there is no run {name!r} in {root}, which holds {_few(known)} (see "
        "`evalkit runs`). A run is named by its path, the start of its id, or `latest`"
    )


def _few(runs: list[Path]) -> str:
    shown = ", ".join(f"{run.name} ({run.parent.name})" for run in runs[:_SHOWN])
    more = len(runs) - _SHOWN
    return shown + (f" and {more} more" if more > 0 else "")


def examples_of(result: Result) -> pl.DataFrame:
    """Give the examples of a result with their answers and predictions.

    Args:
        result: A result, stored or not.

    Returns:
        `result.examples`, which has columns `answer` and `pred`.

    Raises:
        StorageError: The run was made with `--no-examples`, or its file is missing.
    """
    frame = result.examples
    where = result.path or f"the run {result.run_id}"
    if frame is None:
        raise StorageError(f"{where}: has no {EXAMPLES_FILE}")
    if "answer" not in frame.columns or "pred" not in frame.columns:
        raise StorageError(
            f"{where}: holds no answers and predictions, as it was made with "
            "--no-examples (include_examples=False); evaluate again without it"
        )
    return frame


def counted_statuses(result: Result) -> list[str]:
    """Give the statuses of the examples that a result's scores are about."""
    from evalkit.alignment import Policies

    return list(Policies(**result.to_dict()["policies"]).counted)


def scored_fields(examples: pl.DataFrame) -> list[str]:
    """Give the names of the responses' fields that metrics may ask for."""
    names = examples.columns
    return names[names.index("pred") + 1 : names.index("tags")]


def answer_kind(result: Result) -> AnswerKind:
    """Give the shape of a result's answers: as recorded, else told from the column.

    Args:
        result: A result whose examples hold answers.

    Returns:
        The recorded kind. A run that recorded none has several acceptable answers
        where these are lists, and else one.
    """
    recorded: AnswerKind | None = result.to_dict().get("answer_kind")
    if recorded is not None:
        return recorded
    return "any-of" if _is_list(examples_of(result)["answer"]) else "one"


def _is_list(column: pl.Series) -> bool:
    import polars as pl

    return isinstance(column.dtype, pl.List)


def metric_names(record: Mapping[str, Any]) -> list[str]:
    """Give the names of the metrics that a run used.

    Args:
        record: What `run.json` holds.

    Returns:
        The names with parameters, in the run's order. Names of scores begin with them,
        but cannot be cut at a `#`, which a parameter may hold too.
    """
    return [
        score_name(component["id"].partition("/")[2], component["parameters"])
        for component in record.get("components", ())
        if component["id"].startswith("metrics/")
    ]


def metric_of(score: str, names: Iterable[str]) -> str | None:
    """Give the metric that a score is of.

    Args:
        score: Name of the score, `NAME[:parameters][#score]`.
        names: Names of metrics.

    Returns:
        The longest of the names that the score's begins with; None if there is none.
    """
    found = [name for name in names if score == name or score.startswith(f"{name}#")]
    return max(found, key=len, default=None)


def bound_metrics(result: Result, resolver: Resolver) -> list[Bound]:
    """Load the metrics that a run used, with their parameters.

    Args:
        result: A result.
        resolver: Finds the plugins.

    Returns:
        The metrics in the run's order, the headline first.

    Raises:
        PluginError: One is not installed (from the same distribution) any more, was
            given as an object, or takes other parameters now.
    """
    return [
        bound_component(component, resolver)
        for component in result.to_dict()["components"]
        if component["id"].startswith("metrics/")
    ]


def bound_component(component: Mapping[str, Any], resolver: Resolver) -> Bound:
    """Load a component that a run used.

    Args:
        component: What the run recorded of it.
        resolver: Finds the plugins.

    Returns:
        The component with its parameters.

    Raises:
        PluginError: It is not installed (from the same distribution) any more, was
            given as an object, or takes other parameters now.
    """
    kind, _, name = component["id"].partition("/")
    distribution = component["distribution"]
    if distribution == GIVEN:
        raise PluginError(
            f"{component['id']} was given as an object when the run was made; only "
            "installed plugins can be loaded again"
        )
    return resolver.bind(kind, f"{name}@{distribution}", component["parameters"])
