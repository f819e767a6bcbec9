"""Gives runs that were written earlier back as results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from evalkit.errors import PluginError, StorageError
from evalkit.examples.row_stages import DataSource
from evalkit.plugins.bound import Bound
from evalkit.plugins.components import AS_PYTHON, GIVEN
from evalkit.plugins.importing import find_owner
from evalkit.plugins.local_plugins import is_given
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.kept_responses import LINE
from evalkit.predictions.problems import Problems
from evalkit.runs import recorded
from evalkit.runs.folders import (
    COLUMNS_FOLDER,
    EXAMPLE_COLUMNS,
    EXAMPLES_FILE,
    PROBLEMS_FILE,
    RESPONSES_FILE,
    SCORES_FILE,
    STATISTICS_FOLDER,
    explain_no_run,
    is_run,
    read_problems,
    read_record,
    read_table,
    runs_root,
    statistics_file,
    whole_run,
)
from evalkit.runs.record import RunRecord
from evalkit.runs.results import Result
from evalkit.runs.score_columns import Score, scores_frame

if TYPE_CHECKING:
    import polars as pl


class StoredResult(Result):
    """The result of a run folder; its tables are read when they are first asked for.

    Args:
        path: The run folder.
        record: What its `run.json` holds.
    """

    def __init__(self, path: Path, record: RunRecord) -> None:
        self._record = record
        self.path = self._folder = path
        self.perturbed = None
        self.part_files = {}
        self._first_rows: dict[str, int] = {}

    @cached_property
    def scores(self) -> tuple[Score, ...]:  # type: ignore[override]
        """All scores."""
        from evalkit.base.columns import all_named

        types = {name: str(kind) for name, kind in scores_frame(()).schema.items()}
        frame = self._table(SCORES_FILE, types)
        if frame is None:
            path = self._folder / SCORES_FILE
            raise StorageError(f"{path}: the run holds no digest of it")
        return tuple(map(Score._make, frame.select(all_named(types)).iter_rows()))

    @cached_property
    def statistics(self) -> dict[str, pl.DataFrame]:  # type: ignore[override]
        """The statistics of each metric, by its name."""
        # a metric that gives several scores in one pass has statistics of each
        names = [*self.record.metric_names, *self.metrics]
        return self._tables(STATISTICS_FOLDER, names, ("position",))

    @cached_property
    def column_details(self) -> dict[str, pl.DataFrame]:  # type: ignore[override]
        """The details of computed columns, by the name of what computed them."""
        texts = dict.fromkeys(("id", "replication", "reason"), "String")
        names = [each.name for each in self.record.columns]
        return self._tables(COLUMNS_FOLDER, names, {**texts, "failed": "Boolean"})

    @cached_property
    def examples(self) -> pl.DataFrame | None:  # type: ignore[override]
        """One row for each example; None where the run folder has none."""
        return self._table(EXAMPLES_FILE, EXAMPLE_COLUMNS)

    @cached_property
    def responses(self) -> pl.DataFrame | None:
        """The rows of predictions as they came, before adapters and extractors."""
        import polars as pl

        found = self._table(RESPONSES_FILE)
        if found is not None and found.columns == [LINE]:
            is_text = found[LINE].dtype in (pl.String, pl.Binary)
            if not is_text or found[LINE].null_count():
                raise StorageError(
                    f"{self._folder / RESPONSES_FILE}: is not what evalkit writes: its "
                    f"column {LINE!r} must hold lines of text"
                )
        return found

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:  # type: ignore[override]
        """Tables that an analysis added, by file name."""
        own = (EXAMPLES_FILE, SCORES_FILE, RESPONSES_FILE)
        added = re.compile(r"[^/]+\.parquet").fullmatch
        names = [n for n in self.record.files if n not in own and added(n)]
        return {name: each for name in names if (each := self._table(name)) is not None}

    @cached_property
    def problems(self) -> Problems:  # type: ignore[override]
        """Every row or example that was not scored."""
        return read_problems(self._folder, self.record.files.get(PROBLEMS_FILE))

    def _tables(
        self,
        below: str,
        names: Iterable[str],
        columns: Sequence[str] | Mapping[str, str],
    ) -> dict[str, pl.DataFrame]:
        paths = {name: f"{below}/{statistics_file(name)}" for name in names}
        found = {name: self._table(path, columns) for name, path in paths.items()}
        return {name: frame for name, frame in found.items() if frame is not None}

    def _table(
        self, name: str, columns: Sequence[str] | Mapping[str, str] = ()
    ) -> pl.DataFrame | None:
        """Read a table, whole or in parts; one that is not recorded is not read."""
        import polars as pl

        frames: list[pl.DataFrame] = []
        try:
            for part, digest in self._digests.get(name, {}).items():
                frame = read_table(self._folder / (part + name), columns, digest)
                if part and "position" in columns and self.examples is not None:
                    moved = pl.col("position") + self._first_rows[part]
                    frame = frame.with_columns(moved)
                if name == EXAMPLES_FILE:
                    self._first_rows[part] = sum(each.height for each in frames)
                frames.append(frame)
            if name == RESPONSES_FILE and frames:  # lines are bytes in some parts
                return pl.concat(frames, how="vertical_relaxed")
            # a part of which nothing is scored has no scores of its examples
            return pl.concat(frames, how="diagonal_relaxed") if frames else None
        except (KeyError, pl.exceptions.PolarsError) as error:
            reason = str(error).partition("\n")[0]
            raise StorageError(
                f"{self._folder}: the parts of {name} do not fit together: {reason}"
            ) from error

    @cached_property
    def _digests(self) -> dict[str, dict[str, recorded.FileDigest]]:
        """Digests of files by their name, and by `parts/NUMBER/` or "" before it."""
        found: dict[str, dict[str, recorded.FileDigest]] = {}
        for path, digest in self.record.files.items():
            name = re.sub(r"^parts/\d+/", "", path)
            found.setdefault(name, {})[path.removesuffix(name)] = digest
        return found


def read_run(path: str | Path) -> Result:
    """Read a run folder.

    Args:
        path: The run folder; `find_run` finds it by its id.

    Returns:
        The result as it was saved. Its scores, examples and problems are read when
        they are first asked for, and raise `StorageError` where their file is broken.

    Raises:
        StorageError: There is no run, or its `run.json` is broken or of a newer format.
    """
    folder = whole_run(runs_root(path))
    if not is_run(folder):
        raise StorageError(explain_no_run(folder))
    return StoredResult(folder, read_record(folder))


def examples_of(result: Result) -> pl.DataFrame:
    """Return the examples of a result with their answers and predictions."""
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


def scored_fields(examples: pl.DataFrame) -> list[str]:
    """Return the names of the responses' fields that metrics may ask for."""
    names = examples.columns
    return names[names.index("pred") + 1 : names.index("tags")]


def bound_component(component: recorded.Component, resolver: Resolver) -> Bound:
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
    offered = resolver.registry.catalog.of_kind(component.kind)
    named = {each.name for each in filter(is_given, offered)}
    is_named = component.distribution == AS_PYTHON and component.name in named
    if component.distribution in (GIVEN, AS_PYTHON) and not is_named:
        hint = "; name its file (--plugin)" if component.distribution != GIVEN else ""
        raise PluginError(
            f"{component.id} was {component.distribution} when the run was made; only "
            f"installed plugins can be loaded again{hint}"
        )
    reference = component.name if is_named else component.reference
    if component.kind == "adapters":
        owner = find_owner("datasets", "adapters")
        if owner is not None:
            stage = {"kind": reference, **component.parameters}
            source: DataSource = owner((), None)
            return source.recorded([stage], resolver.registry).components[0]
    return resolver.bind(component.kind, reference, component.parameters)
