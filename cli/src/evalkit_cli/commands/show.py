"""`evalkit show`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.options.completion import complete_ids_and_runs
from evalkit_cli.options.kinds import kind_meant, kind_names
from evalkit_cli.options.local_plugins import plugin_option
from evalkit_cli.options.run_names import run_paths
from evalkit_cli.options.runs import (
    folder_option,
    format_option,
    json_option,
    quiet_with,
    verbose_with,
)
from evalkit_cli.printing.progress_bar import watched
from evalkit_cli.printing.shown_components import (
    show_component,
    show_contract,
    show_rows,
)
from evalkit_cli.printing.streams import plugin_output_to_stderr

if TYPE_CHECKING:
    from evalkit import Result
    from evalkit_cli.printing.joined_inputs import JoinedInputs
    from evalkit_cli.printing.joined_texts import Join


_RUN_ID = re.compile("[0-9a-f]+")

_ALL = "*"
"""Stands for all perturbations; no name of one begins with it."""


@click.command("show", context_settings={"allow_extra_args": True})
@click.argument(
    "what",
    metavar="KIND/NAME|RUN",
    required=False,
    shell_complete=complete_ids_and_runs,
)
@click.option(
    "--contract",
    metavar="KIND",
    help="What a plugin of a kind may say and do, such as `metrics`: attributes and "
    "hooks with their types and texts.",
)
@click.option("--wrong", is_flag=True, help="The wrongly answered examples of a run.")
@click.option(
    "--unparsed",
    is_flag=True,
    help="The responses of a run in which no answer was found, and why.",
)
@click.option(
    "--confusion",
    is_flag=True,
    help="How often each answer of a run got each prediction.",
)
@click.option(
    "--flips",
    is_flag=False,
    flag_value=_ALL,
    metavar="[PERTURBATION]",
    help="Perturbed examples of a run whose prediction differs from the original's, of "
    "one perturbation or family:NAME if it is named. Write it after the RUN.",
)
@click.option(
    "--requests",
    metavar="ID",
    help="The requests that the model of a run got about this example, and what is "
    "known of each.",
)
@click.option(
    "--tag",
    help="With --wrong, --unparsed, --confusion or --flips: only examples with this "
    "tag.",
)
@click.option(
    "-m",
    "--metric",
    metavar="NAME",
    help="With --wrong: the metric whose per-example scores tell; default: the main "
    "one that has them, else whether the prediction is the answer.",
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Maximum examples of --wrong, --unparsed or --flips; or, after datasets/NAME, "
    "rows of the dataset.",
)
@click.option(
    "--data",
    metavar="FILE",
    help="With --wrong or --flips: the run's file of data (or of copies), whose texts "
    "are shown beside the answers.",
)
@click.option(
    "--show-text",
    is_flag=True,
    help="With -n after datasets/NAME, or --data: show texts that may be hurtful to "
    "read.",
)
@click.option(
    "--by",
    multiple=True,
    metavar="NAMES",
    help="Group the examples of a run by this facet, `answer`, `pred`, `status` or a "
    "field of the responses; several, joined by commas, are crossed; repeatable.",
)
@folder_option
@json_option
@format_option
@quiet_with("Print the scores of the whole set of a run and nothing else.")
@verbose_with(
    "Print every tag, metric and notice of a run, not only the worst tags, and how "
    "intervals were made; all attributes of a plugin."
)
@click.pass_context
@plugin_option
def show_command(
    context: click.Context,
    /,
    what: str | None,
    contract: str | None,
    folder: Path,
    as_json: bool,
    show_text: bool,
    **options: Any,
) -> None:
    """Describe a plugin, a kind of plugin or rows of data, or show an earlier run.

    \b
    Examples:
      evalkit show metrics/macro-f1
      evalkit show --contract metrics
      evalkit show datasets/sample-nli -n 3
      evalkit show ./bench.yaml
      evalkit show latest
      evalkit show 3f2a --format latex
      evalkit show 3f2a --by functionality,target --by answer
      evalkit show 3f2a --wrong --tag functionality:negation -n 50
      evalkit show 3f2a --wrong --data my-set.jsonl
      evalkit show 3f2a --unparsed
      evalkit show 3f2a --requests 17
      evalkit show 3f2a --flips gender-swap
      evalkit show gpt@hatecheck --confusion --json

    A RUN is the path of a run folder, the start of its id, `latest`, or a model, also
    as MODEL@DATASET: its newest complete run. Without an option, the report of
    `evalkit eval` is shown. A run folder has no texts of examples; --data reads them.

    Exit codes: 0 done; 1 an error, such as a run that is not there; 2 wrong usage.
    """  # noqa: D301 - click reads the backspace
    if context.args:
        raise click.UsageError(
            f"{what} and {context.args[0]} are two things to show; `evalkit compare` "
            "and `evalkit report` take several runs."
        )
    if contract is not None:
        if what is not None:
            raise click.UsageError(f"--contract and {what} are two things to show.")
        _refuse_run_options(context, f"--contract {contract}", [])
        show_contract(kind_meant(contract), as_json)
        return
    if what is None:
        raise click.UsageError(
            "name what to show: KIND/NAME or a RUN, and --flips after it."
        )
    what = _as_dataset(what)
    kind, _, name = what.partition("/")
    wants_rows = kind in ("datasets", "benchmarks") and _is_given(context, "limit")
    if show_text and not wants_rows and options["data"] is None:
        raise click.UsageError("--show-text needs datasets/NAME and -n, or --data.")
    if _is_component(what):
        allowed = ["limit"] if wants_rows else []
        _refuse_run_options(context, what, allowed)
        if wants_rows:
            show_rows(name, options["limit"], show_text, as_json)
        else:
            show_component(context, what, as_json, options["verbose"])
    else:
        path = _find(what, folder, options["quiet"])
        _show_run(path, as_json=as_json, show_text=show_text, **options)


def _as_dataset(what: str) -> str:
    """Name a file that declares a data set as `datasets/FILE`."""
    from evalkit import find_components

    is_read = find_components().reader_of(what) is not None
    return f"datasets/{what}" if is_read and not _is_component(what) else what


def _is_component(what: str) -> bool:
    kind, slash, _ = what.partition("/")
    return bool(slash) and kind in kind_names() and not Path(what).is_dir()


_RUN_OPTIONS = (
    *("wrong", "unparsed", "confusion", "flips", "tag", "metric", "limit", "by"),
    *("table_format", "data", "requests"),
)


def _is_given(context: click.Context, option: str) -> bool:
    from click.core import ParameterSource

    return context.get_parameter_source(option) is ParameterSource.COMMANDLINE


def _refuse_run_options(
    context: click.Context, what: str, allowed: Sequence[str]
) -> None:
    for option in context.command.params:
        name = str(option.name)
        if name in _RUN_OPTIONS and name not in allowed and _is_given(context, name):
            raise click.UsageError(
                f"{option.opts[-1]} is about a run, and {what} is a plugin."
            )


def _find(what: str, folder: Path, quiet: bool) -> Path:
    """Find a run, or say what else the name could have been."""
    from evalkit import find_components
    from evalkit.errors import StorageError
    from evalkit.places import is_remote
    from evalkit.runs import LATEST

    try:
        return run_paths([what], folder, quiet=quiet)[0]
    except StorageError as error:
        if Path(what).is_file():
            rows = "rows of installed data: evalkit show datasets/NAME -n 3"
            raise StorageError(f"{error}; {rows}") from error
        if what == LATEST or is_remote(what) or Path(what).exists():
            raise
        ids = [found.id for found in find_components().components]
        near = [found for found in ids if found.endswith(f"/{what}")]
        near = near or difflib.get_close_matches(what, ids, n=1)
        if not near and _RUN_ID.fullmatch(what):
            raise
        kind, _, name = what.partition("/")
        if name and kind_meant(kind) != kind:
            near = [f"{kind_meant(kind)}/{name}"]
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise click.UsageError(
            f"{what!r} is not of the form KIND/NAME, where KIND is one of "
            f"{', '.join(kind_names())}, and {error}.{hint}"
        ) from error


def _show_run(
    path: Path,
    wrong: bool,
    unparsed: bool,
    flips: str | None,
    confusion: bool,
    requests: str | None,
    tag: str | None,
    metric: str | None,
    limit: int,
    by: tuple[str, ...],
    data: str | None,
    show_text: bool,
    quiet: bool,
    verbose: bool,
    **how: Any,
) -> None:
    from evalkit import DataError, read_run
    from evalkit_cli.printing import run_views
    from evalkit_cli.printing.flip_views import print_flips
    from evalkit_cli.printing.request_views import print_requests
    from evalkit_cli.printing.unparsed_views import print_unparsed

    asked = (wrong, unparsed, confusion, requests is not None, flips is not None)
    views = [*compress(_VIEWS, asked)]
    _refuse_mixed(views, tag, metric, data, by)
    result = read_run(path)
    if requests is not None:
        print_requests(result, requests, **how)
        return
    if views and result.status == "refused":
        raise DataError(run_views.refusal_of(result))
    if by:
        result = _grouped(result, by, quiet)
    texts: dict[str, Any] = {
        "join": None if data is None else _join(result, data),
        "show_text": show_text,
    }
    if wrong:
        run_views.print_wrong(result, metric, tag, limit, **texts, **how)
    elif unparsed:
        print_unparsed(result, tag, limit, **how)
    elif flips is not None:
        chosen = None if flips == _ALL else flips
        print_flips(result, chosen, tag, limit, **texts, **how)
    elif confusion:
        run_views.print_confusion(result, tag, **how)
    else:
        run_views.print_run(result, quiet=quiet, verbose=verbose, **how)


_VIEWS = ("--wrong", "--unparsed", "--confusion", "--requests", "--flips")


def _refuse_mixed(
    views: Sequence[str],
    tag: str | None,
    metric: str | None,
    data: str | None,
    by: tuple[str, ...],
) -> None:
    """Refuse options that do not go together."""
    *first, last = _VIEWS
    problems = {
        f"{' and '.join(views)} are two views; choose one.": len(views) > 1,
        "--tag needs --wrong, --unparsed, --confusion or --flips.": tag is not None
        and not {*_VIEWS} - {"--requests"} & {*views},
        "-m needs --wrong.": metric is not None and "--wrong" not in views,
        "--data needs --wrong or --flips.": data is not None
        and not {"--wrong", "--flips"} & {*views},
        f"--by shows scores, without {', '.join(first)} and {last}.": by and views,
    }
    for problem in (text for text, holds in problems.items() if holds):
        raise click.UsageError(problem)


def _join(result: Result, data: str) -> Join:
    """Return what looks up the texts of examples in a file of data."""
    from evalkit_cli.printing.joined_inputs import join_inputs

    def join(ids: Collection[str]) -> JoinedInputs:
        with plugin_output_to_stderr():
            return join_inputs(result, data, ids)

    return join


def _grouped(result: Result, by: tuple[str, ...], quiet: bool) -> Result:
    """Compute the scores of other groups from the run folder."""
    from evalkit.reporting import score_crossings

    with plugin_output_to_stderr(), watched(quiet) as progress:
        return score_crossings(result, by, progress=progress)
