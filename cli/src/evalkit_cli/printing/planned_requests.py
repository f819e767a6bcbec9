"""Prints what would be asked, and what that may take."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evalkit_cli.printing.streams import echo, echo_json

Planned = Mapping[str, Any]
"""What `plan_requests` returns, with `title` where there are several:
who would be asked about what."""


def print_plans(plans: Sequence[Planned], *, as_json: bool) -> None:
    """Print the first requests of each plan on stdout, and estimates on stderr.

    Args:
        plans: The plans.
        as_json: Print them as JSON instead, a list of them where they are several.
    """
    if as_json:
        print_plans_as_json(plans)
        return
    for plan in plans:
        if len(plans) > 1:
            echo(f"{plan['title']}:")
        print_first(plan)
    for plan in plans:
        title = f"{plan['title']}: " if len(plans) > 1 else ""
        for notice in plan["notices"]:
            echo(f"evalkit: notice: {title}{notice}", err=True)
        echo(f"{title}{_takes(plan)}", err=True)
    if len(plans) > 1:
        whole = sum(plan["requests"] for plan in plans)
        echo(f"{whole:,} requests in all; nothing was asked", err=True)


def print_plans_as_json(plans: Sequence[Planned]) -> None:
    """Print one plan, or a list of several."""
    echo_json(plans[0] if len(plans) == 1 else [*plans])


def print_first(plan: Planned, before: str = "") -> None:
    """Print the requests that a plan shows.

    Args:
        plan: The plan.
        before: What stands before the number of each.
    """
    for number, request in enumerate(plan["first"], 1):
        echo(f"{before}request {number}:")
        for line in json.dumps(request, ensure_ascii=False, indent=2).split("\n"):
            echo(line)


def costs_of(plan: Planned) -> str:
    """Say what a plan that has costs may cost."""
    costs = f"about {plan['input_cost_about']:,.4g} for the input"
    most = plan["output_cost_most"]
    return costs if most is None else f"{costs}, at most {most:,.4g} for the output"


def _takes(plan: Planned) -> str:
    """Say what is estimated, as far as anything is known."""
    from evalkit.reporting import count_of

    about, most = plan["input_tokens_about"], plan["output_tokens_most"]
    found = [count_of(plan["requests"], "request")]
    if about is not None:
        found.append(f"about {about:,} tokens of input")
    if most:
        found.append(f"at most {most:,} of output")
    elif about is not None and most is None and "currency" not in plan:
        found.append("replies of any length")
    if "currency" in plan:
        any_length = plan["output_cost_most"] is None
        more = ", and replies of any length" if any_length else ""
        found.append(f"{costs_of(plan)}{more} ({plan['currency']})")
    return ", ".join(found)
