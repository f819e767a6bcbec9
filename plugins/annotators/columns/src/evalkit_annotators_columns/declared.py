"""Annotators that a user or a task declares, with a name of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.base.wording import absent_field
from evalkit.catalog import Resolver, is_component_name
from evalkit.errors import DataError, PluginContractError, PluginError
from evalkit.plugins.provenance import texts_in
from evalkit_annotators_columns.bound import BoundAnnotator


def bind_declared(
    given: Mapping[str, Any], resolver: Resolver
) -> dict[str, BoundAnnotator]:
    """Load annotators that are declared, each under its name."""
    found = {}
    for name, what in given.items():
        where = getattr(what, "source", None) or f"the annotator {name!r}"
        parameters = None
        if not is_component_name(name):
            rule = "an annotator's name has lower-case letters, digits and dashes"
            raise PluginContractError(f"{where}: {rule}, and is {name!r}")
        if isinstance(what, Mapping):
            parameters = {k: v for k, v in what.items() if k != "annotator"}
            what = what.get("annotator")
        if what is None:
            raise PluginContractError(f"{where}: annotator: say which one it is")
        try:
            bound = BoundAnnotator.of(resolver.bind("annotators", what, parameters))
        except PluginError as error:
            raise type(error)(f"{where}: {error}") from error
        found[name] = bound.called(name, where)
    return found


def refuse_absent(
    annotator: BoundAnnotator, columns: Sequence[str], offered: Sequence[str]
) -> None:
    """Refuse a declared annotator that reads what there is not."""
    for name in annotator.reads:
        if annotator.source and name not in columns:
            said = texts_in("", annotator.changed_parameters)
            signs = (f"{{{name}}}", f"{{{name}.")
            places = (p[1:] for p, t in said if t == name or any(s in t for s in signs))
            where = f"{annotator.source}: {next(places, 'it')}"
            hint = " (--against RUN gives it)" if name == "against" else ""
            raise DataError(f"{where} reads {absent_field(name, offered)}{hint}")
