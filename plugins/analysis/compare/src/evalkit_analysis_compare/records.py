"""Records of a comparison: one row for each score, and all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, get_args, get_type_hints

import polars as pl

from evalkit.plugins.importing import html_of, html_table
from evalkit.reporting import count_of


class ComparedScore(NamedTuple):
    """The difference of one score of two models on one group of examples."""

    metric: str
    """`NAME[:parameters][#score]`."""
    tag: str | None
    """The tag whose examples it is about; None for the whole set."""
    model_a: str
    """The first of the models that are compared."""
    model_b: str
    value_a: float | None
    """As stored, on the examples that both were scored on; proportions are 0 to 1."""
    value_b: float | None
    difference: float | None
    """`value_a` less `value_b`, as all that follows is."""
    se: float | None
    """Standard error of the difference."""
    ci_low: float | None
    ci_high: float | None
    ci_method: str
    n: int
    """Number of examples that both were scored on."""
    n_clusters: int | None
    left_out: int
    """Number of examples that only one of the two was scored on."""
    wins: int | None
    """Examples that the first does better on (has more, where no direction is known);
    None for metrics without scores of single examples."""
    losses: int | None
    ties: int | None
    p_value: float | None
    """Two-sided, of the test that the two are equally good."""
    p_method: str
    """`mcnemar-mid`, `t`, `t-clustered`, `sign-flips-exact`, `sign-flips`, `swaps`,
    `delta`, `delta-log` (both also `-clustered`), `delong`, `paired-bootstrap`,
    `paired-bootstrap-clustered` or `none`."""
    p_adjusted: float | None
    """The p-value times the size of its family (Bonferroni): of a tag, and of the whole
    set where several pairs of models are compared."""
    smallest_detectable: float | None
    """True difference that would be found with a probability of about 80 % at the level
    that is tested at, adjusted where p-values are; None where none would be found, or
    where none is known."""
    equivalent: bool | None
    """Whether the difference is within the margin, for all of the family at once; None
    without a margin."""
    unit: str
    scale: float
    """What values are multiplied with to be shown in the unit."""
    higher_is_better: bool | None
    conclusion: str
    """What may be concluded, after the adjusted p-value where there is one."""
    reason: str | None
    """Why the difference, its interval or its test is null."""
    ci_low_adjusted: float | None = None
    """Of the interval that holds for all of the family at once, beside `p_adjusted`."""
    ci_high_adjusted: float | None = None
    p_at_most: bool | None = None
    """Whether no random draw was as great, so that the true p-values may be smaller."""
    different: bool | None = None
    """Whether a difference was shown, as the conclusion says; False is not `equal`."""
    family_size: int | None = None
    """How many comparisons were adjusted for: those of the metric, of all pairs shown,
    on the whole set or on all tags."""
    left_out_a: int = 0
    """Those left out that the first was not scored on (and the second was)."""
    left_out_b: int = 0
    as_wrong_a: int = 0
    """Examples of `n` without a valid prediction of the first, counted as wrong."""
    as_wrong_b: int = 0

    @property
    def tested_interval(self) -> tuple[float | None, float | None]:
        """The interval that the conclusion follows, adjusted where there is one."""
        if self.p_adjusted is not None:
            return self.ci_low_adjusted, self.ci_high_adjusted
        return self.ci_low, self.ci_high

    @property
    def is_judged(self) -> bool:
        """Whether it is known if the first is shown to be worse than the second."""
        known = (self.p_value, *self.tested_interval)
        is_known = self.difference == 0 or None not in known
        return is_known and self.higher_is_better is not None

    def is_worse(self, margin: float = 0.0) -> bool:
        """Tell whether the first is shown to be worse than the second.

        Args:
            margin: By more than this, as stored.
        """
        low, high = self.tested_interval
        if not self.different or low is None or high is None:
            return False
        if self.higher_is_better is None:
            return False
        return high < -margin if self.higher_is_better else low > margin


class Comparison:
    """Runs compared with the first of them.

    Args:
        record: What was compared, and how.
        rows: By model, metric and tag: the whole set first, then tags, those first on
            which the first model does worst beside the other.
        widest: The greatest difference that there can be, by metric, as stored.
            Intervals are stored as they were computed, and shown up to it.
    """

    def __init__(
        self,
        record: Mapping[str, Any],
        rows: Sequence[ComparedScore],
        widest: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        self._record = dict(record)
        self.rows = tuple(rows)
        self.widest = dict(widest)

    def __repr__(self) -> str:
        models = " vs ".join(str(run["model"]) for run in self._record["runs"])
        return f"<Comparison {models}: {count_of(len(self.rows), 'row')}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: an installed display, or else a plain table."""
        header = ("models", "metric", "difference", "low", "high", "n", "conclusion")
        rows = [
            (
                f"{row.model_a} less {row.model_b}",
                row.metric,
                row.difference,
                *row.tested_interval,
                row.n,
                row.conclusion,
            )
            for row in self.whole
        ]
        return html_of("comparison_html", self, html_table("Comparison", header, rows))

    @property
    def notices(self) -> Sequence[str]:
        """What a reader should know beside the rows."""
        return tuple(self._record["notices"])

    @property
    def confidence(self) -> float:
        """Probability of the intervals; 1 less it is the level of the tests."""
        return float(self._record["confidence"])

    @property
    def margin(self) -> float | None:
        """Differences up to this count as none; None where no margin was given."""
        found: float | None = self._record.get("margin")
        return found

    @property
    def best(self) -> Mapping[str, Sequence[str]]:
        """Models that no other was shown to be better than, by metric.

        The best one is among them with the probability of the intervals. Given for
        three models or more, and for metrics of which it is known what is better.
        """
        found: Mapping[str, Sequence[str]] = self._record.get("best", {})
        return found

    @property
    def whole(self) -> list[ComparedScore]:
        """The rows of the whole set."""
        return [row for row in self.rows if row.tag is None]

    @property
    def worse(self) -> list[ComparedScore]:
        """The rows of the whole set that show the first run to be worse than another.

        These are `different` to its disadvantage; with a margin by more than that: the
        interval that was tested with, adjusted where there are several comparisons,
        lies wholly beyond it.
        """
        margin = self.margin or 0.0
        return [row for row in self._of_first if row.is_worse(margin)]

    @property
    def judged(self) -> list[ComparedScore]:
        """The rows of the whole set that could show the first run to be worse."""
        return [row for row in self._of_first if row.is_judged]

    @property
    def unjudged(self) -> list[ComparedScore]:
        """The rows of the whole set with the first run that could never be in `worse`.

        Of these it is not known what is better, or they differ without interval or
        test.
        """
        return [row for row in self._of_first if not row.is_judged]

    @property
    def _of_first(self) -> list[ComparedScore]:
        first = self._record["runs"][0]["name"]
        return [row for row in self.whole if row.model_a == first]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All rows as a table with the columns of `ComparedScore`."""
        hints = get_type_hints(ComparedScore)
        schema = {name: _column_type(hints[name]) for name in ComparedScore._fields}
        return pl.DataFrame(list(self.rows), schema=schema, orient="row")

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {**self._record, "rows": [row._asdict() for row in self.rows]}


def _column_type(hint: Any) -> Any:
    """Return the type of the column that holds a field, null or not."""
    kinds = set(get_args(hint)) - {type(None)} or {hint}
    types = {int: pl.Int64, float: pl.Float64, bool: pl.Boolean, str: pl.String}
    return types[kinds.pop()]
