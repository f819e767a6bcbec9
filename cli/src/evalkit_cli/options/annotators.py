"""The option by which responses are judged, and the files that it names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.options.run_names import run_paths
from evalkit_cli.printing.streams import echo

if TYPE_CHECKING:
    from evalkit import Registry, Result
    from evalkit.catalog import ColumnStage
    from evalkit_annotators_columns import BoundAnnotator

_USUAL = "judge"

annotate_option = click.option(
    "--annotate",
    "annotators",
    multiple=True,
    metavar="[NAME=]FILE",
    help="Have a model judge the responses, as this TOML, JSON or YAML file says "
    "(docs/judges.md). Adds the metrics of the verdicts. Repeatable.",
)
"""Declares annotators of the parameter `columns` of `evalkit.evaluate`."""

against_option = click.option(
    "--against",
    metavar="RUN",
    help="A run of the same data, with whose answers a judge of pairs compares the "
    "responses (see RUN of `evalkit show`).",
)
"""The parameter `against` of `evalkit.evaluate`."""


def run_against(reference: str | None, runs: Path) -> Result | None:
    """Read the run that `--against` names."""
    if reference is None:
        return None
    from evalkit import read_run

    (path,) = run_paths([reference], runs)
    return read_run(path)


def declared_annotators(
    registry: Registry, given: tuple[str, ...], limits: Mapping[str, Any]
) -> dict[str, BoundAnnotator]:
    """Load the annotators that files declare."""
    found: dict[str, BoundAnnotator] = {}
    for text in given:
        name, equals, file = text.partition("=")
        if not equals or {*name} & {*"./"}:
            file = text
            name = Path(file).name.partition(".")[0].lower().replace("_", "-")
        if name in found:
            raise click.UsageError(
                f"--annotate names two files {name!r}; write NAME={file} for one."
            )
        found[name] = _load(registry, name, file, limits)
    return found


def column_stage(
    registry: Registry, given: tuple[str, ...], limits: Mapping[str, Any]
) -> ColumnStage | None:
    """Return the column stage of the annotators in files; None without any."""
    if not given:
        return None
    from evalkit_annotators_columns import Annotators

    return Annotators(declared_annotators(registry, given, limits))


def _load(
    registry: Registry, name: str, file: str, limits: Mapping[str, Any]
) -> BoundAnnotator:
    from evalkit.errors import PluginError
    from evalkit_annotators_columns import BoundAnnotator

    said = dict(_read(Path(file)))
    kind = str(said.pop("annotator", _USUAL))
    if kind == _USUAL and limits:
        said["asking"] = {**(said.get("asking") or {}), **limits}
    elif limits.get("dry_run"):  # it would be asked
        raise click.UsageError(
            f"--dry-run shows what judges would be asked; {file} declares the "
            f"annotator {kind!r}, which cannot say so."
        )
    try:
        bound = BoundAnnotator.of(registry.load("annotators", kind, said))
    except PluginError as error:
        raise type(error)(f"{file}: {error}") from error
    for doubt in getattr(bound.plugin, "doubts", ()):
        echo(f"evalkit: warning: {file}: {doubt}", err=True)
    return bound.called(name, file)


def _read(path: Path) -> dict[str, Any]:
    """Read an object from a file."""
    import tomllib

    from evalkit.catalog import local_file, refuse_unnamed_code
    from evalkit.errors import DataError
    from evalkit_adapters_rows import read_stages

    path = local_file(path)
    if path.suffix == ".toml":
        try:
            found: Any = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise DataError(f"{path}: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:  # also bytes that are no UTF-8
            raise DataError(f"{path}: invalid TOML: {error}") from error
        refuse_unnamed_code(path, found)
    else:
        found = read_stages(path)
    if not isinstance(found, dict):
        raise DataError(f"{path}: it must hold an object, with a model at least")
    return found
