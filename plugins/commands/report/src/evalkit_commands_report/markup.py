"""Makes HTML and SVG of elements; every text is escaped unless an element made it.

Nothing else in this package writes a tag or an attribute, so no text of a user, a
plugin or a file can become one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html import escape
from typing import Any, TypeAlias

from evalkit_cli.commanding import for_terminal


class Markup(str):
    """HTML that needs no escaping; only functions of this module make it."""

    __slots__ = ()


Child: TypeAlias = "str | int | Iterable[Child] | None"
"""What an element holds: Markup as it is, anything else as an escaped text."""

_VOID = frozenset({"meta", "input", "br", "col"})
"""Elements without content and end."""

_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What could steer a terminal that the page is printed on, or cannot be encoded."""

_UNSAFE_IN_SCRIPT = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}
"""What could end a script element or begin a comment in it."""


def element(name: str, /, *children: Child, **attributes: object) -> Markup:
    """Make an element."""
    start = f"<{name}{''.join(_attribute(*each) for each in attributes.items())}>"
    if name in _VOID:
        return Markup(start)
    return Markup(f"{start}{fragment(*children)}</{name}>")


def fragment(*children: Child) -> Markup:
    """Join elements and texts."""
    return Markup("".join(map(_child, children)))


def raw_element(name: str, content: str, /, **attributes: object) -> Markup:
    """Make a script or style element of content that is not escaped."""
    if f"</{name}" in content.lower():
        raise ValueError(f"the content would end the {name} element")
    start = element(name, **attributes).removesuffix(f"</{name}>")
    return Markup(f"{start}{content}</{name}>")


def script_json(value: Any) -> str:
    """Return JSON for a script element, with every number in full precision."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.translate(_UNSAFE_IN_SCRIPT)


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str | int):
        # what cannot be seen or turns the writing around is shown as on a terminal
        return escape(for_terminal(str(child)))
    return "".join(map(_child, child))


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    shown = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {shown}"
    text = _STEERING.sub(lambda found: f"&#x{ord(found[0]):x};", escape(str(value)))
    return f' {shown}="{text}"'
