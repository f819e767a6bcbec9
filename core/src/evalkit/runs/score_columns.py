"""The columns of `scores.parquet`: what is stored of a score, and of which kind it is.

A column is a field of `Score`. Its annotation says all that others need to know of it:
the type, whether it is computed, and the rules of the JSON Schema that
`docs/make_run_schema.py` makes.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_type_hints

if TYPE_CHECKING:
    import polars as pl


IS_COMPUTED = "computed"
"""Marks a number that is computed, and not given or declared."""

AT_LEAST_0 = {"minimum": 0}
AT_LEAST_1 = {"minimum": 1}
SHARE = {"minimum": 0, "maximum": 1}
VIEWS = {
    "enum": [
        *("all", "original", "perturbed", "drop", "agreement", "expected", "worst"),
        *("worst-of-all", "consistency"),
        *("right-to-wrong", "wrong-to-right", "wrong-to-other-wrong"),
    ]
}
CI_METHODS = {
    "enum": [
        *("none", "wilson", "wilson-clustered"),
        *("t", "t-clustered"),
        *("delta", "delta-clustered", "delta-log", "delta-log-clustered"),
        *("delta-fisher-z", "delta-fisher-z-clustered"),
        *("multinomial", "newcombe", "mover"),
        *("bootstrap", "bootstrap-clustered"),
        *("paired-bootstrap", "paired-bootstrap-clustered"),
        *("tango", "data-set"),
    ]
}


def plain_number(value: float | None) -> float | None:
    """Return a number as Python's own float; None for none, and for NaN.

    numpy's floats are written and printed in other ways, and NaN is no JSON.
    """
    return None if value is None or math.isnan(value) else float(value)


class ConfidenceInterval(NamedTuple):
    """A confidence interval of a score, as stored."""

    low: float
    high: float


class Score(NamedTuple):
    """One number, with all that is needed to read it."""

    metric: Annotated[str, {"pattern": "^[a-z0-9]+(-[a-z0-9]+)*([:#]|$)"}]
    """`NAME[:parameters that are not at their default, sorted][#score]`."""
    split: str
    tag: str | None
    """The tag whose examples it is about; None for the whole set."""
    perturbation: str | None
    """The perturbation that made the examples, or `family:NAME` for all of a family;
    None for the score of the unperturbed examples."""
    computed_on: Annotated[str, VIEWS]
    """`all`; under a perturbation `original`, `perturbed`, `drop`, `agreement`,
    `expected`, `worst`, `worst-of-all`, `consistency`, `right-to-wrong`,
    `wrong-to-right` or `wrong-to-other-wrong` (`docs/perturbations.md`)."""
    value: Annotated[float | None, IS_COMPUTED]
    """In full precision; proportions are 0 to 1. None where undefined, see `reason`."""
    se: Annotated[float | None, IS_COMPUTED]
    """Standard error."""
    ci_low: Annotated[float | None, IS_COMPUTED]
    """Bounds of the confidence interval: each a float of Python, never NaN; both None
    where there is no interval (see `ci` and `reason`)."""
    ci_high: Annotated[float | None, IS_COMPUTED]
    ci_method: Annotated[str, CI_METHODS]
    n: Annotated[int, IS_COMPUTED, AT_LEAST_0]
    """Number of examples that it was computed from."""
    n_clusters: Annotated[int | None, IS_COMPUTED, AT_LEAST_0]
    """Number of clusters; None where there are none."""
    coverage: Annotated[float | None, IS_COMPUTED, SHARE]
    """n as a share of the examples that the data has for it."""
    unit: str
    scale: float
    """What the value is multiplied with to be shown in the unit."""
    higher_is_better: bool | None
    reason: str | None
    """Why the value, or else its interval, is null."""
    flag: str | None
    """What a reader of the value should know."""
    bound_low: Annotated[float | None, IS_COMPUTED]
    """The value if every example left out were wrong; null where none was left out."""
    bound_high: Annotated[float | None, IS_COMPUTED]
    """The value if every example left out were right."""
    mean: Annotated[float | None, IS_COMPUTED]
    """Of the per-example scores, where there are any."""
    stddev: Annotated[float | None, IS_COMPUTED]
    """Population standard deviation of the per-example scores."""
    min: Annotated[float | None, IS_COMPUTED]
    """The least per-example score."""
    max: Annotated[float | None, IS_COMPUTED]
    """The greatest per-example score."""
    aggregate: Annotated[str | None, {"pattern": "^(macro|worst|gap):"}] = None
    """How scores of several tags became one: `macro:FACET`, `worst:FACET` or
    `gap:FACET`; None for the score of a group of examples."""
    p_value: Annotated[float | None, IS_COMPUTED, SHARE] = None
    """Of a gap: of the test that all groups of its facet are equal. Of a drop under
    perturbation: of the two-sided test that there is none."""
    replications: Annotated[int | None, {"minimum": 2}] = None
    """How many answers each example has; None where each has one."""
    stddev_within: Annotated[float | None, IS_COMPUTED, AT_LEAST_0] = None
    """Standard deviation of an example's scores over its replications, pooled."""
    stddev_replications: Annotated[float | None, IS_COMPUTED, AT_LEAST_0] = None
    """Standard deviation of the value over the replications."""
    largest_cluster: Annotated[float | None, IS_COMPUTED, SHARE] = None
    """Share of the examples that the largest cluster has; None without clusters."""
    effective_clusters: Annotated[float | None, IS_COMPUTED, AT_LEAST_0] = None
    """How many clusters of one size would be as unequal: 1 / the sum of the squared
    shares."""
    p_adjusted: Annotated[float | None, IS_COMPUTED, SHARE] = None
    """The p-value of a gap, adjusted for how many facets are tested (Holm); of a drop
    for how many are read together (Bonferroni)."""
    p_method: str | None = None
    """Of a drop: `mcnemar-mid`, `t`, `t-clustered`, `sign-flips-exact`, `sign-flips`,
    `swaps`, `paired-bootstrap` or `paired-bootstrap-clustered`."""
    p_at_most: bool | None = None
    """Of a drop: whether no random swap was as great, so that both p-values may be
    smaller."""
    ci_low_adjusted: Annotated[float | None, IS_COMPUTED] = None
    """Of a drop: lower bound of the interval that holds for all of its family at
    once."""
    ci_high_adjusted: Annotated[float | None, IS_COMPUTED] = None
    """The upper bound."""
    family_size: Annotated[int | None, IS_COMPUTED, AT_LEAST_1] = None
    """Of a drop: how many drops it is adjusted for, itself among them."""
    different: bool | None = None
    """Of a drop: whether it was shown that there is one, or a gain: the adjusted
    p-value is below the level and the adjusted interval leaves out 0."""

    @property
    def is_whole(self) -> bool:
        """Whether it is of all examples, and of no tag or aggregate."""
        return self.tag is None and self.aggregate is None

    @property
    def ci(self) -> ConfidenceInterval | None:
        """The confidence interval; None where there is none, see `reason`."""
        if self.ci_low is None or self.ci_high is None:
            return None
        return ConfidenceInterval(self.ci_low, self.ci_high)


_HINTS: dict[str, Any] = get_type_hints(Score, include_extras=True)


COMPUTED = tuple(name for name, hint in _HINTS.items() if IS_COMPUTED in get_args(hint))
"""The fields of a score that are computed numbers."""


def scores_frame(scores: Sequence[Score]) -> "pl.DataFrame":
    """Make a table of scores, with the columns of `Score`."""
    import polars as pl

    types = {str: pl.String, int: pl.Int64, bool: pl.Boolean, float: pl.Float64}
    schema = {
        name: next(types[kind] for kind in types if kind in (get_args(hint) or (hint,)))
        for name, hint in get_type_hints(Score).items()
    }
    return pl.DataFrame(list(scores), schema=schema, orient="row")
