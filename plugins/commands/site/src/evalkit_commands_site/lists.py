"""The pages that list runs, datasets and models, and those of one dataset or model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from urllib.parse import quote

from evalkit import Result
from evalkit.reporting import count_of
from evalkit_cli.commanding import (
    NO_VALUE,
    score_label,
    show_coverage,
    show_interval,
    show_n,
    show_value,
)
from evalkit_commands_report.gathering import Gathered, Shown
from evalkit_commands_report.intervals import mark_symbols
from evalkit_commands_report.markup import (
    Child,
    Markup,
    element,
    fragment,
    table,
    without_empty_columns,
)
from evalkit_commands_report.numbers import exact
from evalkit_commands_report.summary_section import headline_table
from evalkit_commands_site.frame import article, facts, outside
from evalkit_commands_site.gathering import (
    Collection,
    Facets,
    RunGroup,
    SiteRun,
    dataset_page,
    model_page,
)

RUNS_TABLE = "runs"
"""Id of the table that the search filters."""


def runs_page(collection: Collection, facets: Sequence[Facets]) -> Markup:
    """Return the page of all runs, with the search."""
    metrics = {each for facet in facets for each in facet.metrics}
    tags = {each for facet in facets for each in facet.tags}
    languages = {each for run in collection.runs for each in run.record.data.languages}
    choices: tuple[tuple[str, str, Iterable[str]], ...] = (
        ("Dataset", "dataset", collection.datasets),
        ("Model", "model", collection.models),
        ("Metric", "metrics", sorted(metrics)),
        ("Tag", "tags", sorted(tags)),
        ("Language", "languages", sorted(languages)),
    )
    form = element(
        "form",
        _search(),
        [_choice(label, name, values) for label, name, values in choices],
        _control("From", element("input", type="date", name="from", id="f-from")),
        _control("To", element("input", type="date", name="to", id="f-to")),
        element("button", "Clear", type="reset"),
        class_="controls search",
        data_table=RUNS_TABLE,
        hidden=True,
    )
    return article(
        "Runs",
        form,
        _status(),
        _searched(run_table(collection.runs), RUNS_TABLE),
        _unreadable(collection),
    )


def _control(label: str, control: Markup) -> Markup:
    name = label.lower()
    return element(
        "span", element("label", label, for_=f"f-{name}"), control, class_="control"
    )


def _search() -> Markup:
    return _control(
        "Search", element("input", type="search", name="text", id="f-search")
    )


def _choice(label: str, name: str, values: Iterable[str]) -> Markup:
    options = [element("option", value, value=value) for value in values]
    every = element("option", "all", value="")
    return _control(
        label, element("select", every, options, name=name, id=f"f-{label.lower()}")
    )


def _status() -> Markup:
    return element("p", "", class_="status", role="status")


def _searched(shown: Markup, name: str) -> Markup:
    more = element("button", "Show all", type="button", class_="more", hidden=True)
    return element("div", shown, more, id=name)


def _unreadable(collection: Collection) -> Markup | None:
    if not collection.problems:
        return None
    lines = [
        element("li", place, ": ", why)
        for place, why in sorted(collection.problems.items())
    ]
    return element(
        "section",
        element("h2", "Runs that cannot be read", id="unreadable"),
        element("ul", lines, class_="notices"),
        aria_labelledby="unreadable",
    )


def run_table(runs: Sequence[SiteRun], *, up: str = "", without: str = "") -> Markup:
    """Return a table of runs and their main scores, but for one column."""
    header = ["Model", "Dataset", "Score", "Interval", "n", "Metric"]
    header += ["Evaluated", "Status", "Run"]
    rows = [_run_row(run, up) for run in runs]
    kept = [place for place, name in enumerate(header) if name != without]
    shown, rows = without_empty_columns(
        [header[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
    )
    texts = [n for n, name in enumerate(shown) if name not in _NUMBERS]
    return table(shown, rows, texts=texts, caption="Runs", class_="sortable runs")


_NUMBERS = ("Score", "Interval", "n")


def _run_row(run: SiteRun, up: str) -> list[Child]:
    record, score = run.record, run.summary.headline
    perturbed = record.perturbation and f"perturbed by {record.perturbation.name}"
    dataset = element("a", run.dataset, href=up + dataset_page(run.dataset))
    model = element("a", run.model, href=up + model_page(run.model))
    last: list[Child] = [run.moment, record.status, run.link(up)]
    dataset = fragment(dataset, element("small", perturbed) if perturbed else None)
    if score is None:
        return [model, dataset, NO_VALUE, "", "", "", *last]
    share, _ = show_coverage(score)
    return [
        model,
        dataset,
        exact(show_value(score), score.value),
        show_interval(score, record.bounds),
        fragment(
            exact(show_n(score), score.n),
            element("small", f"{share} scored") if share else None,
        ),
        score_label(score),
        *last,
    ]


def datasets_page(collection: Collection) -> Markup:
    """Return the page of all datasets."""
    header: list[Child] = [
        "Dataset",
        "Task",
        "Languages",
        "Runs",
        "Models",
        "Newest run",
    ]
    rows: list[list[Child]] = [
        [
            element("a", name, href=dataset_page(name)),
            runs[0].record.task or "",
            ", ".join(
                sorted({each for run in runs for each in run.record.data.languages})
            ),
            _count(runs),
            _count({run.model for run in runs}),
            runs[0].moment,
        ]
        for name, runs in collection.datasets.items()
    ]
    return _list_page("Datasets", header, rows)


def models_page(collection: Collection) -> Markup:
    """Return the page of all models."""
    rows: list[list[Child]] = [
        [
            element("a", name, href=model_page(name)),
            _count(runs),
            _count({run.dataset for run in runs}),
            runs[0].moment,
        ]
        for name, runs in collection.models.items()
    ]
    return _list_page("Models", ["Model", "Runs", "Datasets", "Newest run"], rows)


def _count(values: Sized) -> Markup:
    return exact(str(len(values)), len(values))


def _list_page(title: str, header: list[Child], rows: list[list[Child]]) -> Markup:
    header, rows = without_empty_columns(header, rows)
    texts = [
        n for n, name in enumerate(header) if name not in ("Runs", "Models", "Datasets")
    ]
    name = title.lower()
    form = element(
        "form",
        _search(),
        class_="controls search",
        data_table=name,
        hidden=True,
    )
    shown = table(header, rows, texts=[0, *texts], caption=title, class_="sortable")
    return article(title, form, _status(), _searched(shown, name))


def dataset_content(collection: Collection, name: str) -> Markup:
    """Return the page of a dataset: what it is, and its runs, the best first."""
    runs = collection.datasets[name]
    data, groups = runs[0].record.data, collection.groups(name)
    others = [run for run in runs if run.summary.headline is None]
    return article(
        name,
        mark_symbols(),
        element("p", data.description) if data.description else None,
        element("p", data.content_warning, class_="warning")
        if data.content_warning
        else None,
        facts(
            (
                ("Task", runs[0].record.task),
                ("Version", data.version),
                ("Languages", ", ".join(data.languages)),
                ("Tags", ", ".join(data.tags)),
                ("Round", str(data.round_id or "")),
                ("License", data.license),
                ("Source", outside(data.source_url)),
                ("Citation", data.citation),
            )
        ),
        [_group(group, number) for number, group in enumerate(groups)],
        element("h2", "Runs without a main score") if others else None,
        run_table(others, up="../", without="Dataset") if others else None,
        about=(
            count_of(len(runs), "run"),
            element(
                "a", "Compare", href=f"../compare.html#dataset={quote(name, safe='')}"
            ),
        ),
    )


def _group(group: RunGroup, number: int) -> Markup:
    shown = [
        Shown(
            Result(run.record, [run.summary.headline], (), None)
            if run.summary.headline
            else Result(run.record, [], (), None),
            run.link("../", run.model),
            place,
        )
        for place, run in enumerate(group.runs)
    ]
    title = (
        "Scores" if number == 0 else f"Scores that are not comparable ({number + 1})"
    )
    return element(
        "section",
        element("h2", title, id=f"group-{number}"),
        element(
            "p",
            f"Not comparable with the scores above: {group.apart}.",
            class_="warning",
        )
        if group.apart
        else None,
        headline_table(Gathered(group.runs[0].dataset, shown)),
        class_="ranking",
        aria_labelledby=f"group-{number}",
    )


def model_content(collection: Collection, name: str) -> Markup:
    """Return the page of a model: its runs by dataset."""
    runs = collection.models[name]
    ordered = sorted(runs, key=lambda run: run.dataset)
    return article(
        name,
        run_table(ordered, up="../", without="Model"),
        about=(count_of(len(runs), "run"),),
    )
