"""`evalkit perturb`."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Any

import click

from evalkit_cli.options.choices import (
    chosen_dataset,
    data_options,
    read_adapters,
    read_filters,
    read_map,
    row_source,
    setting,
)
from evalkit_cli.options.completion import complete_names
from evalkit_cli.options.example_changes import example_options
from evalkit_cli.options.local_plugins import plugin_option, plugin_words
from evalkit_cli.options.runs import json_option, quiet_with
from evalkit_cli.options.scoring import (
    engine_option,
    jobs_with,
    load_engine,
    observer_option,
    running,
    seed_with,
)
from evalkit_cli.printing.progress_bar import watched
from evalkit_cli.printing.streams import plugin_output_to_stderr, stdout_copy

_FAMILIES = ("fairness", "robustness")
_PRESETS = ("mild", "medium", "hard")


@click.command("perturb")
@data_options
@click.option(
    "--s3-uri",
    metavar="URI",
    help="Dataset in the store of an evaluation server: write the rows here, and print "
    "the command that adds them to the server.",
)
@click.option(
    "--perturbation",
    "perturbations",
    multiple=True,
    metavar="NAME[:KEY=VALUE,…]",
    shell_complete=complete_names("perturbations"),
    help="Perturb by this; A+B applies one after the other; repeatable.",
)
@click.option(
    "--family",
    "--perturb-prefix",
    "families",
    multiple=True,
    metavar="NAME",
    shell_complete=lambda *words: [x for x in _FAMILIES if x.startswith(words[2])],
    help="Perturb by each installed perturbation of this family, such as fairness or "
    "robustness; repeatable.",
)
@setting(
    "--preset",
    type=click.Choice(_PRESETS),
    help="How strong perturbations are that have presets; they choose medium.",
)
@click.option(
    "--fields",
    metavar="NAME[,NAME…]",
    help="Fields to change instead of those that the task names.",
)
@seed_with("Seed of what is drawn.")
@click.option(
    "--variants",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Copies of each example, as far as they differ.",
)
@click.option(
    "--unprotected",
    metavar="KIND[,KIND…]",
    default="",
    help="Also change code, digits, mark-up, placeholders or urls.",
)
@click.option("--again", is_flag=True, help="Take examples that are perturbed already.")
@click.option(
    "--edits", is_flag=True, help="Write into each row which places were edited."
)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="File of JSON lines to write, - for the standard output; by default "
    "<family or perturbation>-<data set>.jsonl, of data in a store beside them.",
)
@click.option("--overwrite", is_flag=True, help="Replace the file if it is there.")
@jobs_with("Processes that perturb at the same time.")
@engine_option
@observer_option
@example_options
@click.option(
    "--pairs",
    type=click.IntRange(min=0, max=5),
    default=2,
    show_default=True,
    help="Changed examples of each perturbation to show.",
)
@click.option(
    "--show-text",
    is_flag=True,
    help="Show the whole text of examples that may be hurtful to read.",
)
@json_option
@quiet_with("Print how many examples changed and nothing else.")
@plugin_option
def perturb_command(
    dataset: str | None,
    data: str | None,
    s3_uri: str | None,
    task: str | None,
    filters: tuple[str, ...],
    perturbations: tuple[str, ...],
    families: tuple[str, ...],
    fields: str | None,
    unprotected: str,
    adapters: tuple[str, ...],
    mapped: tuple[str, ...],
    out: str | None,
    pairs: int,
    show_text: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Write changed copies of the examples of a data set or file.

    \b
    Examples:
      evalkit perturb sample-nli --family fairness
      evalkit perturb hatecheck --perturbation keyboard-typos:preset=hard
      evalkit perturb --data my-set.jsonl --task nli --perturbation lowercase
      evalkit perturb sample-qa --perturbation lowercase+contractions -o both.jsonl

    An example in which a perturbation finds nothing to change gets no row, and is
    counted. Numbers, addresses, code, mark-up and placeholders stay as they are.

    Exit codes: 0 done; 1 an error; 2 wrong usage.
    """  # noqa: D301 - click reads the backspace
    if as_json and out == "-":
        raise click.UsageError("--json and -o - both need the standard output.")
    if not perturbations and not families:
        raise click.UsageError(
            "say how to perturb: --perturbation NAME (see `evalkit list "
            "perturbations`), or --family fairness."
        )
    if s3_uri and (dataset or data):
        raise click.UsageError("--s3-uri takes no DATASET and no --data.")
    from evalkit import Registry
    from evalkit.catalog import model_name
    from evalkit_cli.printing.perturbation_report import print_summary
    from evalkit_commands_perturb import perturb_dataset

    name, registry = chosen_dataset(dataset, data or s3_uri, task), Registry()
    engine = load_engine(options.pop("engine"), registry)
    options["unprotected"] = _items(unprotected)
    default = _default_name(name, perturbations, families)
    hosted: list[str] = []
    if s3_uri:
        original, default = model_name(Path(s3_uri)), default.rpartition("/")[2]
        hosted = ["--original", original.partition(".")[0]]
        hosted += ["--perturb-prefix", default.partition("-")[0]]
    target = out or default
    with contextlib.ExitStack() as stack:
        # before stdout is kept from plugins
        where = stack.enter_context(stdout_copy()) if target == "-" else target
        stack.enter_context(plugin_output_to_stderr())
        progress = stack.enter_context(watched(quiet))
        stack.enter_context(running(engine, progress))
        summary = perturb_dataset(
            name,
            where,
            perturbations=perturbations,
            families=families,
            task=task,
            filters=read_filters(filters),
            fields=None if fields is None else _items(fields),
            rows=row_source(
                read_adapters(adapters, ("data",)), read_map(mapped, "--map")
            ),
            progress=progress,
            engine=engine,
            registry=registry,
            **options,
        )
    print_summary(
        summary,
        source=data or name,
        hosted=hosted,
        task=task,
        selection=[
            *_selection(options["split"], options["limit"], filters),
            *(part for text in mapped for part in ("--map", text)),
            *(part for text in adapters for part in ("--adapter", text)),
        ],
        again=options["again"],
        pairs=pairs,
        show_text=show_text,
        as_json=as_json,
        quiet=quiet,
        to_stderr=target == "-",
    )


def _selection(
    split: str | None, limit: int | None, filters: tuple[str, ...]
) -> list[str]:
    """Return the options that choose examples, for a command on the same ones."""
    chosen = [*plugin_words()] if split is None else [*plugin_words(), "--split", split]
    for text in filters:
        chosen += ["--filter", text]
    return chosen if limit is None else [*chosen, "--limit", str(limit)]


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _names_in(perturbation: str) -> str:
    """Return the names of the steps of a perturbation, without their parameters."""
    from evalkit.catalog import split_composition

    steps = split_composition(perturbation)
    return "+".join(step.partition(":")[0] for step in steps)


def _default_name(
    dataset: str, perturbations: tuple[str, ...], families: tuple[str, ...]
) -> str:
    """Return Dynabench's name, `<family>-<name>.jsonl`.

    It is in the current folder, or of data in a store beside these.
    """
    from evalkit.catalog import model_name
    from evalkit.places import is_remote, join, uri_of

    stem = model_name(Path(dataset)) if "/" in dataset or "." in dataset else dataset
    if _is_pattern(stem) and not os.path.lexists(dataset):
        stem = "-".join(filter(None, re.split(r"[-*?[\]]+", stem))) or "data"
    how = [*families, *map(_names_in, perturbations)]
    name = f"{'-'.join(dict.fromkeys(how)).replace('@', '-')}-{stem}.jsonl"
    if not is_remote(dataset):
        return name
    folders = uri_of(dataset).split("/")[:-1]
    patterns = (place for place, part in enumerate(folders) if _is_pattern(part))
    return join("/".join(folders[: next(patterns, None)]), name)


def _is_pattern(text: str) -> bool:
    return any(each in text for each in "*?[")
