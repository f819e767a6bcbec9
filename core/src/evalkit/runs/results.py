"""What an evaluation gives: scores, counts, problems, and all it was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.errors import EvalkitError, PluginError
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.problems import Problem, Problems
from evalkit.runs import recorded
from evalkit.runs.folders import (
    COLUMNS_FOLDER,
    EXAMPLES_FILE,
    RESPONSES_FILE,
    SCORES_FILE,
    STATISTICS_FOLDER,
    RunContents,
    check_place,
    publish,
    statistics_file,
)
from evalkit.runs.record import RunRecord
from evalkit.runs.score_columns import Score, scores_frame

if TYPE_CHECKING:
    import polars as pl


class Result:
    """The result of one evaluation of one model.

    `result["accuracy"]` is the score of the whole set, `result.by_tag` a table of the
    scores of every tag.

    Args:
        record: What `run.json` holds.
        scores: All scores.
        problems: Every row or example that was not scored.
        examples: One row for each example, as `examples.parquet` holds it.
        statistics: The statistics of each metric, by its name: `position` (the row in
            `examples`), the metric's keys and its number columns.
        column_details: What is kept beside the values of computed columns of
            `examples`, by its name: `id`, `replication`, `text`, `reason`,
            `failed`, `seconds`, `cost` and `kept`, a row for each response.
    """

    def __init__(
        self,
        record: RunRecord | Mapping[str, Any],
        scores: Sequence[Score],
        problems: Iterable[Problem],
        examples: pl.DataFrame | None,
        statistics: Mapping[str, pl.DataFrame] | None = None,
        column_details: Mapping[str, pl.DataFrame] | None = None,
    ) -> None:
        self._record = RunRecord.model_validate(record)
        self.scores = tuple(scores)
        self.problems = (
            problems if isinstance(problems, Problems) else Problems(problems)
        )
        self.examples = examples
        self.statistics = dict(statistics or {})
        self.column_details = dict(column_details or {})
        self.responses_of: Callable[[], pl.DataFrame | None] = lambda: None
        self.tables: dict[str, pl.DataFrame] = {}
        """Tables that an analysis adds to the run folder, by file name."""
        self.part_files: dict[str, str | Path] = {}
        """Paths or URIs of tables by example that were written in parts, by their path
        in the run folder, such as `parts/00000/examples.parquet`."""
        self.perturbed: list[Result] | None = []
        """The runs of perturbed examples that were evaluated with this run; None for a
        stored run, whose folder may hold some."""
        self.path: Path | None = None
        """The run folder, once it has been saved."""

    def __repr__(self) -> str:
        score = self.headline
        shown = ""
        if score is not None and score.value is not None:
            shown = f": {score.metric} {score.value:.4g}"
        run = self.run_id or "no run id"
        return f"<Result {self.dataset} {self.model} {self.status} {run}{shown}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: an installed display, or else a plain table."""
        from evalkit.plugins.importing import html_of, html_table

        header = ("metric", "value", "low", "high", "n")
        shown = [each for each in self.scores if each.is_whole]
        if self.headline is not None and self.headline not in shown:
            shown.insert(0, self.headline)
        rows = [
            (each.metric, each.value, each.ci_low, each.ci_high, each.n)
            for each in shown
        ]
        caption = f"{self.dataset}, {self.model}: {self.status}"
        return html_of("result_html", self, html_table(caption, header, rows))

    @cached_property
    def responses(self) -> pl.DataFrame | None:
        """The rows of predictions as they came, before adapters and extractors.

        None for a run without examples, and for one that was made of others.
        """
        return self.responses_of()

    @property
    def record(self) -> RunRecord:
        """All that `run.json` holds."""
        return self._record

    @property
    def run_id(self) -> str:
        """The 8 hex digits with which the run folder's name ends; "" for two lists."""
        return self._record.run_id

    @property
    def fingerprint(self) -> str:
        """16 hex digits over all inputs; "" for scores of two lists."""
        return self._record.fingerprint

    @property
    def status(self) -> str:
        """`complete`, `partial` or `refused`.

        A partial result is one of which a metric failed (see `errors`) or of which
        only some examples were evaluated; for a refused one see the counts.
        """
        return self._record.status

    @property
    def model(self) -> str | None:
        """Name of the model."""
        return self._record.model

    @property
    def dataset(self) -> str | None:
        """Name of the data set."""
        return self._record.dataset

    @property
    def task(self) -> str | None:
        """Name of the task."""
        return self._record.task

    @property
    def counts(self) -> Mapping[str, int]:
        """How many examples and prediction rows there were, by status."""
        return self._record.counts.to_dict()

    @property
    def is_failed(self) -> bool:
        """Whether it was refused or a metric failed."""
        return self.status == "refused" or bool(self.errors)

    @property
    def errors(self) -> Sequence[str]:
        """Why metrics failed."""
        return self._record.errors

    @property
    def notices(self) -> Sequence[str]:
        """What a user should know that is no error."""
        return self._record.notices

    @property
    def warnings(self) -> Sequence[str]:
        """What went wrong without changing any score."""
        return self._record.warnings

    @property
    def headline(self) -> Score | None:
        """The main score: of the whole set, or the mean over a facet's tags.

        A data set whose headline is a mean over a facet has the score of all examples
        where none of them has a tag of the facet.
        """
        name, aggregate = self._record.headline, self._record.headline_aggregate
        if not name:
            return None
        for score in self.scores:
            if aggregate and (score.metric, score.aggregate) == (name, aggregate):
                return score
        return self._find(name)

    @property
    def metrics(self) -> list[str]:
        """Names of the scores of the whole set."""
        return [score.metric for score in self.scores if score.is_whole]

    def __getitem__(self, metric: str) -> Score:
        score = self._find(metric)
        if score is None:
            known = ", ".join(self.metrics) or "none"
            raise KeyError(f"there is no score {metric!r}; there are: {known}")
        return score

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __contains__(self, metric: object) -> bool:
        return isinstance(metric, str) and self._find(metric) is not None

    def _find(self, metric: str) -> Score | None:
        found = {score.metric: score for score in self.scores if score.is_whole}
        name = metric.partition(":")[0]
        if metric in found or name not in {each.partition(":")[0] for each in found}:
            return found.get(metric)
        try:  # a name may set parameters to their defaults
            return found.get(Resolver(Registry()).metric(metric).name)
        except PluginError:
            return None

    @property
    def frame(self) -> pl.DataFrame:
        """All scores as a table, as `scores.parquet` holds them."""
        return scores_frame(self.scores)

    @property
    def by_tag(self) -> pl.DataFrame:
        """The scores of every tag, sorted by metric and then value, worst first.

        Value and interval are its first and last columns, which polars shows.
        """
        import polars as pl

        from evalkit.base.columns import all_named

        first, last = ["metric", "tag", "value", "n"], ["ci_low", "ci_high"]
        others = [name for name in Score._fields if name not in (*first, *last)]
        value = pl.col("value")
        rank = pl.when(~pl.col("higher_is_better")).then(-value).otherwise(value)
        return (
            self.frame.filter(
                pl.col("tag").is_not_null() & pl.col("aggregate").is_null()
            )
            .sort("metric", rank, "tag", nulls_last=True)
            .select(all_named([*first, *others, *last]))
        )

    def record_time(self, started: float, seconds: float) -> None:
        """Note when the evaluation began, and how many seconds it took."""
        moment = datetime.fromtimestamp(started, tz=UTC)
        timings = recorded.Timings(
            started=moment.isoformat(timespec="microseconds"), seconds=round(seconds, 3)
        )
        self._record = self._record.changed(timings=timings)

    def amend(self, **changes: Any) -> None:
        """Replace fields of the record."""
        self._record = self._record.changed(**changes)

    def record_warnings(self, texts: Sequence[str]) -> None:
        """Add what is not there yet to what went wrong without changing any score."""
        new = (text for text in texts if text not in self.warnings)
        self._record = self._record.changed(warnings=(*self.warnings, *new))

    def to_dict(self) -> dict[str, Any]:
        """Return what `run.json` holds, and the scores."""
        scores = [score._asdict() for score in self.scores]
        return {**self._record.to_dict(), "scores": scores}

    def tables_by_example(self) -> dict[str, pl.DataFrame | None]:
        """Return the tables that hold examples, by their paths in the run folder."""
        tables = {EXAMPLES_FILE: self.examples}
        for below, own in (
            (STATISTICS_FOLDER, self.statistics),
            (COLUMNS_FOLDER, self.column_details),
        ):
            tables |= {f"{below}/{statistics_file(name)}": own[name] for name in own}
        return tables

    def save(self, folder: str | Path) -> Path:
        """Write the run folder `<folder>/<dataset>/<UTC time>-<model>-<8 hex>`.

        The runs in `perturbed` are written first, unless they were written before.

        Args:
            folder: The folder that holds runs, or the URI of one.

        Returns:
            The path of the run folder.

        Raises:
            StorageError: It cannot be written; then no run folder is left.
        """
        if not self.run_id:
            raise EvalkitError(
                "scores of two lists have no fingerprint and cannot be saved; use "
                "evaluate()"
            )
        if paths := [run.path or run.save(folder) for run in self.perturbed or ()]:
            self.amend(perturbed_runs=tuple(path.name for path in paths))
        check_place(folder)
        tables = {SCORES_FILE: self.frame, RESPONSES_FILE: self.responses}
        tables |= {**self.tables, **self.tables_by_example()}
        whole = {name: frame for name, frame in tables.items() if frame is not None}
        listed = self._record, self.headline, self.problems, whole, self.part_files
        self.path, self._record = publish(RunContents(*listed), folder)
        return self.path
