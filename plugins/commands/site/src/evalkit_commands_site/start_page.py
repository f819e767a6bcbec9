"""The start page: leaderboards, and what the site holds."""

from __future__ import annotations

from evalkit.reporting import count_of
from evalkit_commands_report.markup import Markup, element
from evalkit_commands_site.frame import article
from evalkit_commands_site.gathering import Collection


def start_page(collection: Collection) -> Markup:
    """Return the start page."""
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
