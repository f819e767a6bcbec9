"""How components and scores are named on the command line and in files."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from typing import Any, NamedTuple

from evalkit.errors import UnknownPluginError

_COMPONENT_NAME = re.compile(r"(?=.{1,62}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")

_SCHEMA_NAME = re.compile(
    r"[A-Za-z][A-Za-z0-9_]{,61}(?:\.[A-Za-z][A-Za-z0-9_]{,61}){,3}"
)

_REFERENCE = re.compile(
    r"(?P<name>[^:]+?\.py:[^\W\d]\w*(?![^:])|[^@:]+)(?:@(?P<distribution>[^@:]+))?(?::(?P<parameters>.*))?",
    re.DOTALL,
)


class Reference(NamedTuple):
    """A component as a user names it: `NAME[@DISTRIBUTION][:KEY=VALUE,…]`."""

    name: str
    distribution: str | None = None
    """Normalised name of the distribution, where the user picked one."""
    parameters: Mapping[str, Any] = {}
    """Texts, or lists of texts where the value held a `/`."""


def is_component_name(name: str) -> bool:
    """Tell whether a name follows the rule for component names."""
    return bool(_COMPONENT_NAME.fullmatch(name))


def is_schema_name(name: str) -> bool:
    """Tell whether a name follows the rule for schemas, as `text.Text` does."""
    return bool(_SCHEMA_NAME.fullmatch(name))


def normalise_distribution(name: str) -> str:
    """Return a distribution's name in the one spelling that compares equal."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_python_file(name: str) -> bool:
    """Tell whether a name is `FILE.py:OBJECT`, a plugin in a file."""
    return ".py:" in name


def parse_reference(text: str) -> Reference:
    """Read `NAME[@DISTRIBUTION][:KEY=VALUE,…]`, or `FILE.py:OBJECT[:KEY=VALUE,…]`.

    In place of `KEY=VALUE,…` the parameters may be an object of JSON.

    Args:
        text: For example `macro-f1:labels=declared`, `accuracy@some-metrics` or
            `./metric.py:Brevity:words=3`.

    Returns:
        Its parts; a value that holds `/` becomes a list.

    Raises:
        UnknownPluginError: The text does not have this form.
    """
    match = _REFERENCE.fullmatch(text.strip())
    if match is None:
        raise UnknownPluginError(
            f"{text!r} is not of the form NAME[@DISTRIBUTION][:KEY=VALUE,…]"
        )
    distribution = match["distribution"]
    return Reference(
        match["name"].strip(),
        normalise_distribution(distribution) if distribution else None,
        _read_parameters(text, match["parameters"] or ""),
    )


def _read_parameters(text: str, written: str) -> dict[str, Any]:
    """Read `KEY=VALUE,…`, or an object of JSON."""
    if written.startswith("{"):
        import json

        try:
            return dict(json.loads(written))
        except ValueError as error:
            raise UnknownPluginError(f"{text!r}: invalid JSON: {error}") from error
    parameters: dict[str, Any] = {}
    for part in filter(None, written.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise UnknownPluginError(
                f"{text!r}: {part!r} is not of the form KEY=VALUE; "
                "parameters are separated by commas, the items of a list by '/'"
            )
        key, value = key.strip(), value.strip()
        if key in parameters:
            raise UnknownPluginError(f"{text!r}: the parameter {key!r} is given twice")
        parameters[key] = value.split("/") if "/" in value else value
    return parameters


def score_name(name: str, parameters: Mapping[str, Any], score: str = "") -> str:
    """Return the one name of a score: `NAME[:parameters, sorted][#score]`."""
    settings = ",".join(
        f"{key}={_as_text(parameters[key])}" for key in sorted(parameters)
    )
    return name + (f":{settings}" if settings else "") + (f"#{score}" if score else "")


def _as_text(value: Any) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        return "/".join(_as_text(item) for item in items)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def facet_of(tag: str) -> tuple[str, str] | None:
    """Split a faceted tag into facet and value.

    A tag is faceted when the part before its first colon follows the rule for
    component names and no blank follows the colon.

    Args:
        tag: A tag of an example.

    Returns:
        Facet and value, or None for a plain tag.
    """
    facet, colon, value = tag.partition(":")
    if colon and is_component_name(facet) and value and not value[0].isspace():
        return facet, value
    return None


def unused_name(name: str, taken: Container[str | None]) -> str:
    """Put a name in as many parentheses as it takes to differ from all others."""
    while name in taken:
        name = f"({name})"
    return name


def is_reserved(field: str) -> bool:
    """Tell whether a name of a field is kept for evalkit's own.

    Args:
        field: The name.

    Returns:
        True for `_name_`, and for names of `dyff.io` and domains below it, such as
        `sub.dyff.io/name`.
    """
    if len(field) > 2 and field.startswith("_") and field.endswith("_"):
        return True
    domain, slash, _ = field.partition("/")
    return bool(slash) and (domain == "dyff.io" or domain.endswith(".dyff.io"))


def metric_of(score: str, names: Iterable[str]) -> str | None:
    """Return the metric that a score is of.

    Args:
        score: Name of the score, `NAME[:parameters][#score]`.
        names: Names of metrics.

    Returns:
        The longest of the names that the score's begins with; None if there is none.
    """
    found = [name for name in names if score == name or score.startswith(f"{name}#")]
    return max(found, key=len, default=None)
