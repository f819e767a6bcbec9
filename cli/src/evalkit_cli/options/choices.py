"""Options that commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from evalkit_cli.options.completion import complete_names

if TYPE_CHECKING:
    from evalkit.catalog import RowSource

F = TypeVar("F", bound=Callable[..., Any])


class Decorator(Protocol):
    """Adds options to a command."""

    def __call__(self, function: F, /) -> F:
        """Add them."""
        ...


_ON_PROBLEM = click.Choice(("error", "wrong", "skip"))
_ON_DUPLICATE = click.Choice(("error", "first", "last"))


def apply(*decorators: Decorator) -> Decorator:
    """Join decorators into one, which applies them in the order they are read."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def setting(*names: str, **attributes: Any) -> Decorator:
    """Return an option that the variable sets too which is called as it is."""
    [long, *_] = [name for name in names if name.startswith("--")]
    variable = long.partition("/")[0][2:].replace("-", "_").upper()
    return click.option(
        *names,
        show_default=attributes.get("default") is not None,
        envvar=f"EVALKIT_{variable}",
        **attributes,
    )


class InputFile(click.Path):
    """A file of this machine that is there, or a URI, which its reader fetches.

    Args:
        dir_okay: Whether a folder will do.
    """

    def __init__(self, *, dir_okay: bool = False) -> None:
        super().__init__(exists=True, dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Take a URI as it is."""
        from evalkit.places import is_remote

        if is_remote(str(value)):
            return Path(value)
        return super().convert(value, param, ctx)


class RunsFolder(click.Path):
    """A folder of runs: of this machine, or the URI of one, as a path."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path; a URI without a bucket would be one of another bucket."""
        if ":///" in str(value):
            from evalkit.errors import DataError
            from evalkit.places import uri_of

            try:
                uri_of(value)
            except DataError as error:
                self.fail(str(error), param, ctx)
        return super().convert(value, param, ctx)


_which_examples = apply(
    setting(
        "--data",
        type=click.Path(),
        help="File of examples, or its URI such as s3://bucket/file.jsonl, instead of "
        "an installed data set; needs --task.",
    ),
    setting(
        "--task",
        metavar="NAME",
        shell_complete=complete_names("tasks"),
        help="Task of a file of examples, or of the data sets of --predictions-dir.",
    ),
    setting("--split", help="Split of the data set."),
    setting(
        "-n",
        "--limit",
        type=click.IntRange(min=1),
        help="Use at most so many examples, the first ones.",
    ),
    click.option(
        "--filter",
        "filters",
        multiple=True,
        metavar="KEY=VALUE",
        help="Keep only examples where KEY equals VALUE. KEY is a facet, `tag`, "
        "`answer` or a column (`column.NAME` for one with a facet's name). Repeatable.",
    ),
)

data_options = apply(
    click.argument(
        "dataset", required=False, shell_complete=complete_names("datasets")
    ),
    _which_examples,
)
"""What is evaluated: a data set or a file, and which of its examples."""

several_data_options = apply(
    click.argument(
        "datasets",
        nargs=-1,
        metavar="[DATASET]…",
        shell_complete=complete_names("datasets"),
    ),
    _which_examples,
)
"""The same of one or several data sets."""


def read_names(_context: Any, option: click.Parameter, given: Any) -> list[str] | None:
    """Read names that are joined by commas; None for none."""
    if given is None:
        return None
    names = [name.strip() for name in given.split(",")]
    if not all(names):
        form = str(option.metavar).replace("|", " or ")
        raise click.UsageError(f"{option.opts[0]} {given!r} is not of the form {form}.")
    return names


cluster_option = setting(
    "--cluster",
    metavar="COLUMN[,…]",
    callback=lambda *given: read_names(*given) or [],
    help="Column, or columns joined by commas, whose equal values mark examples that "
    "are not independent, such as questions about one text.",
)
"""The parameter `cluster` of `evalkit.evaluate`."""


policy_options = apply(
    setting(
        "--on-missing",
        type=_ON_PROBLEM,
        default="error",
        help="What to do about examples without a prediction.",
    ),
    setting(
        "--on-invalid",
        type=_ON_PROBLEM,
        default="error",
        help="What to do about predictions that break the task's rules.",
    ),
    setting(
        "--on-duplicate",
        type=_ON_DUPLICATE,
        default="error",
        help="What to do about predictions that repeat an id.",
    ),
)
"""What happens to examples without a valid prediction, and to repeated ids."""


adapter_option = click.option(
    "--adapter",
    "adapters",
    multiple=True,
    metavar="PLACE=FILE|NAME",
    help="Change each row of predictions, data or perturbed before it is checked: an "
    "adapter (NAME[:KEY=VALUE,…]), or a YAML or JSON file with a list of them.",
)
"""The parameter `adapters` of `evalkit.evaluate`."""


map_option = click.option(
    "--map",
    "mapped",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Column of a field of the examples: statement=text, label=meta.gold (nested), "
    "id=#row (row number), facet:origin=source (tags such as origin:web). Repeatable.",
)
"""The parameter `map` of `evalkit.evaluate`."""

map_predictions_option = click.option(
    "--map-predictions",
    "mapped_predictions",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="The same of the predictions: id=key, label=output.text, "
    "prob.positive=p_positive; repeatable.",
)
"""The parameter `map_predictions` of `evalkit.evaluate`."""


normalise_option = click.option(
    "--normalise",
    multiple=True,
    type=click.Choice(("labels",)),
    help="Write the labels of data and predictions as they are declared, where they "
    "differ in case, surrounding blanks or Unicode form.",
)
"""The parameter `normalise` of `evalkit.evaluate`."""


extract_option = setting(
    "--extract",
    metavar="NAME[:…]|…",
    help="Extractors that take the answer out of a response, such as "
    "'after:Answer:|choice', a file with a list of them, or `none`. Default: the "
    "dataset's.",
)
"""The parameter `extract` of `evalkit.evaluate`."""


def read_map(given: tuple[str, ...], option: str) -> dict[str, str]:
    """Read `FIELD=COLUMN` options."""
    found: dict[str, str] = {}
    for text in given:
        field, equals, column = text.partition("=")
        if not (field and equals and column):
            raise click.UsageError(
                f"{option} {text!r} is not of the form FIELD=COLUMN."
            )
        if field in found:
            raise click.UsageError(f"{option} {field}=… is given twice.")
        found[field] = column
    return found


def read_adapters(
    given: tuple[str, ...], places: Sequence[str] = ("predictions", "data", "perturbed")
) -> dict[str, str]:
    """Read `PLACE=FILE` options."""
    found: dict[str, str] = {}
    for text in given:
        place, _, named = text.partition("=")
        if place not in places or not named:
            forms = ", ".join(f"{each}=FILE or {each}=NAME" for each in places)
            raise click.UsageError(f"--adapter {text!r} is not of the form {forms}.")
        if place in found:
            raise click.UsageError(
                f"--adapter {place}=… is given twice; put both into one file."
            )
        found[place] = named
    return found


def row_source(
    adapters: Mapping[str, Any], mapping: Mapping[str, str], **options: Any
) -> RowSource | None:
    """Return what changes rows, as options say."""
    if not (adapters or mapping or any(options.values())):
        return None
    from evalkit_adapters_rows import Rows

    return Rows(adapters=adapters, map=mapping, **options)


def read_filters(given: tuple[str, ...]) -> Mapping[str, list[str]]:
    """Read `KEY=VALUE` options.

    Args:
        given: The options.

    Returns:
        The values by key.

    Raises:
        UsageError: One is not of this form.
    """
    filters: dict[str, list[str]] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise click.UsageError(f"--filter {text!r} is not of the form KEY=VALUE.")
        filters.setdefault(key, []).append(value)
    return filters


def chosen_dataset(dataset: str | None, data: str | None, task: str | None) -> str:
    """Return the data set or the file that was named.

    Args:
        dataset: The argument.
        data: The option `--data`.
        task: The option `--task`.

    Returns:
        A name, or the path of a file as a name that is taken for one.

    Raises:
        UsageError: Neither or both were named, or a file without a task.
    """
    if (dataset is None) == (data is None):
        if dataset is not None and Path(dataset).is_file():
            raise click.UsageError(
                f"--data names the data already, got also the file {dataset!r}. "
                f"Predictions are given with -p {dataset}."
            )
        raise click.UsageError(
            "name a data set (see `evalkit list datasets`), or a file with --data FILE."
        )
    from evalkit.catalog import is_file_name
    from evalkit.places import is_remote

    if data is not None:
        dataset = data if is_remote(data) else str(Path.cwd() / data)
    assert dataset is not None
    name = dataset.removeprefix("datasets/").removeprefix("benchmarks/")
    if not is_file_name(name):
        dataset = name
    if is_file_name(dataset):
        if task is None:
            raise click.UsageError(
                f"{dataset!r} is a file; say which task it is of with --task NAME "
                "(see `evalkit list tasks`)."
            )
    elif task is not None:
        raise click.UsageError(
            "--task is for a file of examples or for --predictions-dir; the data set "
            f"{dataset} knows its own."
        )
    return dataset
