"""Finds out what judges would be asked, and prints it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalkit_cli.printing.planned_requests import (
    costs_of,
    print_first,
    print_plans_as_json,
)
from evalkit_cli.printing.streams import echo

if TYPE_CHECKING:
    from evalkit_annotators_columns import BoundAnnotator

Plan = Mapping[str, Any]


def plans_of_judges(
    annotators: Mapping[str, BoundAnnotator],
    evaluate: Callable[[Mapping[str, BoundAnnotator]], object],
) -> list[Plan]:
    """Return what each judge would be asked.

    Args:
        annotators: The judges, whose limits say that it is a dry run.
        evaluate: Has one of them judge, which ends when its questions are known.

    Raises:
        EvalkitError: What is to be judged cannot be read.
    """
    from evalkit.errors import AnnotatorError

    found: list[Plan] = []
    for name, annotator in annotators.items():
        try:
            evaluate({name: annotator})
        except AnnotatorError as error:
            plan = getattr(error.__cause__, "plan", None)
            if plan is None:
                raise
            found.append({"title": name, **plan})
    return found


def print_judge_plans(plans: Sequence[Plan], *, as_json: bool) -> None:
    """Print the first requests of each plan on stdout, and estimates on stderr.

    Args:
        plans: The plans.
        as_json: Print them as JSON instead, a list of them where they are several.
    """
    if as_json:
        print_plans_as_json(plans)
        return
    for plan in plans:
        print_first(plan, f"{plan['title']}, ")
    for plan in plans:
        for notice in plan["notices"]:
            echo(f"evalkit: notice: {plan['title']}: {notice}", err=True)
        echo(f"{plan['title']}: {_takes(plan)}; nothing was asked", err=True)


def _takes(plan: Plan) -> str:
    from evalkit.reporting import count_of

    about, most = plan["input_tokens_about"], plan["output_tokens_most"]
    found = [
        f"{count_of(plan['requests'], 'request')} about "
        f"{count_of(plan['responses'], 'response')} of which no verdict is known",
        f"about {about:,} tokens of input",
    ]
    found.append(
        "replies of any length" if most is None else f"at most {most:,} of output"
    )
    if "input_cost_about" in plan:
        found.append(costs_of(plan))
    return ", ".join(found)
