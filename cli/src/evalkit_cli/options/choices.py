"""Options that commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from evalkit_cli.options.completion import complete_names

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


data_options = apply(
    click.argument(
        "dataset", required=False, shell_complete=complete_names("datasets")
    ),
    click.option(
        "--data",
        type=click.Path(),
        envvar="EVALKIT_DATA",
        help="File of examples instead of an installed data set; needs --task.",
    ),
    click.option(
        "--task",
        metavar="NAME",
        envvar="EVALKIT_TASK",
        shell_complete=complete_names("tasks"),
        help="Task of a file of examples, or of the data sets of --predictions-dir.",
    ),
    click.option("--split", envvar="EVALKIT_SPLIT", help="Split of the data set."),
    click.option(
        "-n",
        "--limit",
        type=click.IntRange(min=1),
        envvar="EVALKIT_LIMIT",
        help="Use at most so many examples, the first ones.",
    ),
    click.option(
        "--filter",
        "filters",
        multiple=True,
        metavar="KEY=VALUE",
        help="Use only examples with this value in a column, as a facet, as `tag`, or "
        "as `answer` (a label as it is scored); `column.KEY` is surely the column. "
        "Repeat it for other values of the same key, or for further keys that must "
        "hold too.",
    ),
)
"""What is evaluated: a data set or a file, and which of its examples."""

cluster_option = click.option(
    "--cluster",
    metavar="COLUMN[,…]",
    envvar="EVALKIT_CLUSTER",
    callback=lambda _context, _option, given: _columns(given),
    help="Column of the data whose values say which examples are not independent, such "
    "as questions about one text: intervals are clustered by it. Several columns, "
    "joined by commas, stand for the combination of their values.",
)
"""The parameter `cluster` of `evalkit.evaluate`."""


def _columns(given: str | None) -> list[str]:
    """Read columns that are joined by commas."""
    if given is None:
        return []
    names = [name.strip() for name in given.split(",")]
    if not all(names):
        raise click.UsageError(f"--cluster {given!r} is not of the form COLUMN[,…].")
    return names


policy_options = apply(
    click.option(
        "--on-missing",
        type=_ON_PROBLEM,
        default="error",
        show_default=True,
        envvar="EVALKIT_ON_MISSING",
        help="What to do about examples without a prediction.",
    ),
    click.option(
        "--on-invalid",
        type=_ON_PROBLEM,
        default="error",
        show_default=True,
        envvar="EVALKIT_ON_INVALID",
        help="What to do about predictions that break the task's rules.",
    ),
    click.option(
        "--on-duplicate",
        type=_ON_DUPLICATE,
        default="error",
        show_default=True,
        envvar="EVALKIT_ON_DUPLICATE",
        help="What to do about predictions that repeat an id.",
    ),
)
"""What happens to examples without a valid prediction, and to repeated ids."""


adapter_option = click.option(
    "--adapter",
    "adapters",
    multiple=True,
    metavar="PLACE=FILE",
    help="Adapters, as a list in YAML or JSON, that change each row before it is "
    "checked, at the place predictions or data; `evalkit adapt` tries them by hand.",
)
"""The parameter `adapters` of `evalkit.evaluate`."""


def read_adapters(given: tuple[str, ...]) -> dict[str, Path]:
    """Read `PLACE=FILE` options.

    Args:
        given: The options.

    Returns:
        The files of adapters by place.

    Raises:
        UsageError: One is not of this form, or a place is named twice.
    """
    found: dict[str, Path] = {}
    for text in given:
        place, _, path = text.partition("=")
        if place not in ("data", "predictions") or not path:
            raise click.UsageError(
                f"--adapter {text!r} is not of the form predictions=FILE or data=FILE."
            )
        if place in found:
            raise click.UsageError(
                f"--adapter {place}=… is given twice; put both into one file."
            )
        found[place] = Path(path)
    return found


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
        raise click.UsageError(
            "name a data set (see `evalkit list datasets`), or a file with --data FILE."
        )
    from evalkit.catalog import is_file_name, local_path

    if data is not None:
        dataset = str(Path.cwd() / local_path(data))
    assert dataset is not None
    name = dataset.removeprefix("datasets/")
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
