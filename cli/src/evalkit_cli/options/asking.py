"""Options by which a model is asked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import click
from click.core import ParameterSource

from evalkit_cli.options.choices import apply, setting

PARAMETERS = (
    *("prompt", "model_kind", "generate", "shots", "trials", "replications"),
    *("concurrency", "retries", "timeout", "max_errors"),
    *("requests_per_minute", "tokens_per_minute", "token_limit", "cost_limit"),
    *("price", "cached", "keep_requests"),
)
"""Names of the parameters that `asking_options` add."""


asking_options = apply(
    setting(
        "--prompt",
        metavar="NAME|FILE",
        help="How a model is asked: a prompt of the data set or task, or a file of "
        "JSON or YAML. Default: that for the kind of the model, else the first.",
    ),
    setting(
        "--model-kind",
        type=click.Choice(("base", "instruct", "reasoning")),
        help="What the model was made for, which chooses the prompt. Default: what "
        "the model says.",
    ),
    setting(
        "--generate",
        metavar="KEY=VALUE,…",
        help="How it generates, in place of what the prompt says: "
        "temperature=0,max_tokens=256.",
    ),
    setting(
        "--shots",
        type=click.IntRange(0),
        help="How many examples with answers are shown, in place of what the "
        "prompt says.",
    ),
    setting(
        "--trials",
        type=click.IntRange(1),
        help="How often all are asked, each time with other examples shown, in "
        "place of what the prompt says.",
    ),
    setting(
        "--replications",
        type=click.IntRange(1),
        help="How often the same is asked anew in each trial, in place of what the "
        "prompt says.",
    ),
    setting(
        "--concurrency",
        type=click.IntRange(1),
        help="The most requests at once; by default what the model takes.",
    ),
    setting(
        "--retries",
        type=click.IntRange(0),
        default=5,
        help="How often a request is sent again that may be answered later.",
    ),
    setting(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        default=600,
        help="Seconds for which a reply of a service or program is waited for.",
    ),
    setting(
        "--max-errors",
        default="5%",
        metavar="COUNT|SHARE%",
        help="Asking ends when more requests have failed for good; a share of "
        "several is one at least.",
    ),
    setting(
        "--requests-per-minute",
        type=click.FloatRange(0, min_open=True),
        help="The most requests a minute.",
    ),
    setting(
        "--tokens-per-minute",
        type=click.FloatRange(0, min_open=True),
        help="The most tokens a minute, of requests and replies together.",
    ),
    setting(
        "--token-limit",
        type=click.IntRange(1),
        help="Ask nothing more after so many tokens.",
    ),
    setting(
        "--price",
        metavar="input=…,output=…|FILE",
        help="Price of a million tokens: input=0.15,output=0.6[,cached=…][,currency="
        "USD], or a JSON or YAML file with these by model.",
    ),
    setting(
        "--cost-limit",
        type=click.FloatRange(0, min_open=True),
        help="Ask nothing more when so much was spent; needs --price.",
    ),
    click.option(
        "--cache/--no-cache",
        "cached",
        default=True,
        envvar="EVALKIT_REPLY_CACHE",
        help="Take replies from the cache and keep them there, or ask anew.",
    ),
    setting(
        "--keep-requests",
        is_flag=True,
        help="Keep the requests themselves in requests.parquet, not only digests.",
    ),
)
"""The options that say how a model is asked."""


def refuse_given(names: Iterable[str], why: str) -> None:
    """Refuse options of the present command that mean nothing there.

    What only the environment or a settings file says is for other commands.

    Args:
        names: Names of their parameters.
        why: Why they mean nothing.

    Raises:
        UsageError: One is given on the command line.
    """
    context = click.get_current_context()
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name not in names or source != ParameterSource.COMMANDLINE:
            continue
        is_off = context.params.get(parameter.name) is False
        option = [*(parameter.secondary_opts if is_off else []), *parameter.opts][0]
        raise click.UsageError(f"{option} {why}")


def read_asked(
    given: dict[str, Any], is_asked: bool = True, *, is_judged: bool = False
) -> dict[str, Any]:
    """Take the options of asking out of all that were given.

    Args:
        given: Options by name; those of `asking_options` are removed.
        is_asked: Whether a model is asked.
        is_judged: Whether judges are asked, within the same limits.

    Returns:
        The arguments of `predict` from `prompt` to `asked`; none where no model
        is asked.

    Raises:
        BadParameter: A value is malformed.
        UsageError: One is given, and no model is asked.
    """
    if not is_asked:
        names = [name for name in PARAMETERS if not (is_judged and name in _LIMITS)]
        refuse_given(names, "is for a model that is asked: --model, without -p.")
    said = {name: given.pop(name) for name in PARAMETERS}
    if not is_asked:
        return {}
    from evalkit_models_base import Asked

    wording = ("prompt", "shots", "trials", "replications", "model_kind")
    limits = {*PARAMETERS} & {*Asked.__annotations__} - {"max_errors"}
    return {
        **{name: said[name] for name in wording},
        "generate": _read_generate(said["generate"]),
        "asked": Asked(
            **{name: said[name] for name in limits},
            seconds=said["timeout"],
            max_errors=_read_errors(said["max_errors"]),
            is_cached=said["cached"],
            keeps_requests=said["keep_requests"],
        ),
    }


_LIMITS = (
    *("concurrency", "retries", "timeout", "token_limit", "max_errors", "cached"),
    *("requests_per_minute", "tokens_per_minute"),
)
"""Parameters that limit judges, too."""


def limits_given(context: click.Context) -> dict[str, Any]:
    """Return the limits that a user set, by their names in a judge's file."""
    default = click.core.ParameterSource.DEFAULT
    found = {
        "cache" if name == "cached" else name: context.params[name]
        for name in _LIMITS
        if context.get_parameter_source(name) != default
    }
    if "max_errors" in found:
        found["max_errors"] = _read_errors(found["max_errors"])
    return found


def _read_errors(given: str) -> float:
    try:
        if given.endswith("%"):
            share = float(given[:-1]) / 100
            if not 0 <= share < 1:
                raise ValueError
            return share
        return float(int(given))
    except ValueError:
        raise click.BadParameter(
            f"{given!r} is neither a whole number nor a share such as 5%",
            param_hint="--max-errors",
        ) from None


def _read_generate(given: str | None) -> dict[str, Any] | None:
    if given is None:
        return None
    found: dict[str, Any] = {}
    for part in given.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            raise click.BadParameter(
                f"{part!r} is no KEY=VALUE", param_hint="--generate"
            )
        name = name.strip()
        kept = None if value == "none" else value  # none: what the model does
        found[name] = _read_stop(value) if name == "stop" else kept
    return found


def _read_stop(given: str) -> list[str]:
    """Take texts apart at slashes, as in names of plugins, but for that of `</s>`."""
    texts = re.split(r"(?<!<)/", given)
    if "" in texts:
        raise click.BadParameter(
            f"stop={given} holds an empty text: a slash stands between two texts; one "
            "with a slash of its own is written in a file (--prompt)",
            param_hint="--generate",
        )
    return texts
