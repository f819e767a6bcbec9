"""Gives runs that were written earlier back as results."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.base.names import score_name
from evalkit.errors import PluginError, StorageError
from evalkit.examples.files import local_path
from evalkit.plugins.bound import Bound, BoundMetric
from evalkit.plugins.resolver import GIVEN, Resolver
from evalkit.predictions.problems import Problems
from evalkit.runs.files import (
    read_examples,
    read_perturbed_examples,
    read_problems,
    read_record,
    scores_of,
)
from evalkit.runs.folders import explain_no_run, is_run
from evalkit.runs.results import Result, Score
from evalkit.runs.statistics import read_statistics
from evalkit.runs.storage import EXAMPLES_FILE

if TYPE_CHECKING:
    import polars as pl

    from evalkit.base.terms import AnswerKind


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
        del self.__dict__["statistics"], self.__dict__["perturbed_examples"]
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
    def perturbed_examples(self) -> pl.DataFrame | None:  # type: ignore[override]
        """One row for each perturbed copy; None where the run folder has none."""
        assert self.path is not None
        return read_perturbed_examples(self.path)

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
    if not is_run(folder):
        raise StorageError(explain_no_run(folder))
    record = read_record(folder)
    scores = scores_of(record, folder)
    del record["scores"]
    return StoredResult(folder, record, scores)


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
    refuse_without_answers(frame, where)
    return frame


def refuse_without_answers(frame: pl.DataFrame, where: object) -> None:
    """Refuse rows of a run that was made without answers and predictions.

    Args:
        frame: Its examples, or its perturbed copies.
        where: How messages call the run.

    Raises:
        StorageError: It was made with `--no-examples`.
    """
    if "answer" not in frame.columns or "pred" not in frame.columns:
        raise StorageError(
            f"{where}: holds no answers and predictions, as it was made with "
            "--no-examples (include_examples=False); evaluate again without it"
        )


def counted_statuses(result: Result) -> list[str]:
    """Give the statuses of the examples that a result's scores are about."""
    from evalkit.predictions.alignment import Policies

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


def bound_metrics(result: Result, resolver: Resolver) -> list[BoundMetric]:
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
        BoundMetric.of(bound_component(component, resolver))
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


def mixed_clusters(first: Result, second: Result) -> str | None:
    """Say by what the examples of two runs are clustered where that is not the same.

    Args:
        first: A run.
        second: Another run.

    Returns:
        A sentence; None where both are clustered by the same columns, or one has no
        clusters.
    """
    columns = [run.to_dict().get("cluster", ()) for run in (first, second)]
    if not all(columns) or list(columns[0]) == list(columns[1]):
        return None
    one, other = (", ".join(names) for names in columns)
    return (
        f"the clusters of the run {first.run_id} are by {one}, those of "
        f"{second.run_id} by {other}"
    )
