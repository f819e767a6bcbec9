"""What an evaluation gives: scores, counts, problems, and all it was made from."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.errors import EvalkitError
from evalkit.predictions.problems import Problem, Problems
from evalkit.runs.repeated_runs import repeat_notice

if TYPE_CHECKING:
    import polars as pl

FORMAT_VERSION = 2
"""Version of the run folder's format."""


def plain_number(value: float | None) -> float | None:
    """Give a number as Python's own float; None for none, and for NaN.

    numpy's floats are written and printed in other ways, and NaN is no JSON.
    """
    return None if value is None or math.isnan(value) else float(value)


class ConfidenceInterval(NamedTuple):
    """A confidence interval of a score, as stored."""

    low: float
    high: float


class Score(NamedTuple):
    """One number, with all that is needed to read it."""

    metric: str
    """`NAME[:parameters][#score]`."""
    split: str
    tag: str | None
    """The tag whose examples it is about; None for the whole set."""
    perturbation: str | None
    """The perturbation whose effect it shows, `family:NAME` for all of a family; None
    for the score of the unperturbed examples."""
    computed_on: str
    """`all`; under a perturbation `original`, `perturbed`, `drop`, `agreement`,
    `expected`, `worst`, `worst-of-all`, `consistency`, `right-to-wrong`,
    `wrong-to-right` or `wrong-to-other-wrong` (`docs/perturbations.md`)."""
    value: float | None
    """Full precision; proportions are 0 to 1."""
    se: float | None
    """Standard error."""
    ci_low: float | None
    """Bounds of the confidence interval: each a float of Python, never NaN; both None
    where there is no interval (see `ci` and `reason`)."""
    ci_high: float | None
    ci_method: str
    n: int
    """Number of examples that it was computed from."""
    n_clusters: int | None
    coverage: float | None
    """n as a share of the examples that the data has for it."""
    unit: str
    scale: float
    """What the value is multiplied with to be shown in the unit."""
    higher_is_better: bool | None
    reason: str | None
    """Why the value, or else its interval, is null."""
    flag: str | None
    """What a reader of the value should know."""
    bound_low: float | None
    """The value if every example left out were wrong; null where none was left out."""
    bound_high: float | None
    """The value if every example left out were right."""
    mean: float | None
    """Mean, population standard deviation, least and greatest per-example score."""
    stddev: float | None
    min: float | None
    max: float | None
    aggregate: str | None = None
    """How scores of several tags became one: `macro:FACET`, `worst:FACET` or
    `gap:FACET`; None for the score of a group of examples."""
    p_value: float | None = None
    """Of a gap: of the test that all its groups are equal. Of a drop under
    perturbation: of the two-sided test that there is none."""
    replications: int | None = None
    """How many answers each example has; None where each has one."""
    stddev_within: float | None = None
    """Standard deviation of an example's scores over its replications, pooled."""
    stddev_replications: float | None = None
    """Standard deviation of the value over the replications."""
    largest_cluster: float | None = None
    """Share of the examples that the largest cluster has; None without clusters."""
    effective_clusters: float | None = None
    """How many clusters of one size would be as unequal."""
    p_adjusted: float | None = None
    """The p-value of a gap, adjusted for how many facets are tested (Holm); of a drop
    for how many are read together (Bonferroni)."""
    shrunk: float | None = None
    """Of a tag: the value drawn towards the mean of the tags of its facet (empirical
    Bayes); of a tag without a facet, of all tags without one."""
    rank_best: int | None = None
    """The best rank that the tag may have among those tags; 1 is the best."""
    rank_worst: int | None = None
    """The worst rank that it may have."""
    p_method: str | None = None
    """Of a drop: `mcnemar-exact`, `sign-flips-exact`, `sign-flips`,
    `sign-flips-normal`, `swaps-exact` or `swaps`."""
    p_at_most: bool | None = None
    """Of a drop: whether no random swap was as great, so that both p-values may be
    smaller."""
    ci_low_adjusted: float | None = None
    """Of a drop: the interval that holds for all of its family at once."""
    ci_high_adjusted: float | None = None
    family_size: int | None = None
    """Of a drop: how many drops it is adjusted for, itself among them."""
    different: bool | None = None
    """Of a drop: whether it was shown that there is one, or a gain: the adjusted
    p-value is below the level and the adjusted interval leaves out 0."""

    @property
    def is_whole(self) -> bool:
        """Whether it is of all examples, and of no tag, aggregate or perturbation."""
        return self.tag is None and self.aggregate is None and self.perturbation is None

    @property
    def ci(self) -> ConfidenceInterval | None:
        """The confidence interval; None where there is none, see `reason`."""
        if self.ci_low is None or self.ci_high is None:
            return None
        return ConfidenceInterval(self.ci_low, self.ci_high)


class Result:
    """The result of one evaluation of one model.

    `result["accuracy"]` is the score of the whole set, `result.by_tag` a table of the
    scores of every tag.

    Args:
        record: What `run.json` holds, but for the scores.
        scores: All scores.
        problems: Every row or example that was not scored.
        examples: One row for each example, as `examples.parquet` holds it.
        statistics: The statistics of each metric, by its name: `position` (the row in
            `examples`), the metric's keys and its number columns.
        perturbed_examples: One row for each perturbed copy, as `perturbed.parquet`
            holds it; None where no perturbed file was given.
    """

    def __init__(
        self,
        record: Mapping[str, Any],
        scores: Sequence[Score],
        problems: Iterable[Problem],
        examples: pl.DataFrame | None,
        statistics: Mapping[str, pl.DataFrame] | None = None,
        perturbed_examples: pl.DataFrame | None = None,
    ) -> None:
        self._record = dict(record)
        self.statistics = dict(statistics or {})
        self.scores = tuple(scores)
        self.problems = (
            problems if isinstance(problems, Problems) else Problems(problems)
        )
        self.examples = examples
        self.perturbed_examples = perturbed_examples
        self.path: Path | None = None
        """The run folder, once it has been saved."""
        self.was_there = False
        """Whether the run folder was there when it was saved, and was kept."""

    def __repr__(self) -> str:
        return (
            f"<Result {self.dataset} {self.model} {self.status} "
            f"{self.run_id or 'no run id'}>"
        )

    @property
    def run_id(self) -> str:
        """16 hex digits over all inputs; "" for scores of two lists."""
        return str(self._record.get("run_id", ""))

    @property
    def status(self) -> str:
        """`complete`, `partial` or `refused`.

        A partial result is one of which a metric failed (see `errors`) or of which
        only some examples were evaluated; for a refused one see the counts.
        """
        return str(self._record["status"])

    @property
    def model(self) -> str | None:
        """Name of the model."""
        return self._record.get("model")

    @property
    def dataset(self) -> str | None:
        """Name of the data set."""
        return self._record.get("dataset")

    @property
    def task(self) -> str | None:
        """Name of the task."""
        return self._record.get("task")

    @property
    def counts(self) -> Mapping[str, int]:
        """How many examples and prediction rows there were, by status."""
        return dict(self._record["counts"])

    @property
    def is_failed(self) -> bool:
        """Whether it was refused or a metric failed."""
        return self.status == "refused" or bool(self.errors)

    @property
    def errors(self) -> Sequence[str]:
        """Why metrics failed."""
        return tuple(self._record.get("errors", ()))

    @property
    def notices(self) -> Sequence[str]:
        """What a user should know that is no error."""
        return tuple(self._record.get("notices", ()))

    @property
    def warnings(self) -> Sequence[str]:
        """What went wrong without changing any score."""
        return tuple(self._record.get("warnings", ()))

    @property
    def interval_rules(self) -> int:
        """Edition of the rules that its intervals follow; 1 where none is recorded."""
        return int(self._record.get("interval_rules", 1))

    @property
    def headline(self) -> Score | None:
        """The main score: of the whole set, or the mean over a facet's tags.

        A data set whose headline is a mean over a facet has the score of all examples
        where none of them has a tag of the facet.
        """
        name = self._record.get("headline")
        if not name:
            return None
        aggregate = self._record.get("headline_aggregate")
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
        return any(score.metric == metric for score in self.scores if score.is_whole)

    def _find(self, metric: str) -> Score | None:
        for score in self.scores:
            if score.metric == metric and score.is_whole:
                return score
        return None

    @property
    def frame(self) -> pl.DataFrame:
        """All scores as a table, as `scores.parquet` holds them."""
        return scores_frame(self.scores)

    @property
    def under_perturbation(self) -> list[Score]:
        """The scores that show the effect of perturbations, in the order of the run."""
        return [score for score in self.scores if score.perturbation is not None]

    @property
    def by_tag(self) -> pl.DataFrame:
        """The scores of every tag, sorted by metric and then value, worst first.

        Those under a perturbation are not among them.
        """
        import polars as pl

        return (
            self.frame.filter(
                pl.col("tag").is_not_null()
                & pl.col("aggregate").is_null()
                & pl.col("perturbation").is_null()
            )
            .with_columns(
                __rank=pl.when(~pl.col("higher_is_better"))
                .then(-pl.col("value"))
                .otherwise(pl.col("value"))
            )
            .sort("metric", "__rank", "tag", nulls_last=True)
            .drop("__rank")
        )

    def record_time(self, started: float, seconds: float) -> None:
        """Note when the evaluation began and how long it took.

        Args:
            started: Seconds since 1970.
            seconds: Seconds that it took.
        """
        moment = datetime.fromtimestamp(started, tz=UTC)
        self._record["timings"] = {
            "started": moment.isoformat(timespec="microseconds"),
            "seconds": round(seconds, 3),
        }

    def record_repeat(self, run_id: str, differs: Sequence[str]) -> None:
        """Make a run of its own of a repeat that gave other numbers.

        Args:
            run_id: Its id.
            differs: What is not as in the run whose id it had.
        """
        first = self.run_id
        self._record |= {
            "run_id": run_id,
            "repeat_of": first,
            "notices": [*self.notices, repeat_notice(first, differs)],
        }

    def record_warning(self, text: str) -> None:
        """Add to what went wrong without changing any score."""
        self._record["warnings"] = [*self.warnings, text]

    def to_dict(self) -> dict[str, Any]:
        """Give what `run.json` holds."""
        return {
            **copy.deepcopy(self._record),
            "scores": [score._asdict() for score in self.scores],
        }

    def save(self, folder: str | Path) -> Path:
        """Write the run folder `<folder>/<dataset>/<run id>`.

        A run is immutable: where it is already there, that one is kept, and is the
        `latest` from then on. Where it is there with other numbers, this one becomes a
        run of its own, whose record says of which it is a repeat.

        Args:
            folder: The folder that holds runs.

        Returns:
            The path of the run folder.

        Raises:
            StorageError: It cannot be written; then no run folder is left.
        """
        from evalkit.runs.storage import LocalStorage

        if not self.run_id:
            raise EvalkitError(
                "scores of two lists have no run id and cannot be saved; use evaluate()"
            )
        self.path = LocalStorage(Path(folder)).publish(self)
        return self.path


_TEXTS = (
    *("metric", "split", "tag", "perturbation", "computed_on", "ci_method", "unit"),
    *("reason", "flag", "aggregate", "p_method"),
)
_COUNTS = (
    *("n", "n_clusters", "replications", "rank_best", "rank_worst", "family_size"),
)
_FLAGS = ("higher_is_better", "p_at_most", "different")


def scores_frame(scores: Sequence[Score]) -> pl.DataFrame:
    """Make a table of scores.

    Args:
        scores: The scores.

    Returns:
        One row for each, with the columns of `Score`.
    """
    import polars as pl

    types: dict[str, Any] = {
        **dict.fromkeys(_TEXTS, pl.String),
        **dict.fromkeys(_COUNTS, pl.Int64),
        **dict.fromkeys(_FLAGS, pl.Boolean),
    }
    schema = {name: types.get(name, pl.Float64) for name in Score._fields}
    return pl.DataFrame(list(scores), schema=schema, orient="row")
