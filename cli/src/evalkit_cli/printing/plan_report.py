"""Prints plans: what is needed under each supposition, and what they rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit_cli.printing.digits import decimals
from evalkit_cli.printing.streams import echo
from evalkit_cli.printing.tables import NO_VALUE, Rows, draw, without_empty_columns

if TYPE_CHECKING:
    from evalkit_analysis_compare import Plan, Requirement


def print_plan(plan: Plan) -> None:
    """Print a plan."""
    echo(_title(plan))
    echo(_goal(plan))
    echo()
    draw(_table(plan), "table", ())
    echo()
    echo(_spread(plan))
    echo("It holds if:")
    for assumption in plan.assumptions:
        echo(f"- {assumption}")


def _title(plan: Plan) -> str:
    models = " and ".join(str(model) for model in plan.models)
    width = _interval(plan)
    whose = f" of {plan.models[0]!s}" if len(plan.models) > 1 else ""
    if plan.value_n not in (None, plan.n):
        whose += f" on its {plan.value_n} examples"
    places = decimals(_in_unit(plan, plan.half_width), plan.scale)
    value = f"{plan.value * plan.scale:z.{places}f} {plan.unit}".rstrip()
    return f"{plan.metric}: {models}, {_n(plan)}; now {value}{width}{whose}"


def _interval(plan: Plan) -> str:
    """Return the interval of the score as its report does."""
    if plan.ci_low is None or plan.ci_high is None:
        return ""
    places = decimals(_in_unit(plan, (plan.ci_high - plan.ci_low) / 2), plan.scale)
    ends = [f"{end * plan.scale:z.{places}f}" for end in (plan.ci_low, plan.ci_high)]
    shown = f" [{ends[0]}, {ends[1]}]"
    if plan.ci_confidence in (None, plan.confidence):
        return shown
    return f"{shown} ({100 * plan.ci_confidence:g} %)"


def _n(plan: Plan) -> str:
    of = "examples" if len(plan.models) == 1 else "examples scored in both runs"
    clusters = "" if plan.n_clusters is None else f" in {plan.n_clusters} clusters"
    return f"{plan.n} {of}{clusters}"


def _goal(plan: Plan) -> str:
    where = f" on each of {plan.tags} tags" if plan.tags > 1 else ""
    return (
        f"To find a difference of {_size(plan, plan.difference)}{where} with "
        f"{100 * plan.power:g} % power at the level {plan.level:.4g}:"
    )


def _table(plan: Plan) -> Rows:
    now = f"a tag of {plan.n}" if plan.tags > 1 else "as many as now"
    header = [
        "correlation",
        "one alone right",
        "answers each",
        "clusters",
        "examples",
        "interval of one model",
        f"{now} would find",
    ]
    return without_empty_columns([header, *(_row(plan, row) for row in plan.rows)])


def _row(plan: Plan, row: Requirement) -> list[str]:
    width, found = row.half_width, row.detectable
    return [
        "" if row.correlation is None else f"{row.correlation:.2f}",
        "" if row.disagreement is None else f"{row.disagreement:.1%}",
        "" if row.answers is None else str(row.answers),
        "" if row.clusters is None else f"{row.clusters:,}".replace(",", " "),
        f"{row.examples:,}".replace(",", " "),
        NO_VALUE if width is None else f"± {_shown(plan, width)}",
        NO_VALUE if found is None else _size(plan, found),
    ]


def _spread(plan: Plan) -> str:
    what = "differences" if len(plan.models) > 1 else "scores"
    deviation = f"SD of the examples' {what} {_shown(plan, plan.deviation)}"
    parts = [deviation]
    if plan.intraclass_correlation is not None and plan.design_effect is not None:
        parts.append(
            f"intraclass correlation {plan.intraclass_correlation:.2f}, by which a "
            f"design effect of {plan.design_effect:.2f} is expected (a report has the "
            "one that its standard error shows)"
        )
    if plan.stddev_within is not None:
        parts.append(f"SD of answers to one example {_shown(plan, plan.stddev_within)}")
    return "; ".join(parts)


def _size(plan: Plan, value: float) -> str:
    unit = "points" if plan.unit == "%" else plan.unit
    return f"{_shown(plan, value)} {unit}".rstrip()


def _shown(plan: Plan, value: float) -> str:
    """Return a width or a difference to two digits that count."""
    shown = _in_unit(plan, value)
    return f"{shown or 0.0:.{decimals(shown, plan.scale)}f}"


def _in_unit(plan: Plan, value: float | None) -> float | None:
    return None if value is None else abs(value * plan.scale)
