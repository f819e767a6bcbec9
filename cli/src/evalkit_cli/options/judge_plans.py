"""Finds out what judges would be asked, and prints it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalkit_cli.printing.streams import echo, echo_json

if TYPE_CHECKING:
    from evalkit.catalog import BoundAnnotator

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
        echo_json(plans[0] if len(plans) == 1 else [*plans])
        return
    for plan in plans:
        for number, request in enumerate(plan["first"], 1):
            echo(f"{plan['title']}, request {number}:")
            for line in json.dumps(request, ensure_ascii=False, indent=2).split("\n"):
                echo(line)
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
        costs = f"about {plan['input_cost_about']:,.4g} for the input"
        if plan["output_cost_most"] is not None:
            costs += f", at most {plan['output_cost_most']:,.4g} for the output"
        found.append(costs)
    return ", ".join(found)
