"""Single plots for papers, drawn by matplotlib (the extra `plots`)."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evalkit_cli.commanding import for_terminal
from evalkit_commands_report.comparison_section import shown_ends
from evalkit_commands_report.confusion_section import (
    FEW_COLUMNS,
    confusion_of,
    used_columns,
)
from evalkit_commands_report.gathering import Gathered
from evalkit_commands_report.numbers import (
    clipped,
    held_metrics,
    largest_n,
    least_n,
    ranked,
    tags_of,
)
from evalkit_commands_report.perturbation_section import (
    effects_of,
    tested,
    uncertain_of,
)
from evalkit_commands_report.reliability_section import reliability_of

if TYPE_CHECKING:
    from evalkit import Score
    from evalkit_commands_report.gathering import Shown

MOST_ROWS = 40
"""Tags, or rows of another kind, that a plot shows."""

_LONGEST_NAME = 40
"""Characters of a name beside a plot; of a longer one the middle is left out."""

_COLOURS = ("#0b5cad", "#b4460f", "#0a7553", "#8a3f8f", "#7a5c00", "#4b5563", "#a8174f")
_SHAPES = ("o", "s", "D", "^", "v")
_LARGEST_DOT = 60
"""Area of the dot of the most predictions, in square points."""

_MISSING = (
    "--format svg and png need matplotlib, the extra `plots`: "
    "pip install 'evalkit-commands-report[plots]', or pip install matplotlib"
)


def draw_plot(groups: Sequence[Gathered], plot: str, kind: str) -> bytes:
    """Draw one plot."""
    from evalkit import DataError

    if len(groups) > 1:
        why = next((group.apart for group in groups if group.apart), "") or ", ".join(
            group.dataset for group in groups
        )
        raise DataError(f"a plot is of one data set and of comparable runs: {why}")
    with _drawing() as figure_of:
        figure = figure_of()
        _PLOTS[plot](groups[0], figure)
        out = io.BytesIO()
        # without a date, so that the same runs give the same file
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(out, format=kind, bbox_inches="tight", metadata=metadata)
    return out.getvalue()


@contextmanager
def _drawing() -> Iterator[Callable[[], Any]]:
    """Import matplotlib and set it for this one plot."""
    from evalkit import EvalkitError

    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise EvalkitError(f"{_MISSING} ({error})") from error
    settings: dict[Any, Any] = {
        "svg.hashsalt": "evalkit",
        "svg.fonttype": "none",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.parse_math": False,
        "savefig.dpi": 200,
    }
    with matplotlib.rc_context(settings):
        yield Figure


def _name(text: str) -> str:
    """Return a name as it stands beside a plot, which a long one would squeeze."""
    shown = for_terminal(text)
    if len(shown) <= _LONGEST_NAME:
        return shown
    end = _LONGEST_NAME // 3
    return f"{shown[: _LONGEST_NAME - end - 1]}…{shown[-end:]}"


def _nothing(what: str) -> Exception:
    from evalkit import DataError

    return DataError(f"there is nothing to plot: {what}")


class _Rows:
    """Intervals in rows, one below the other, for one or several runs."""

    def __init__(self, figure: Any, names: Sequence[str], series: int) -> None:
        figure.set_size_inches(7, 1.1 + len(names) * (0.12 + 0.13 * series))
        self.axes = figure.subplots()
        self._series = series
        self.axes.set_yticks(range(len(names)), names)
        self.axes.set_ylim(len(names) - 0.5, -0.5)
        self.axes.grid(axis="x", linewidth=0.4)
        self.axes.tick_params(axis="y", length=0)

    def add(
        self,
        place: int,
        label: str,
        found: Sequence[tuple[float | None, tuple[float, float] | None]],
        scale: float,
    ) -> None:
        """Draw the values and intervals of a run."""
        shift = (place - (self._series - 1) / 2) * 0.7 / max(self._series, 1)
        colour = _COLOURS[place % len(_COLOURS)]
        for row, (_, ends) in enumerate(found):
            if ends is not None:
                low, high = (scale * end for end in ends)
                self.axes.plot([low, high], [row + shift] * 2, color=colour, lw=1.2)
        points = [
            (scale * value, row + shift)
            for row, (value, _) in enumerate(found)
            if value is not None
        ]
        self.axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            linestyle="",
            marker=_SHAPES[place % len(_SHAPES)],
            markersize=4.5,
            color=colour,
            label=_name(label),
        )

    def name(self, text: str, *, legend: bool) -> None:
        """Name the axis, and the runs."""
        self.axes.set_xlabel(for_terminal(text))
        if legend:
            self.axes.legend(
                loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False
            )


def _unit(metric: str, score: Score) -> str:
    return f"{metric} ({score.unit})" if score.unit else metric


def _intervals(runs: Sequence[Shown]) -> str:
    """Say which probability the intervals of runs have."""
    levels = sorted({run.result.record.confidence for run in runs})
    return f"{' or '.join(f'{100 * level:g} %' for level in levels)} intervals"


def _plot_tags(group: Gathered, figure: Any) -> None:
    metrics = held_metrics(group)
    if not metrics:
        how = "; evaluate with --by COLUMN or --map facet:NAME=COLUMN to have some"
        raise _nothing(f"the runs have no scores of tags{how if group.scored else ''}")
    metric, runs = metrics[0], group.scored
    least = least_n(group)
    large = [
        tag for tag in tags_of(group, metric) if largest_n(group, metric, tag) >= least
    ]
    tags = ranked(runs[0], metric, large)[:MOST_ROWS]
    rows = _Rows(figure, ["all examples", *map(_name, tags)], len(runs))
    some = None
    for number, run in enumerate(runs):
        scores = [
            run.whole.get(metric),
            *(run.tags.get(metric, {}).get(tag) for tag in tags),
        ]
        found = [
            (None, None) if score is None else (score.value, clipped(score, run.bounds))
            for score in scores
        ]
        some = next((score for score in scores if score is not None), some)
        rows.add(number, run.label, found, some.scale if some else 1.0)
    assert some is not None
    cut = f"; the {len(tags)} worst of {len(large)} tags"
    shown = cut if len(tags) < len(large) else ""
    rows.name(f"{_unit(metric, some)}, {_intervals(runs)}{shown}", legend=True)


def _plot_comparison(group: Gathered, figure: Any) -> None:
    if group.comparison is None:
        raise _nothing(group.not_compared or "name two runs of a data set to compare")
    whole = group.comparison.whole
    metric = whole[0].metric
    shown = [row for row in whole if row.metric == metric]
    names = [f"{_name(row.model_a)} less {_name(row.model_b)}" for row in shown]
    rows = _Rows(figure, names, 1)
    widest = group.comparison.widest
    found = [(row.difference, shown_ends(row, widest)) for row in shown]
    rows.add(0, "", found, shown[0].scale)
    rows.axes.axvline(0, color="0.4", linewidth=0.8, linestyle="--")
    adjusted = any(row.p_adjusted is not None for row in shown)
    confidence = f"{100 * group.comparison.confidence:g} %"
    kind = f"{'adjusted ' if adjusted else ''}{confidence} intervals"
    unit = {"": "", "%": " (percentage points)"}.get(
        shown[0].unit, f" ({shown[0].unit})"
    )
    rows.name(f"difference in {metric}{unit}, {kind}", legend=False)


def _plot_perturbations(group: Gathered, figure: Any) -> None:
    metric = next(iter(group.metrics), "")
    runs = [run for run in group.scored if effects_of(run, metric)]
    if not runs:
        raise _nothing("no run was evaluated with perturbed copies")
    effects = [effects_of(run, metric) for run in runs]
    names = list(dict.fromkeys(name for each in effects for name in each))[:MOST_ROWS]
    uncertain = {name for run in runs for name in uncertain_of(run)}
    marked = [
        f"{_name(name)} (uncertain)" if name in uncertain else _name(name)
        for name in names
    ]
    rows = _Rows(figure, marked, len(runs))
    some: Score | None = None
    is_adjusted = False
    for number, (run, views) in enumerate(zip(runs, effects, strict=True)):
        found: list[tuple[float | None, tuple[float, float] | None]] = []
        for name in names:
            drop = views.get(name, {}).get("drop")
            some = drop or some
            is_adjusted |= drop is not None and (drop.family_size or 1) > 1
            shown = tested(drop) if drop is not None else None
            found.append(
                (None, None)
                if shown is None
                else (shown.value, clipped(shown, run.bounds))
            )
        rows.add(number, run.label, found, some.scale if some else 1.0)
    if some is None:
        raise _nothing("no drop is known")
    rows.axes.axvline(0, color="0.4", linewidth=0.8, linestyle="--")
    intervals = f"{'adjusted ' if is_adjusted else ''}{_intervals(runs)}"
    rows.name(f"drop in {_unit(metric, some)}, {intervals}", legend=True)


def _plot_confusion(group: Gathered, figure: Any) -> None:
    found = [(run, confusion_of(run)) for run in group.scored]
    known = [(run, each) for run, each in found if not isinstance(each, str)]
    if not known:
        why = next((each for _, each in found if isinstance(each, str)), "no scores")
        raise _nothing(why)
    side = 1.2 + 0.55 * len(known[0][1].labels)
    figure.set_size_inches(1.6 + side * len(known), side)
    all_axes = figure.subplots(1, len(known), squeeze=False)[0]
    for axes, (run, each) in zip(all_axes, known, strict=True):
        columns = used_columns(each)
        table = [
            [counts[row] for _, counts in columns] for row in range(len(each.labels))
        ]
        shares = [[cell / max(1, sum(row)) for cell in row] for row in table]
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1.6, aspect="auto")
        axes.set_title(_name(run.label), fontsize=9)
        axes.set_xticks(
            range(len(columns)),
            [_name(name) for name, _ in columns],
            rotation=35 if len(columns) <= FEW_COLUMNS else 90,
            rotation_mode="anchor",
            horizontalalignment="right",
            verticalalignment="center",
        )
        axes.set_xlabel("prediction")
        # the first names the answers of all; runs that left some out have others
        is_named = axes is all_axes[0] or each.labels != known[0][1].labels
        names = [_name(name) for name in each.labels]
        axes.set_yticks(range(len(table)), names if is_named else [])
        for row, cells in enumerate(table):
            for column, cell in enumerate(cells):
                axes.text(column, row, str(cell), ha="center", va="center")
    all_axes[0].set_ylabel("answer")


def _plot_reliability(group: Gathered, figure: Any) -> None:
    found = [(run, reliability_of(run)) for run in group.scored]
    known = [(run, each) for run, each in found if each is not None]
    if not known:
        raise _nothing("no run has probabilities of labels")
    figure.set_size_inches(4, 4)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="0.5", linewidth=0.8, linestyle="--")
    for place, (run, each) in enumerate(known):
        points = [bin_.mean for bin_ in each.bins], [bin_.right for bin_ in each.bins]
        colour = _COLOURS[place % len(_COLOURS)]
        largest = max(bin_.n for bin_ in each.bins)
        axes.plot(*points, color=colour, linewidth=0.8, clip_on=False)
        axes.scatter(
            *points,
            s=[_LARGEST_DOT * bin_.n / largest for bin_ in each.bins],
            marker=_SHAPES[place % len(_SHAPES)],
            color=colour,
            label=_name(run.label),
            clip_on=False,
        )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("mean probability (area: number of predictions)")
    axes.set_ylabel("share right")
    axes.legend(frameon=False)


_PLOTS: dict[str, Callable[[Gathered, Any], None]] = {
    "tags": _plot_tags,
    "comparison": _plot_comparison,
    "perturbations": _plot_perturbations,
    "confusion": _plot_confusion,
    "reliability": _plot_reliability,
}
