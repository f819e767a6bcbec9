"""Finds out how to cite what a run used, and under which licences it is."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from evalkit import Result
    from evalkit.catalog import Bound, Resolver

_BIBTEX = re.compile(r"\s*@\w+\s*[{(]")

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}


class Work(NamedTuple):
    """Something that a run used."""

    id: str
    """Id of the component, such as `datasets/hatecheck`, or `evalkit`."""
    version: str | None
    """Of a data set its own, else that of its distribution."""
    citation: str | None
    """What its author declares: BibTeX, or a plain text; None where there is none."""
    license: str | None
    """Of a data set that of the data, else that of its distribution."""
    source_url: str | None = None

    @property
    def is_bibtex(self) -> bool:
        """Whether the declared citation is BibTeX already."""
        return self.citation is not None and bool(_BIBTEX.match(self.citation))

    @property
    def bibtex(self) -> str | None:
        """The citation as a BibTeX entry; None where there is none."""
        if self.citation is None or self.is_bibtex:
            return self.citation and self.citation.strip()
        fields = {"title": self.id.partition("/")[2] or self.id}
        version = f". Version {self.version}" if self.version else ""
        fields["note"] = " ".join(self.citation.split()).removesuffix(".") + version
        lines = [f"  {name} = {{{_escaped(text)}}}" for name, text in fields.items()]
        if self.source_url:
            lines.append(f"  url = {{{self.source_url}}}")
        key = self.id.replace("/", "-")
        return f"@misc{{{key},\n" + ",\n".join(lines) + "\n}"


class Works(NamedTuple):
    """All that a run used."""

    works: tuple[Work, ...]
    """The data set, its task, the metrics, and evalkit itself."""
    remarks: tuple[str, ...]
    """What has no citation although it should, and what could not be asked."""


def cited_works(result: Result, resolver: Resolver) -> Works:
    """Find out how to cite what a run used.

    Citation and licence of the data are those that the run recorded. A task or metric
    is loaded and asked for its attribute `citation`, which it need not have.

    Args:
        result: A result, stored or not.
        resolver: Finds the plugins.

    Returns:
        The works, and what is not known of them.
    """
    from evalkit.errors import PluginError
    from evalkit.runs import bound_component

    record = result.record
    data, remarks = _data(result)
    works = [data]
    for component in record.components:
        if component.kind == "datasets":
            continue
        try:
            citation = _citation(bound_component(component, resolver))
        except PluginError as error:
            citation = None
            remarks.append(f"{component.id} cannot be asked for a citation: {error}")
        license_name = _license(component.distribution)
        works.append(Work(component.id, component.version, citation, license_name))
    core = None if record.core is None else record.core.version
    return Works((*works, _evalkit(core)), tuple(remarks))


def _data(result: Result) -> tuple[Work, list[str]]:
    """Return the data, and what is not known of them."""
    from evalkit.catalog import WITHOUT_PLUGIN

    data = result.record.data
    [name] = [c.id for c in result.record.components if c.kind == "datasets"]
    work = Work(
        name,
        data.version,
        data.citation or None,
        data.license or None,
        data.source_url or None,
    )
    origins = (c.distribution for c in result.record.components if c.id == name)
    given = next((each for each in origins if each in WITHOUT_PLUGIN), None)
    remarks = [
        f"{result.dataset} was {given}, whose {what} is not known"
        if given
        else f"{name} names no {what} of its data"
        for what, value in (("citation", work.citation), ("licence", work.license))
        if value is None
    ]
    return work, remarks


def _citation(bound: Bound) -> str | None:
    from evalkit.catalog import FunctionMetric

    plugin = bound.plugin
    declarer = plugin.function if isinstance(plugin, FunctionMetric) else plugin
    citation = getattr(declarer, "citation", None)
    return citation if isinstance(citation, str) and citation.strip() else None


def _license(distribution: str) -> str | None:
    try:
        metadata = importlib.metadata.metadata(distribution).json
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None
    declared = metadata.get("license_expression") or metadata.get("license")
    return str(declared).strip().partition("\n")[0] if declared else None


def _evalkit(version: str | None) -> Work:
    text = "Software that scores what models said"
    return Work("evalkit", version, text, _license("evalkit-core"))


def bibtex_entries(works: Iterable[Work]) -> list[str]:
    """Return the BibTeX entries of works, each once, in their order."""
    entries = (work.bibtex for work in works)
    return list(dict.fromkeys(entry for entry in entries if entry is not None))


def _escaped(text: str) -> str:
    return "".join(_ESCAPED.get(mark, mark) for mark in text)
