"""The page that compares two runs, which the reader chooses."""

from __future__ import annotations

from evalkit_commands_report.markup import Markup, element
from evalkit_commands_site.frame import article


def compare_page() -> Markup:
    """Return the page; its script fills it."""
    form = element(
        "form",
        [_choice(label, name) for label, name in _CHOICES],
        class_="controls compare",
        hidden=True,
    )
    return article(
        "Compare two runs",
        element(
            "noscript",
            element(
                "p",
                "The choice of two runs needs JavaScript. The page of each dataset "
                "shows its runs below each other.",
                class_="warning",
            ),
        ),
        form,
        element("p", "", class_="status", role="status"),
        element("div", "", id="comparison"),
    )


_CHOICES = (("Dataset", "dataset"), ("First run", "first"), ("Second run", "second"))


def _choice(label: str, name: str) -> Markup:
    select = element("select", name=name, id=f"c-{name}")
    return element(
        "span", element("label", label, for_=f"c-{name}"), select, class_="control"
    )
