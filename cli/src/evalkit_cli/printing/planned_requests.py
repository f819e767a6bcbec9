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
        echo_json(plans[0] if len(plans) == 1 else [*plans])
        return
    titles = [
        f"{plan['title']}: " if len(plans) > 1 or "responses" in plan else ""
        for plan in plans
    ]
    for plan, title in zip(plans, titles, strict=True):
        for number, request in enumerate(plan["first"], 1):
            echo(f"{title}request {number}:")
            for line in json.dumps(request, ensure_ascii=False, indent=2).split("\n"):
                echo(line)
    for plan, title in zip(plans, titles, strict=True):
        for notice in plan["notices"]:
            echo(f"evalkit: notice: {title}{notice}", err=True)
        echo(f"{title}{_takes(plan)}; nothing was asked", err=True)


def _takes(plan: Planned) -> str:
    """Say what is estimated, as far as anything is known."""
    from evalkit.reporting import count_of

    about, most = plan["input_tokens_about"], plan["output_tokens_most"]
    found = [count_of(plan["requests"], "request")]
    if "responses" in plan:
        responses = count_of(plan["responses"], "response")
        found = [f"{found[0]} about {responses} of which no verdict is known"]
    if about is not None:
        found.append(f"about {about:,} tokens of input")
    if most:
        found.append(f"at most {most:,} of output")
    elif about is not None and most is None and "currency" not in plan:
        found.append("replies of any length")
    if "currency" in plan:
        any_length = plan["output_cost_most"] is None
        more = ", and replies of any length" if any_length else ""
        costs = f"about {plan['input_cost_about']:,.4g} for the input"
        if not any_length:
            costs += f", at most {plan['output_cost_most']:,.4g} for the output"
        found.append(f"{costs}{more} ({plan['currency']})")
    return ", ".join(found)
