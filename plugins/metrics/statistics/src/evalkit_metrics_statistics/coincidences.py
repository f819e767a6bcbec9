"""Agreement of several ratings of each example, from pairs of them.

Each ordered pair of two ratings of an example counts 1 / (m - 1), where m is how many
ratings the example has, so that every rating counts once. These sums over examples are
Krippendorff's matrix of coincidences, from which follow his alpha and Fleiss' kappa.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit import Metric, MetricError, Parameters

Floats: TypeAlias = NDArray[np.float64]

RESPONSES = "responses"
ALL_EQUAL = "all ratings are equal"
NOT_REPEATED = (
    "each example has one rating; several are alternatives in `responses`, or answers "
    "of several `_replication_`s"
)


class RatingParameters(Parameters):
    """Where the ratings are."""

    of: tuple[str, ...] = ()
    """Columns that hold a rating each, such as `NAME.label` of a judge and a field with
    people's; or one that holds a list of them. By default the response's alternatives,
    or the answers of all replications."""


class AgreementMetric(Metric):
    """Agreement beyond chance of the ratings of each example, at most 1.

    The ratings are a response's alternatives, the answers of all replications, or what
    columns hold. An example with fewer than two is none to which it applies; one
    without a prediction that counts makes the score null, as it has no worst value.
    """

    Parameters = RatingParameters
    answer_kinds = ("one", "any-of", "number", "none")
    bounds = (-1.0, 1.0)
    higher_is_better = True
    interval = "bootstrap"
    keys = ("first", "ratings", "second")
    has_possible_range = False

    @property
    def of(self) -> tuple[str, ...]:
        """The columns that hold ratings; empty for the usual ones."""
        parameters = self.parameters
        assert isinstance(parameters, RatingParameters)
        return parameters.of

    @property
    def columns(self) -> Sequence[str]:  # type: ignore[override]
        """The columns that hold ratings."""
        return self.of or (RESPONSES,)

    @property
    def optional_columns(self) -> Sequence[str]:  # type: ignore[override]
        """Responses need not have alternatives."""
        return () if self.of else (RESPONSES,)

    @property
    def joins_replications(self) -> bool:  # type: ignore[override]
        """Whether answers are compared, and not what columns hold of each."""
        return not self.of

    def agreement(self, counts: Floats, cells: Cells) -> Floats:
        """Return the agreement of samples.

        Args:
            counts: The coincidences, of shape (samples, cells).
            cells: Which ratings each cell is a pair of.

        Returns:
            An array of shape (samples,); nan where it is 0 / 0.
        """
        raise TypeError(f"{type(self).__name__} does not define agreement")

    def ratings(self, batch: pl.DataFrame) -> pl.Series:
        """Return the list of the ratings of each example, as texts."""
        return _texts(_lists(batch, self.of))

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return the coincidences of every example with two ratings or more."""
        lists = self.ratings(batch).alias("first").list.drop_nulls()
        frame = lists.to_frame().with_row_index("row")
        several = frame.filter(pl.col("first").list.len() > 1)
        counted = several.with_columns(ratings=pl.col("first").list.len())
        each = counted.explode("first").with_row_index("rating")
        pairs = each.join(each.select("row", "rating", second="first"), on="row")
        others = pairs.filter(pl.col("rating") != pl.col("rating_right"))
        weight = 1 / (pl.col("ratings").cast(pl.Float64) - 1)
        found = others.group_by("row", "first", "second", "ratings").agg(times=pl.len())
        return found.select(
            "row",
            "first",
            "second",
            ratings=pl.col("ratings").cast(pl.String),
            pairs=pl.col("times") * weight,
        ).sort("row", "first", "second")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Compute the agreement of each group."""
        rows = []
        for (group,), part in sums.partition_by("group", as_dict=True).items():
            cells = Cells(part)
            value = float(self.agreement(part["pairs"].to_numpy()[None, :], cells)[0])
            reason = None if np.isfinite(value) else self.why_undefined(cells)
            rows.append((group, value if reason is None else None, reason))
        schema = {"group": pl.Int64, "value": pl.Float64, "reason": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def finalize_counts(
        self, counts: Floats, cells: pl.DataFrame
    ) -> Mapping[str, Floats]:
        """Compute the agreement of many samples."""
        return {"": self.agreement(counts, Cells(cells))}

    def why_undefined(self, cells: Cells) -> str:
        """Say why cells have no agreement."""
        return ALL_EQUAL


class Cells:
    """The pairs of ratings that sums are of.

    Args:
        keys: `first`, `second` and `ratings`.

    Attributes:
        values: The different ratings, as texts, sorted.
        first: Number of the first rating of each cell.
        second: Number of the second one.
        ratings: How many ratings the examples of each cell have.
    """

    def __init__(self, keys: pl.DataFrame) -> None:
        firsts, seconds = keys["first"].to_list(), keys["second"].to_list()
        self.values = sorted({*firsts, *seconds})
        number = {value: place for place, value in enumerate(self.values)}
        self.first = np.array([number[value] for value in firsts], dtype=np.int64)
        self.second = np.array([number[value] for value in seconds], dtype=np.int64)
        self.ratings = keys["ratings"].cast(pl.Int64).to_numpy()

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Whether the two ratings of each cell differ."""
        differ: NDArray[np.bool_] = self.first != self.second
        return differ

    def by_value(self, counts: Floats) -> Floats:
        """Count each rating.

        Args:
            counts: Of shape (samples, cells).

        Returns:
            Of shape (samples, values).
        """
        found = np.zeros((len(self.values), len(counts)))
        np.add.at(found, self.first, counts.T)
        return found.T


def _lists(batch: pl.DataFrame, of: Sequence[str]) -> pl.Series:
    """Return the ratings of each example."""
    if of:
        return _of_columns([batch[name] for name in of])
    given = batch[RESPONSES]
    if given.dtype == pl.Null:
        raise MetricError(NOT_REPEATED)
    if not isinstance(given.dtype, pl.List):
        raise MetricError(
            f"the field {RESPONSES!r} must hold lists, holds {given.dtype}"
        )
    return given


def _of_columns(columns: Sequence[pl.Series]) -> pl.Series:
    """Put what columns hold into one list for each example."""
    if len(columns) == 1 and isinstance(columns[0].dtype, pl.List):
        return columns[0]
    if len(columns) == 1:
        raise MetricError(
            f"{columns[0].name!r} holds one rating of each example; name another column"
        )
    filled = [each for each in columns if each.null_count() < len(each)]
    are_texts = {each.dtype == pl.String for each in filled}
    if len(are_texts) > 1:
        raise MetricError(
            "some ratings are texts and others numbers: "
            + ", ".join(f"{each.name!r} holds {each.dtype}" for each in filled)
        )
    dtype = pl.String if True in are_texts else pl.Float64
    named = [each.cast(dtype).alias(f"{n}") for n, each in enumerate(columns)]
    return pl.DataFrame(named).select(pl.concat_list(pl.all())).to_series()


def _texts(lists: pl.Series) -> pl.Series:
    dtype = lists.dtype
    inner = dtype.inner if isinstance(dtype, pl.List) else None
    plain = (pl.String, pl.Boolean, pl.Null)
    if inner not in plain and not (inner is not None and inner.is_numeric()):
        raise MetricError(f"ratings must be texts, numbers or booleans, are {inner}")
    if inner in plain or inner.is_integer():
        return lists.cast(pl.List(pl.String))
    # 0.0 and -0.0 are one rating
    return lists.list.eval(pl.element() + 0.0).cast(pl.List(pl.String))


def numbers_of(batch: pl.DataFrame, of: Sequence[str] = ()) -> pl.Series:
    """Return the ratings of each example, which must be numbers, as texts.

    Args:
        batch: Columns `prediction` and `responses`, or those of `of`.
        of: The columns that hold ratings, where they are not `responses`.

    Returns:
        Lists of texts, each of which is read as the same number again.

    Raises:
        MetricError: One is no number.
    """
    lists = _lists(batch, of)
    numbers = lists.cast(pl.List(pl.Float64), strict=False)
    if (
        numbers.list.drop_nulls().list.len().sum()
        != lists.list.drop_nulls().list.len().sum()
    ):
        raise MetricError("ratings must be numbers for this level, are not")
    is_finite = numbers.list.eval(pl.element().is_finite()).list.all()
    if not is_finite.fill_null(True).all():
        raise MetricError("ratings must be finite numbers, and one is NaN or infinite")
    return _texts(numbers)


class FleissKappa(AgreementMetric):
    """Fleiss' kappa: agreement of the same number of ratings of each example.

    (A - C) / (1 - C), where A is the share of pairs of ratings of an example that are
    equal, and C the sum of the squared shares of the different ratings. 1 is perfect, 0
    what chance gives. The ratings of an example are the alternatives of its response
    (`responses`), its answers in all replications (`_replication_`), or what columns
    hold (`of=judge.label/human`), compared as names. Where examples have different
    numbers of ratings it is not defined, and null: `krippendorff-alpha` is. An example
    with fewer than two is left out, and a notice counts it; null is no rating. Where
    all ratings are equal it is 0 / 0, and null; so it is where a missing prediction
    counts. Range -1 to 1, 0 is chance, higher is better; a bootstrap interval.

    Source: Fleiss, Measuring Nominal Scale Agreement among Many Raters, 1971;
    statsmodels' `fleiss_kappa`.

    Example:
        >>> import evalkit
        >>> said = {"responses": [["a", "a"], ["b", "b"], ["a", "b"]]}
        >>> found = evalkit.score("fleiss-kappa", "aba", "aba", fields=said)
        >>> round(found["fleiss-kappa"].value, 6)
        0.333333
    """

    def agreement(self, counts: Floats, cells: Cells) -> Floats:
        """Compare the equal pairs with those to be expected."""
        marginals = cells.by_value(counts)
        n = marginals.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            equal = counts[:, ~cells.differ].sum(axis=1) / n
            chance = ((marginals / n[:, None]) ** 2).sum(axis=1)
            value = (equal - chance) / (1 - chance)
        is_spread = (marginals > 0).sum(axis=1) > 1
        return np.where(is_spread & _are_alike(counts, cells), value, np.nan)

    def why_undefined(self, cells: Cells) -> str:
        """Say that numbers of ratings differ, or that all ratings are equal."""
        numbers = np.unique(cells.ratings).tolist()
        if len(numbers) > 1:
            return (
                f"examples have different numbers of ratings, from {numbers[0]} to "
                f"{numbers[-1]}; krippendorff-alpha takes them"
            )
        return super().why_undefined(cells)


def _are_alike(counts: Floats, cells: Cells) -> NDArray[np.bool_]:
    """Tell in which samples all examples have the same number of ratings."""
    kinds = [
        (counts[:, cells.ratings == number] > 0).any(axis=1)
        for number in np.unique(cells.ratings)
    ]
    are_alike: NDArray[np.bool_] = np.sum(kinds, axis=0) == 1
    return are_alike


Level = Literal["nominal", "ordinal", "interval", "ratio"]


class AlphaParameters(RatingParameters):
    """How ratings are compared."""

    level: Level = "nominal"
    """What ratings are: names, ranks, or numbers whose differences or ratios count."""


class KrippendorffAlpha(AgreementMetric):
    """Krippendorff's alpha: how reliable the ratings of examples are.

    1 - D_o / D_e, where D_o is the mean disagreement of two ratings of an example, and
    D_e that of any two ratings. Two ratings disagree by 1 where they differ
    (`level=nominal`), by the square of how many ratings lie between them (`ordinal`),
    of their difference (`interval`), or of their difference by their sum (`ratio`). 1
    is perfect, 0 what chance gives. The ratings of an example are the alternatives of
    its response (`responses`), its answers in all replications (`_replication_`), or
    what columns hold (`of=judge.label/human`); they may be of any number. An example
    with fewer than two is left out, and a notice counts it; null is no rating. Where
    all ratings are equal it is 0 / 0, and null; so it is where a missing prediction
    counts. Range -1 to 1, 0 is chance, higher is better; a bootstrap interval.

    Source: Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011; the package
    `krippendorff`.

    Example:
        >>> import evalkit
        >>> said = {"responses": [["a", "a"], ["b", "b"], ["a", "b"]]}
        >>> found = evalkit.score("krippendorff-alpha", "aba", "aba", fields=said)
        >>> round(found["krippendorff-alpha"].value, 6)
        0.444444
    """

    Parameters = AlphaParameters

    @property
    def level(self) -> Level:
        """What ratings are."""
        parameters = self.parameters
        assert isinstance(parameters, AlphaParameters)
        return parameters.level

    def ratings(self, batch: pl.DataFrame) -> pl.Series:
        """Return the ratings, which are numbers but for the nominal level."""
        if self.level == "nominal":
            return super().ratings(batch)
        return numbers_of(batch, self.of)

    def agreement(self, counts: Floats, cells: Cells) -> Floats:
        """Compare the disagreement within examples with that of all ratings."""
        marginals = cells.by_value(counts)
        n = marginals.sum(axis=1)
        if self.level == "nominal":
            observed = counts[:, cells.differ].sum(axis=1)
            expected = n**2 - (marginals**2).sum(axis=1)
        elif self.level == "ratio":
            observed, expected = _of_ratios(counts, cells, marginals)
        else:
            observed, expected = _of_places(
                counts, cells, self._places(marginals, cells)
            )
        with np.errstate(invalid="ignore", divide="ignore"):
            value = 1 - (n - 1) * observed / expected
        is_spread = (marginals > 0).sum(axis=1) > 1
        return np.where(is_spread, value, np.nan)

    def _places(self, marginals: Floats, cells: Cells) -> Floats:
        """Return where each rating lies, of shape (samples, values)."""
        numbers = np.array([float(value) for value in cells.values])
        if self.level == "interval":
            return np.broadcast_to(numbers, marginals.shape)
        order = np.argsort(numbers)
        ordered = marginals[:, order]
        ranks = np.empty_like(marginals)
        ranks[:, order] = np.cumsum(ordered, axis=1) - ordered / 2
        return ranks


def _of_places(counts: Floats, cells: Cells, places: Floats) -> tuple[Floats, Floats]:
    """Return the sums of squared distances of pairs of an example, and of any pair."""
    marginals = cells.by_value(counts)
    n = marginals.sum(axis=1, keepdims=True)
    distance = places[:, cells.first] - places[:, cells.second]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (marginals * places).sum(axis=1, keepdims=True) / n
    spread = (marginals * (places - mean) ** 2).sum(axis=1)
    return (counts * distance**2).sum(axis=1), 2 * n[:, 0] * spread


def _of_ratios(
    counts: Floats, cells: Cells, marginals: Floats
) -> tuple[Floats, Floats]:
    """Return the sums of squared ratios of pairs of an example, and of any pair."""
    numbers = np.array([float(value) for value in cells.values])
    if (numbers < 0).any():
        raise MetricError(
            "the level ratio is for numbers of at least 0, and one is less"
        )
    total = numbers[:, None] + numbers
    ratios = np.zeros_like(total)
    np.divide(numbers[:, None] - numbers, total, out=ratios, where=total > 0)
    squares = ratios**2
    observed = counts @ squares[cells.first, cells.second]
    return observed, ((marginals @ squares) * marginals).sum(axis=1)
