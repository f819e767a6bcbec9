"""Makes HTML and SVG of elements; every text is escaped unless an element made it.

Nothing else in this package writes a tag or an attribute, so no text of a user, a
plugin or a file can become one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, TypeAlias

from evalkit_cli.commanding import for_terminal


class Markup(str):
    """HTML that needs no escaping; only functions of this module make it."""

    __slots__ = ()


Child: TypeAlias = "str | int | Iterable[Child] | None"
"""What an element holds: Markup as it is, anything else as an escaped text."""

_VOID = frozenset({"meta", "link", "input", "br", "col"})
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
    text = escape(str(value))
    if not text.isprintable():  # of most texts it is quicker to ask first
        text = _STEERING.sub(lambda found: f"&#x{ord(found[0]):x};", text)
    return f' {shown}="{text}"'


def table(
    header: Sequence[Child],
    rows: Iterable[Sequence[Child]],
    *,
    texts: Sequence[int] = (0,),
    caption: str | None = None,
    class_: str | None = None,
    order: Mapping[int, str] = {},
) -> Markup:
    """Make a table whose first column names the rows.

    `order` has `ascending` or `descending` for the column that rows are sorted by.
    """

    def kind(column: int) -> str | None:
        return None if column in texts else "n"

    head = [
        element(
            "th", cell, scope="col", class_=kind(column), aria_sort=order.get(column)
        )
        for column, cell in enumerate(header)
    ]
    body = [
        element(
            "tr",
            [
                element("th", cell, scope="row")
                if column == 0
                else element("td", cell, class_=kind(column))
                for column, cell in enumerate(row)
            ],
        )
        for row in rows
    ]
    return element(
        "div",
        element(
            "table",
            element("caption", caption) if caption else None,
            element("thead", element("tr", head)),
            element("tbody", body),
            class_=class_,
        ),
        class_="wide",
        tabindex=0,
        role="region",
        aria_label=caption or "Table",
    )


def without_empty_columns(
    header: Sequence[Child], rows: Sequence[Sequence[Child]]
) -> tuple[list[Child], list[list[Child]]]:
    """Leave out the columns in which no row has anything."""
    kept = [
        column
        for column in range(len(header))
        if any(row[column] for row in rows) or not rows
    ]
    return (
        [header[column] for column in kept],
        [[row[column] for column in kept] for row in rows],
    )


def make_document(
    title: str, content: Child, *, says: str, data: str = "", script: str = ""
) -> str:
    """Return a document of the page's style."""
    style = asset("parts.css") + asset("page.css")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element(
            "meta", http_equiv="Content-Security-Policy", content=_policy(style, script)
        ),
        element("meta", name="viewport", content="width=device-width,initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        raw_element("style", style),
    )
    body = element(
        "body",
        element("a", "To the content", href="#content", class_="skip"),
        element("main", content, id="content", tabindex=-1),
        _footer(says),
        _scripts(data, script) if script else None,
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def asset(name: str) -> str:
    """Return the text of a file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _scripts(data: str, script: str) -> Markup:
    return fragment(
        raw_element("script", data, type="application/json", id="evalkit-data")
        if data
        else None,
        raw_element("script", script),
    )


def _footer(says: str) -> Markup:
    from evalkit import __version__

    return element("footer", f"Made by evalkit {__version__} {says}")


def _policy(style: str, script: str) -> str:
    """Allow this style and this script and nothing else, not even a request."""
    code = _hash(script) if script else "'none'"
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src {_hash(style)}; script-src {code}"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
