"""Writes the page with the coverage of intervals."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from coverage_scenarios import SCENARIOS

LEAST, MOST = 0.93, 0.97
"""The aim."""

"""What holds for all groups at once and so may cover more than the aim."""

PART_NAMES = {"": "", "macro": ": mean over tags"}


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

The aim is 93 to 97 % from n = 200 and from 30 clusters, two standard errors of the
simulation aside; smaller sets are shown as they are. **{kept} of {aimed} rows that have
an aim keep it**; the others are in bold, and explained [below](#exceptions).

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
  means the delta method.
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

NOTES: Mapping[str, str] = {
    "wilson": "A few errors are expected, and the bound of one error is known to miss.",
    "wilson-clustered": "A few clusters hold the rarer outcome, or most examples.",
    "t": "Nearly all scores are at a bound, or they are skewed: a sample seldom shows "
    "the tail, and the interval is symmetric.",
    "t-clustered": "A few clusters have most of the examples, and a flag says so.",
    "multinomial": "A few examples of a class or a few errors are expected.",
    "bootstrap": "Few examples of a class: a flag says so below 20.",
    "bootstrap-clustered": "A few clusters hold the errors or most of the examples: "
    "resampling shows too little of how unequally they do.",
    "delta": "Squares and products of errors are skewed.",
    "delta-log": "Lengths are skewed: a flag says where one example decides.",
    "newcombe": "Few examples of a class: a flag says so below 20.",
    "mover": "Parts near a bound: a flag says how many show no variation.",
}
"""Why rows of a method may miss the aim."""


def has_aim(row: Row) -> bool:
    """Tell whether a row is of a size from which there is an aim."""
    return row.size >= SCENARIOS[row.scenario].aim_from


def keeps_aim(row: Row) -> bool:
    """Tell whether a coverage is as it should be, but for noise of the simulation."""
    slack = 2 * row.error
    return LEAST - slack <= row.coverage <= MOST + slack


def make_page(rows: Sequence[Row], date: datetime.date) -> str:
    """Make the text of the page.

    Args:
        rows: What was counted.
        date: When.

    Returns:
        Markdown.

    Raises:
        ValueError: A row misses the aim, and no note of its method says why.
    """
    aimed = [row for row in rows if has_aim(row)]
    missed = [row for row in aimed if not keeps_aim(row)]
    unexplained = [row for row in missed if row.method not in NOTES]
    if unexplained:
        names = "\n".join(f"{row.scenario}: {row.coverage:.4f}" for row in unexplained)
        raise ValueError(f"say in NOTES why these miss the aim:\n{names}")
    head = HEAD.format(
        sets=_number(max(row.sets for row in rows)),
        most=max(row.sets for row in rows),
        kept=len(aimed) - len(missed),
        aimed=len(aimed),
        date=date.isoformat(),
    )
    return head + "".join(map(_line, rows)) + _few(rows) + WORLDS + _exceptions(missed)


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
        note = NOTES[row.method]
        lines.append(f"- **{name}: {coverage}.** {note}")
    if not missed:
        lines.append("None.")
    return "\n".join(lines) + "\n"
