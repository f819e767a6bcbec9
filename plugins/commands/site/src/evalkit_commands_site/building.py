"""Builds the files of a site."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from evalkit import read_run
from evalkit.errors import EvalkitError
from evalkit_commands_site.frame import assets, document
from evalkit_commands_site.gathering import Collection, Facets, dataset_page, model_page
from evalkit_commands_site.lists import (
    dataset_content,
    datasets_page,
    model_content,
    models_page,
    runs_page,
)
from evalkit_commands_site.pages import compare_page, start_page
from evalkit_commands_site.run_page import damaged_content, run_content
from evalkit_commands_site.scripts import (
    INDEX,
    facets_of,
    index_script,
    scores_file,
    scores_script,
)

if TYPE_CHECKING:
    from evalkit_commands_report.markup import Markup

Progress = Callable[[str, float], None]


class SiteOptions(NamedTuple):
    """How a site is built."""

    title: str
    """Title of the site."""
    suites: Sequence[str] = ()
    """Suites whose leaderboards it has; empty for all that have runs."""
    examples: int = 20
    """Maximum number of wrong answers on the page of a run."""


def site_files(
    collection: Collection, options: SiteOptions, progress: Progress
) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file of a site.

    The problems of the collection get the runs whose files cannot be read.
    """

    def page(path: str, title: str, content: Markup, *scripts: str) -> tuple[str, str]:
        return path, document(options.title, title, content, page=path, scripts=scripts)

    yield from assets().items()
    facets: dict[str, Facets] = {}
    for place, run in enumerate(collection.runs):
        progress("run pages", place / len(collection.runs))
        result = read_run(run.summary.path)
        try:
            facets[run.record.fingerprint] = facets_of(result)
            content = run_content(collection, run, result, options.examples)
            scores = scores_script(run, result.scores)
        except EvalkitError as error:
            facets[run.record.fingerprint] = Facets((), ())
            content = damaged_content(run, collection.add_problem(run, str(error)))
            scores = scores_script(run, ())
        title = f"{run.model} on {run.dataset}"
        yield page(run.page, title, content, "report.js")
        yield scores_file(run), scores
    yield INDEX, index_script(collection, facets)
    yield page(
        "runs.html", "Runs", runs_page(collection, [*facets.values()]), INDEX, "site.js"
    )
    yield page("datasets.html", "Datasets", datasets_page(collection), "site.js")
    yield page("models.html", "Models", models_page(collection), "site.js")
    yield page("compare.html", "Compare", compare_page(), INDEX, "compare.js")
    for name in collection.datasets:
        yield page(dataset_page(name), name, dataset_content(collection, name))
    for name in collection.models:
        yield page(model_page(name), name, model_content(collection, name))
    yield page("index.html", options.title, start_page(collection))
