"""The start page, and the page that compares two runs."""

from __future__ import annotations

from evalkit.reporting import count_of
from evalkit_commands_report.markup import Markup, element
from evalkit_commands_site.frame import article
from evalkit_commands_site.gathering import Collection


def start_page(collection: Collection) -> Markup:
    """Return the start page: leaderboards, and what the site holds."""
    runs = count_of(len(collection.runs), "run")
    datasets = count_of(len(collection.datasets), "dataset")
    models = count_of(len(collection.models), "model")
    return article(
        "Leaderboards",
        about=(
            element("a", runs, href="runs.html"),
            element("a", datasets, href="datasets.html"),
            element("a", models, href="models.html"),
        ),
    )


_CHOICES = (("Dataset", "dataset"), ("First run", "first"), ("Second run", "second"))


def compare_page() -> Markup:
    """Return the page of two runs, which the reader chooses; its script fills it."""
    controls = [
        element(
            "span",
            element("label", label, for_=f"c-{name}"),
            element("select", name=name, id=f"c-{name}"),
            class_="control",
        )
        for label, name in _CHOICES
    ]
    why = "The choice of two runs needs JavaScript. The pages of datasets need none."
    return article(
        "Compare two runs",
        element("noscript", element("p", why, class_="warning")),
        element("form", controls, class_="controls compare", hidden=True),
        element("p", "", class_="status", role="status"),
        element("div", "", id="comparison"),
    )
