"""Builds the files of a site."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from evalkit import Registry, read_run
from evalkit.errors import DataError, EvalkitError
from evalkit_analysis_suites.board import make_board
from evalkit_analysis_suites.kind import find_suite
from evalkit_commands_site.frame import assets, document
from evalkit_commands_site.gathering import (
    Collection,
    Facets,
    hide_paths,
    page_of,
)
from evalkit_commands_site.lists import (
    dataset_content,
    datasets_page,
    model_content,
    models_page,
    runs_page,
)
from evalkit_commands_site.pages import (
    board_content,
    board_name,
    board_page,
    compare_page,
    start_page,
)
from evalkit_commands_site.run_page import damaged_content, run_content
from evalkit_commands_site.scripts import (
    INDEX,
    facets_of,
    index_script,
    scores_file,
    scores_script,
)

if TYPE_CHECKING:
    from pathlib import Path

    from evalkit_analysis_suites.records import Board
    from evalkit_commands_report.markup import Markup

Progress = Callable[[str, float], None]


def site_files(
    collection: Collection,
    boards: Sequence[Board],
    reasons: Sequence[str],
    title: str,
    examples: int,
    progress: Progress,
) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file of a site.

    Runs whose files cannot be read are added to the problems of the collection.
    """

    def page(path: str, name: str, content: Markup, *scripts: str) -> tuple[str, str]:
        return path, document(title, name, content, page=path, scripts=scripts)

    yield from assets().items()
    facets: list[Facets] = []
    for place, run in enumerate(collection.runs):
        progress("run pages", place / len(collection.runs))
        try:
            result = read_run(run.summary.path)
            content = run_content(collection, run, result, examples)
            content = hide_paths(content, [run.summary])
            scores = result.scores
        except EvalkitError as error:
            why = collection.add_problem(run.summary, str(error))
            content, scores = damaged_content(run, why), ()
        facets.append(facets_of(run, scores))
        yield page(run.page, f"{run.model} on {run.dataset}", content, "report.js")
        yield scores_file(run), scores_script(run, scores)
    yield INDEX, index_script(collection, facets)
    content = runs_page(collection, facets)
    yield page("runs.html", "Runs", content, INDEX, "site.js")
    yield page("datasets.html", "Datasets", datasets_page(collection), "site.js")
    yield page("models.html", "Models", models_page(collection), "site.js")
    yield page("compare.html", "Compare", compare_page(), INDEX, "compare.js")
    for name in collection.datasets:
        yield page(page_of("datasets", name), name, dataset_content(collection, name))
    for name in collection.models:
        yield page(page_of("models", name), name, model_content(collection, name))
    for board in boards:
        content = hide_paths(board_content(board), collection.every)
        yield page(board_page(board), board_name(board), content)
    content = hide_paths(start_page(collection, boards, reasons), collection.every)
    yield page("index.html", title, content)


def make_boards(
    folders: Sequence[Path], suites: Sequence[str], progress: Progress
) -> tuple[list[Board], list[str]]:
    """Make the leaderboards of all datasets and of suites, by default the installed.

    Returns them, and why others could not be made.
    """
    registry = Registry()
    installed = [each.name for each in registry.catalog.of_kind("suites")]
    boards, reasons = [], []
    for name in (None, *dict.fromkeys(suites or installed)):
        try:
            suite = None if name is None else find_suite(name, registry)
            boards.append(make_board(suite, folders, progress=progress))
        except EvalkitError as error:
            if name in suites:
                raise
            # an installed suite without runs is no news; a broken one is
            if name is None or type(error) is not DataError:
                reasons.append(f"no leaderboard of {name or 'all datasets'}: {error}")
    return boards, reasons
