"""Annotators that a user or a task declares, with a name of their own."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.adapting.files import read_stages
from evalkit.base.names import is_component_name
from evalkit.base.wording import absent_field
from evalkit.errors import DataError, PluginContractError, PluginError
from evalkit.plugins.bound import BoundAnnotator
from evalkit.plugins.provenance import texts_in
from evalkit.plugins.resolver import Resolver

USUAL = "judge"
"""The annotator that is meant where a declaration names none."""


class Declared(NamedTuple):
    """An annotator that was declared."""

    annotator: BoundAnnotator
    source: str
    """The file, or where else it was declared."""

    @property
    def metrics(self) -> list[str]:
        """What is computed of it."""
        name = self.annotator.name
        return [each.replace("{name}", name) for each in self.annotator.metrics]

    def refuse_absent(self, columns: Sequence[str], offered: Sequence[str]) -> None:
        """Refuse one that reads what there is not.

        Args:
            columns: The columns that there are.
            offered: Those of the data and the responses.

        Raises:
            DataError: It does; the message names the parameter that says so.
        """
        for name in self.annotator.reads:
            if name not in columns:
                said = self.annotator.changed_parameters
                places = (
                    f" {place}:"
                    for place, text in texts_in("", said)
                    if f"{{{name}}}" in text or f"{{{name}." in text or text == name
                )
                where = next(places, "").replace(" .", " ")
                raise DataError(
                    f"{self.source}:{where} it reads {absent_field(name, offered)}"
                )


def read_annotators(given: Any, resolver: Resolver) -> dict[str, Declared]:
    """Load the annotators that somebody declares.

    Args:
        given: Files of TOML, JSON or YAML, or pairs of a name and a file; or, by the
            names that they get, files, what such a file says, or annotators as classes
            or objects.
        resolver: Finds them.

    Returns:
        The annotators by name.

    Raises:
        AdapterError: A file cannot be read.
        PluginError: An annotator is unknown or broken, or a declaration is wrong.
    """
    found: dict[str, Declared] = {}
    for name, what in _named(given):
        if not is_component_name(name):
            raise PluginContractError(
                f"{name!r} cannot be the name of an annotator: write lower-case "
                "letters, digits and dashes, as in --annotate NAME=FILE"
            )
        if name in found:
            raise PluginContractError(f"two annotators are called {name!r}")
        found[name] = _load(name, what, resolver)
    return found


def _named(given: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(given, Mapping):
        yield from given.items()
        return
    for file in [given] if isinstance(given, str | Path) else given:
        if isinstance(file, tuple):
            yield file
            continue
        if not isinstance(file, str | Path):
            raise PluginContractError(
                "annotators are files, or a dict of annotators by their names"
            )
        yield Path(file).name.partition(".")[0].lower().replace("_", "-"), file


def _load(name: str, what: Any, resolver: Resolver) -> Declared:
    source = f"the annotator {name!r}"
    if isinstance(what, str | Path):
        source, what = str(what), read_stages(what)
    parameters = None
    try:
        if isinstance(what, Mapping):
            parameters = {k: v for k, v in what.items() if k != "annotator"}
            what = str(what.get("annotator", USUAL))
        elif isinstance(what, list):
            raise PluginContractError("it must be an object, is a list")
        bound = BoundAnnotator.of(resolver.bind("annotators", what, parameters))
    except PluginError as error:
        raise type(error)(f"{source}: {error}") from error
    named = copy.copy(bound)
    vars(named).update(name=name)
    return Declared(named, source)
