"""Writes the page with the coverage of intervals."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from coverage_scenarios import SCENARIOS

LEAST, MOST = 0.93, 0.97
"""The aim."""

"""What holds for all groups at once and so may cover more than the aim."""

PART_NAMES = {
    "": "",
    "macro": ": mean over tags",
}


class Row(NamedTuple):
    """What was counted of one score at one size."""

    scenario: str
    part: str
    size: int
    sets: int
    method: str
    coverage: float
    """Share of the intervals that hold the truth."""
    error: float
    """Its standard error, from the number of sets."""
    below: float
    """Share of intervals that lie below the truth."""
    above: float
    """Share of intervals that lie above the truth."""
    width: float
    """Mean width."""
    none: float
    """Share of sets without an interval."""


HEAD = """# Coverage of the intervals

How often does a 95 % interval hold the true value? Each row is a world whose truth is
known: {sets} data sets were drawn from it, scored with evalkit, and the intervals
counted that hold the truth. [Statistics](statistics.md) says how they are computed.

The aim is 93 to 97 % from n = 200 and from 30 clusters; smaller sets are shown as they
are. **{kept} of {aimed} rows that have an aim keep it**; the others are in bold, and
explained [below](#exceptions).

Written on {date} by

```text
python benchmarks/coverage.py --sets {most}
```

- *too low*, *too high*: share of intervals that lie wholly below, or above, the truth;
  2.5 % each would be even.
- *±*: standard error of the coverage, which is that of a simulation with so many sets.
- *none*: share of data sets that got no interval, because their examples do not differ;
  they are not counted in the coverage.

| world | size | `ci_method` | coverage | ± | too low | too high | width | none |
|---|---|---|---|---|---|---|---|---|
"""

WORLDS = """
## The worlds

- **share**: each example is right with the given probability. **In clusters**: clusters
  of 1 to 19 examples whose own shares vary by a beta distribution, so that two examples
  of a cluster correlate by .3.
- **macro-F1**: pairs of gold and predicted label are drawn from a table. *3 classes at
  .72* are equally frequent, each with F1 = .72, and errors go to all others alike.
  *10 % positives at P = R = .6*: two classes of which one is rare, with that precision
  and recall.
- **mean of a score**: 40 % are 0, 30 % are 1, the others lie evenly between. **Of F1**:
  all but 6, 2 or .2 % are 1, the others are Beta(2, 2). **Average of 5 answers**: each
  example has its own share of right ones, Beta(.1, 9.9). **pass@3 of 10 answers**: the
  share of right answers is Beta(3, .2).
- **mean of lognormal values**: exp(σ z) with normal z, of a metric without bounds.
- **In clusters of unequal sizes**: one cluster has as many examples as all others,
  which have 10; or the c-th has 300 / c; or sizes are exp(2 + z). Two examples of a
  cluster correlate by .3 (for F1 by .1, .94 being 1 and the others Beta(2, 2)). Where
  one cluster has a fifth of the examples or more, the report warns.
- **ratio of two sums**: errors by words, as in a word error rate; an example has
  1 + Poisson(9) words, and its own share of errors is Beta(.5, 2). *As in large groups*
  means the delta method, which groups of more than 20 000 rows get, here on small ones.
- **AUROC and average precision**: scores are normal, those of the class higher by as
  much as gives that AUROC, and the logistic function makes probabilities of them.
  **Selective accuracy** and the **area**: a calibrated model, confident by .5 to 1.
- **Errors and correlations**: predictions and answers are normal, so that they have
  that correlation, or that the former explain that share of the latter's variance;
  *lognormal errors* are exp(σ z). **Three ratings** are each right with .7 (α) or .9
  (κ), or else drawn from three names. **Perplexity**: texts of exp(3 + z) tokens, each
  with its own mean of nats a token, Gamma(4, .5).
- **paired difference**: both models see the same draw in six of ten examples.
- **8 overlapping tags**: each is on three of ten examples, and each changes how likely
  an example is to be right.
- **12 groups**: as many tags of the given size without overlap, so n is 12 times as
  large. *That share clusters*: each cluster has one example in every group. *In
  clusters of their own*: no cluster is in two groups.

"""

EXPLANATIONS: Mapping[tuple[str, str, int], str] = {
    ("AUROC of .95, 10 % positives", "", 200): (
        "Nearly all of 20 positives are ranked rightly. A sample often has none of the "
        "others, and then says little of how badly one may be ranked."
    ),
    ("AUROC of .85, 3 classes", "", 1000): (
        "Too wide by less than the simulation's error of 1.1 points, of 200 sets."
    ),
    ("selective accuracy of the surer half, .875", "", 1000): (
        "Too wide by less than the simulation's error of 1.1 points, of 200 sets."
    ),
    ("12 equal groups in clusters of their own, shares of .95", "macro", 30): (
        "Too wide. Where few clusters hold an error, the effective number of rows is "
        "drawn towards that of clusters, for each group by itself."
    ),
    ("macro-F1, 5 % positives at F1 = .9", "", 200): (
        "Too wide. One positive in ten is missed, so that of the ten that are expected "
        "in 200 examples one is, and one other example is taken for a positive. "
        "Smoothing adds a quarter of an error of each kind to these two, and F1 of so "
        "few positives moves much with each."
    ),
    ("macro-F1, 2 classes at .99", "", 200): (
        "A little too wide. Two errors are expected in 200 examples, and smoothing "
        "adds half an error to them."
    ),
    **{
        (f"mean of F1, {share}", "", count): (
            "Few scores lie off the bound. A sample without any has no interval, and "
            "many others show less of how scores vary than there is."
        )
        for share, count in ((".99", 200), (".999", 200), (".999", 1000))
    },
    ("average of 5 answers, .01", "", 200): (
        "Too narrow. Ten examples with any right answer are expected in 200."
    ),
    **{
        ("pass@3 of 10 answers, .99", "", count): (
            "Too narrow. Some three of 200 examples are expected to fail in part."
        )
        for count in (200, 1000)
    },
    **{
        (f"mean of lognormal values, σ = {sigma}", "", count): (
            "Too narrow, and mostly too low. A sample seldom shows the long tail, and "
            "Student's interval is symmetric."
        )
        for sigma, count in (
            *(("1", 200), ("1", 1000), ("1.5", 200), ("2", 200), ("2", 1000)),
        )
    },
    **{
        (f"share of .9 in clusters, {sizes}", "", count): (
            "Too wide, and the report warns. One cluster decides on half of the score, "
            "and nothing says how far another like it would be from it."
        )
        for sizes in ("one has half",)
        for count in (30, 100)
    },
    **{
        (f"mean of {what} in clusters, {sizes}", "", count): (
            "A few large clusters decide on the score, which is close to its bound or "
            "skewed: samples seldom show how far one of them may be off."
        )
        for what in ("lognormal values", "F1 near .97")
        for sizes in ("one has half", "sizes by Zipf", "lognormal sizes")
        for count in (30, 100)
    },
    ("macro-F1, 3 classes at .97 in clusters, ICC .3", "", 30): (
        "Too wide. Some nine errors in three or four clusters are expected, and each "
        "error that smoothing adds stands for as many as a cluster may hold."
    ),
    **{
        (f"macro-F1, 5 % positives at F1 = .9 in clusters {which}", "", count): (
            "Too wide. Errors with the rare class stand in one or two clusters, if in "
            "any, and each that smoothing adds stands for as many as a cluster holds."
        )
        for count in (30, 100)
        for which in ("of lognormal sizes",)
    },
    **{
        ("macro-F1, 5 % positives at F1 = .9 in clusters, ICC .3", "", count): (
            "Too wide, for the same reason as in clusters of lognormal sizes."
        )
        for count in (30, 100)
    },
    (
        "12 equal groups in clusters of which one has half, shares of .8",
        "macro",
        30,
    ): (
        "Too narrow, and the report warns. One cluster decides on half of each group, "
        "and nothing says how far another like it would be from it."
    ),
    **{
        (f"mean in clusters, {sizes}", "", count): (
            "The degrees of freedom are those of independent rows. With rows that "
            "correlate by .3, the few large clusters decide on more."
        )
        for sizes in ("sizes by Zipf", "lognormal sizes")
        for count in (30, 100)
    },
    **{
        (f"root mean squared error of {what} errors{sigma}", "", 200): (
            "A little too narrow, and mostly too low. Squares of errors are skewed: a "
            "sample seldom shows the largest, and the interval is symmetric."
        )
        for what, sigma in (("normal", ""), ("lognormal", ", σ = .5"))
    },
    ("share of .9 in clusters, lognormal sizes", "", 100): (
        "Within the error of the simulation: 93 % is the aim."
    ),
}
"""Why a row misses the aim, or may with other draws, by scenario, part and size."""


def has_aim(row: Row) -> bool:
    """Tell whether a row is of a size from which there is an aim."""
    return row.size >= SCENARIOS[row.scenario].aim_from


def keeps_aim(row: Row) -> bool:
    """Tell whether a row's coverage is as it should be."""
    return LEAST <= row.coverage <= MOST


def make_page(rows: Sequence[Row], date: datetime.date) -> str:
    """Make the text of the page.

    Args:
        rows: What was counted.
        date: When.

    Returns:
        Markdown.

    Raises:
        ValueError: A row misses the aim, and nothing here says why.
    """
    aimed = [row for row in rows if has_aim(row)]
    missed = [row for row in aimed if not keeps_aim(row)]
    unexplained = [row for row in missed if _key(row) not in EXPLANATIONS]
    if unexplained:
        names = "\n".join(f"{_key(row)}: {row.coverage:.4f}" for row in unexplained)
        raise ValueError(f"say in EXPLANATIONS why these miss the aim:\n{names}")
    head = HEAD.format(
        sets=_number(max(row.sets for row in rows)),
        most=max(row.sets for row in rows),
        kept=len(aimed) - len(missed),
        aimed=len(aimed),
        date=date.isoformat(),
    )
    return head + "".join(map(_line, rows)) + _few(rows) + WORLDS + _exceptions(missed)


def _key(row: Row) -> tuple[str, str, int]:
    return row.scenario, row.part, row.size


def _line(row: Row) -> str:
    coverage = _percent(row.coverage)
    if has_aim(row) and not keeps_aim(row):
        coverage = f"**{coverage}**"
    cells = [
        row.scenario + PART_NAMES[row.part],
        _size(row),
        f"`{row.method}`",
        coverage,
        _percent(row.error),
        _percent(row.below),
        _percent(row.above),
        f"{row.width:.3f}",
        _percent(row.none) if row.none else "–",
    ]
    return f"| {' | '.join(cells)} |\n"


def _size(row: Row) -> str:
    unit, size = SCENARIOS[row.scenario].unit, _number(row.size)
    return f"n = {size}" if unit == "n" else f"{size} {unit}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _few(rows: Sequence[Row]) -> str:
    most = max(row.sets for row in rows)
    few = {row.scenario: row.sets for row in rows if row.sets < most}
    if not few:
        return ""
    names = "; ".join(f"{name} ({_number(sets)})" for name, sets in few.items())
    return f"\nWith fewer sets, because they take long: {names}.\n"


def _number(value: int) -> str:
    return f"{value:,}".replace(",", " ")


def _exceptions(missed: Sequence[Row]) -> str:
    lines = ["## Exceptions\n"]
    for row in missed:
        name = f"{row.scenario}{PART_NAMES[row.part]}, {_size(row)}"
        coverage = _percent(row.coverage)
        lines.append(f"- **{name}: {coverage}.** {EXPLANATIONS[_key(row)]}")
    if not missed:
        lines.append("None.")
    return "\n".join(lines) + "\n"
