"""The frame of every page: head, navigation and footer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files

from evalkit_commands_report.markup import Child, Markup, asset, element, fragment

STYLE = "site.css"
SORTING = "leaderboard.js"
"""Sorts tables."""

PAGES = {
    "index.html": "Leaderboards",
    "runs.html": "Runs",
    "datasets.html": "Datasets",
    "models.html": "Models",
    "compare.html": "Compare",
}
"""The pages that the navigation leads to, and what it calls them."""

_POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; "
    "style-src 'self' file:; script-src 'self' file:"
)
"""Files of the site and nothing else, whether they are served or opened."""


def document(
    site: str,
    title: str,
    content: Child,
    *,
    page: str,
    scripts: Sequence[str] = (),
) -> str:
    """Return the HTML of the page at a path of the site."""
    from evalkit import __version__

    up = "../" * page.count("/")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width,initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title if title == site else f"{title} · {site}"),
        element("link", rel="stylesheet", href=up + STYLE),
        [element("script", src=up + name, defer=True) for name in (SORTING, *scripts)],
    )
    body = element(
        "body",
        element("a", "To the content", href="#content", class_="skip"),
        element(
            "header",
            element("a", site, href=f"{up}index.html", class_="site"),
            element("nav", _links(up, page), aria_label="Site"),
            class_="top",
        ),
        element("main", content, id="content", tabindex=-1),
        element(
            "footer",
            f"Made by evalkit {__version__} from the records of the runs. "
            "The page loads nothing from a network.",
        ),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _links(up: str, page: str) -> list[Markup]:
    above = {f"{name.removesuffix('.html')}/": name for name in PAGES}
    folder, slash, _ = page.partition("/")
    current = {**above, "boards/": "index.html"}.get(folder + slash, page)
    return [
        element("a", text, href=up + name, aria_current=name == current and "true")
        for name, text in PAGES.items()
    ]


def assets() -> dict[str, str]:
    """Return styles and scripts that pages share, by their path in the site."""
    own = {
        name: files(__package__).joinpath(name).read_text(encoding="utf-8")
        for name in (STYLE, "site.js", "compare.js")
    }
    style = asset("parts.css") + asset("page.css") + own[STYLE]
    shared = {SORTING: asset(SORTING), "report.js": asset("page.js")}
    return {**own, **shared, STYLE: style}


def article(title: Child, *content: Child, about: Iterable[Child] = ()) -> Markup:
    """Return the content of a page, with what it is about below its title."""
    known = [element("span", fact) for fact in about if fact]
    return element(
        "article",
        element(
            "header",
            element("h1", title),
            element("p", known, class_="about facts") if known else None,
        ),
        fragment(*content),
    )


def section(
    title: Child, name: str, *content: Child, class_: str | None = None
) -> Markup:
    """Return a section with a heading, which names it."""
    heading = element("h2", title, id=name)
    return element("section", heading, *content, class_=class_, aria_labelledby=name)


def notes(lines: Iterable[Child]) -> Markup:
    """Return a list of notes."""
    return element("ul", [element("li", line) for line in lines], class_="notices")


def control(
    label: str, name: str, tag: str, *children: Child, **attributes: object
) -> Markup:
    """Return a field of a form with its label."""
    field = f"field-{name}"
    return element(
        "span",
        element("label", label, for_=field),
        element(tag, *children, name=name, id=field, **attributes),
        class_="control",
    )


def outside(url: str | None) -> Child:
    """Return a link to a page of the web; other addresses stay text."""
    if url is None or not url.startswith(("https://", "http://")):
        return url
    return element("a", url, href=url, rel="noopener noreferrer")


def facts(pairs: Iterable[tuple[str, Child]]) -> Markup:
    """Return what is known, each with its name; what is not known is left out."""
    return element(
        "dl",
        [
            element("div", element("dt", name), element("dd", value))
            for name, value in pairs
            if value
        ],
    )
