"""An HTML document that loads nothing, with a policy that holds it so."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from evalkit_commands_report.markup import Child, Markup, element, fragment, raw_element


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
        raw_element("script", data, type="application/json", id="evalkit-data"),
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
