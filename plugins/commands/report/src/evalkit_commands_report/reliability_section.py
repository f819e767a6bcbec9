"""The section of reliability: whether probabilities are what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evalkit_commands_report.gathering import Gathered, Shown
from evalkit_commands_report.intervals import colour_class, mark
from evalkit_commands_report.markup import Markup, element, fragment, table
from evalkit_commands_report.numbers import exact

if TYPE_CHECKING:
    import polars as pl


PROBABILITIES = "prob"
"""The field of responses that holds a probability for each label."""


class Bin(NamedTuple):
    """The predictions whose probability is in one bin, as `ece` has them."""

    low: float
    high: float
    n: int
    mean: float
    """Mean probability of the predictions."""
    right: float
    """Share of them that are right."""


class Reliability(NamedTuple):
    """The probabilities of one run."""

    bins: tuple[Bin, ...]
    """Those that hold a prediction."""
    n: int
    """Predictions with a probability."""
    without: int
    """Examples that count and have none."""


def reliability_of(run: Shown) -> Reliability | None:
    """Compare probabilities of predictions with how often they are right."""
    import polars as pl

    examples = run.result.examples
    if examples is None or not {"answer", "pred", PROBABILITIES} <= {*examples.columns}:
        return None
    kind = examples.schema[PROBABILITIES]
    are_texts = all(examples.schema[name] == pl.String for name in ("answer", "pred"))
    if not isinstance(kind, pl.Struct) or not are_texts:
        return None
    counted = examples.filter(
        pl.col("status").is_in(run.result.record.policies.counted)
    )
    given = _given(counted)
    if given.is_empty():
        return None
    return Reliability(_bins(given), given.height, counted.height - given.height)


def _given(examples: pl.DataFrame) -> pl.DataFrame:
    """Return the probability of each prediction, and whether it is right."""
    import polars as pl

    said = [
        None if given is None or label is None else given.get(label)
        for given, label in zip(examples[PROBABILITIES], examples["pred"], strict=True)
    ]
    right = (examples["pred"] == examples["answer"]).cast(pl.Float64)
    column = pl.Series("said", said, dtype=pl.Float64)
    return pl.DataFrame([column, right.alias("right")]).drop_nulls("said")


def _bins(given: pl.DataFrame) -> tuple[Bin, ...]:
    import polars as pl

    from evalkit.reporting import confidence_bins, confidence_edges

    edges = confidence_edges().tolist()
    place = pl.Series("place", confidence_bins(given["said"].to_numpy()))
    found = (
        given.group_by(place)
        .agg(pl.len(), pl.col("said").mean(), pl.col("right").mean())
        .sort("place")
    )
    return tuple(
        Bin(edges[place], edges[place + 1], n, said, right)
        for place, n, said, right in found.iter_rows()
    )


_SIDE = 220
_MARGIN = 34
_LARGEST = 9.0


def reliability_section(group: Gathered, name: str) -> Markup | None:
    """Return the reliability of each run; None where no run has probabilities."""
    found = [(run, reliability_of(run)) for run in group.scored]
    figures = [_figure(run, known) for run, known in found if known is not None]
    if not figures:
        return None
    without = [run.label for run, known in found if known is None]
    rest = f" No probabilities: {', '.join(without)}." if without else ""
    return element(
        "section",
        element("h2", "Reliability", id=f"{name}-reliability"),
        element(
            "p",
            "How often predictions are right, by the probability that the model gave "
            "them. On the diagonal, probabilities are what happens; below it, the "
            "model is too sure. The larger a dot, the more predictions: a small one "
            f"may be off the diagonal by chance.{rest}",
            class_="note",
        ),
        element("div", figures, class_="figures"),
        aria_labelledby=f"{name}-reliability",
    )


def _figure(run: Shown, known: Reliability) -> Markup:
    from evalkit.reporting import count_of

    left_out = count_of(known.without, "example")
    rest = f"; {left_out} without one left out" if known.without else ""
    predictions = count_of(known.n, "prediction")
    caption = f"{run.label}: {predictions} with a probability{rest}"
    rows = [
        [
            f"{100 * bin_.low:.1f} to {100 * bin_.high:.1f} %",
            _number(run, bin_, "n", str(bin_.n)),
            _number(run, bin_, "mean", f"{100 * bin_.mean:.1f} %"),
            _number(run, bin_, "right", f"{100 * bin_.right:.1f} %"),
        ]
        for bin_ in known.bins
    ]
    header = ("Probability", "n", "Mean", "Right")
    return element(
        "figure",
        element("figcaption", mark(run.place), " ", caption),
        _diagram(run, known),
        element(
            "details",
            element("summary", "Numbers"),
            table(header, rows, caption=f"Reliability of {run.label}"),
        ),
    )


def _number(run: Shown, bin_: Bin, field: str, shown: str) -> Markup:
    return exact(
        shown,
        getattr(bin_, field),
        data_run=run.result.run_id,
        data_bin=bin_.low,
        data_field=field,
    )


def _diagram(run: Shown, known: Reliability) -> Markup:
    largest = max(bin_.n for bin_ in known.bins)
    dots = [
        element(
            "circle",
            element("title", f"n = {bin_.n}"),
            cx=_x(bin_.mean),
            cy=_y(bin_.right),
            r=round(max(2.5, _LARGEST * (bin_.n / largest) ** 0.5), 2),
            class_="dot",
        )
        for bin_ in known.bins
    ]
    path = " ".join(f"{_x(bin_.mean)},{_y(bin_.right)}" for bin_ in known.bins)
    size = _SIDE + _MARGIN + 12
    return element(
        "svg",
        _frame(),
        element("polyline", points=path, class_="path"),
        dots,
        class_=f"reliability {colour_class(run.place)}",
        viewBox=f"0 0 {size} {size}",
        width=size,
        role="img",
        aria_label=f"Reliability of {run.label}; its numbers are in the table below",
    )


def _frame() -> Markup:
    parts = []
    for share in (0.0, 0.5, 1.0):
        x, y = _x(share), _y(share)
        label = f"{100 * share:.0f} %"
        parts += [
            element("line", x1=x, x2=x, y1=_y(0), y2=_y(1), class_="grid"),
            element("line", x1=_x(0), x2=_x(1), y1=y, y2=y, class_="grid"),
            element("text", label, x=x, y=_y(0) + 15, text_anchor="middle"),
            element("text", label, x=_x(0) - 6, y=y + 4, text_anchor="end"),
        ]
    diagonal = element(
        "line", x1=_x(0), x2=_x(1), y1=_y(0), y2=_y(1), class_="reference"
    )
    names = [
        element("text", "probability", x=_x(0.5), y=_y(0) + 30, text_anchor="middle"),
        element("text", "right", x=_x(0) - 6, y=_y(0.75), text_anchor="end"),
    ]
    return fragment(parts, diagonal, names)


def _x(share: float) -> float:
    return round(_MARGIN + 6 + share * (_SIDE - 12), 2)


def _y(share: float) -> float:
    return round(8 + (1 - share) * (_SIDE - 12), 2)
