"""The pages that list runs, datasets and models, and those of one dataset or model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from urllib.parse import quote

from evalkit import Result
from evalkit.reporting import count_of
from evalkit_cli.commanding import (
    NO_VALUE,
    score_label,
    show_coverage,
    show_interval,
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
from evalkit_commands_report.numbers import exact, flags_of
from evalkit_commands_report.summary_section import headline_table
from evalkit_commands_site.frame import article, control, facts, notes, outside, section
from evalkit_commands_site.gathering import (
    Collection,
    Facets,
    RunGroup,
    SiteRun,
    headline_of,
    page_of,
)

_NUMBERS = ("Score", "Interval", "n", "Runs", "Models", "Datasets")
"""Columns of numbers."""


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
    controls = [
        *(_choice(label, name, values) for label, name, values in choices),
        control("From", "from", "input", type="date"),
        control("To", "to", "input", type="date"),
        element("button", "Clear", type="reset"),
    ]
    shown = run_table(collection.runs, by={"Evaluated": "descending"})
    return article("Runs", _searched("runs", shown, controls), _unreadable(collection))


def _choice(label: str, name: str, values: Iterable[str]) -> Markup:
    options = [element("option", value, value=value) for value in values]
    return control(label, name, "select", element("option", "all", value=""), options)


def _searched(name: str, shown: Markup, controls: Sequence[Markup] = ()) -> Markup:
    """Return a table below the form that filters it."""
    search = control("Search", "text", "input", type="search")
    classes = "controls search"
    more = element("button", "Show all", type="button", class_="more", hidden=True)
    return fragment(
        element("form", search, controls, class_=classes, data_table=name, hidden=True),
        element("p", "", class_="status", role="status"),
        element("div", shown, more, id=name),
    )


def _unreadable(collection: Collection) -> Markup | None:
    problems = sorted(collection.problems.items())
    if not problems:
        return None
    lines = notes(f"{place}: {why}" for place, why in problems)
    return section("Runs that cannot be read", "unreadable", lines)


def run_table(
    runs: Sequence[SiteRun],
    *,
    up: str = "",
    without: str = "",
    by: Mapping[str, str] = {},
) -> Markup:
    """Return a table of runs and their main scores, but for one column."""
    header = ["Model", "Dataset", "Score", "Interval", "n", "Metric"]
    header += ["Evaluated", "Status", "Run"]
    rows = [_run_row(run, up) for run in runs]
    kept = [place for place, name in enumerate(header) if name != without]
    shown = [header[place] for place in kept]
    cells = [[row[place] for place in kept] for row in rows]
    flags = flags_of(run.summary.headline for run in runs)
    return fragment(_table("Runs", shown, cells, by), flags)


def _table(
    caption: str, header: Sequence[str], rows: list[list[Child]], by: Mapping[str, str]
) -> Markup:
    """Return a table that sorts, and is sorted by one column."""
    names, rows = without_empty_columns(header, rows)
    texts = [place for place, name in enumerate(names) if name not in _NUMBERS]
    class_ = f"sortable {caption.lower()}"
    order = {names.index(name): how for name, how in by.items() if name in names}
    return table(names, rows, texts=texts, caption=caption, class_=class_, order=order)


def _run_row(run: SiteRun, up: str) -> list[Child]:
    record, score = run.record, run.summary.headline
    perturbed = f"perturbed by {run.perturbation}" if run.perturbation else ""
    dataset = element("a", run.dataset, href=up + page_of("datasets", run.dataset))
    model = element("a", run.model, href=up + page_of("models", run.model))
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
            exact(str(score.n), score.n),
            element("small", f"{share} scored") if share else None,
        ),
        score_label(score),
        *last,
    ]


def datasets_page(collection: Collection) -> Markup:
    """Return the page of all datasets."""
    header = ["Dataset", "Task", "Languages", "Runs", "Models", "Newest run"]
    rows: list[list[Child]] = [
        [
            element("a", name, href=page_of("datasets", name)),
            runs[0].record.task or "",
            ", ".join(runs[0].record.data.languages),
            _count(runs),
            _count({run.model for run in runs}),
            runs[0].moment,
        ]
        for name, runs in collection.datasets.items()
    ]
    shown = _table("Datasets", header, rows, {"Dataset": "ascending"})
    return article("Datasets", _searched("datasets", shown))


def models_page(collection: Collection) -> Markup:
    """Return the page of all models."""
    header = ["Model", "Runs", "Datasets", "Newest run"]
    rows: list[list[Child]] = [
        [
            element("a", name, href=page_of("models", name)),
            _count(runs),
            _count({run.dataset for run in runs}),
            runs[0].moment,
        ]
        for name, runs in collection.models.items()
    ]
    return article(
        "Models",
        _searched("models", _table("Models", header, rows, {"Model": "ascending"})),
    )


def _count(values: Sized) -> Markup:
    return exact(str(len(values)), len(values))


def dataset_content(collection: Collection, name: str) -> Markup:
    """Return the page of a dataset: what it is, and its runs, the best first."""
    runs = collection.datasets[name]
    data, groups = runs[0].record.data, collection.groups(name)
    others = [run for run in runs if run.summary.headline is None]
    compare = f"../compare.html#dataset={quote(name, '', errors='replace')}"
    return article(
        name,
        mark_symbols(),
        [
            element("p", text, class_=class_)
            for text, class_ in (
                (data.description, None),
                (data.content_warning, "warning"),
            )
            if text
        ],
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
        about=(count_of(len(runs), "run"), element("a", "Compare", href=compare)),
    )


def _group(group: RunGroup, number: int) -> Markup:
    names = [run.model for run in group.runs]
    scores = [headline_of(run) for run in group.runs]
    shown = []
    for place, (run, score) in enumerate(zip(group.runs, scores, strict=True)):
        several = names.count(run.model) > 1
        label = f"{run.model} ({run.record.run_id})" if several else run.model
        result = Result(run.record, [score], (), None)
        shown.append(Shown(result, run.link("../", label), place))
    name = group.runs[0].perturbation
    title, why = f"Scores, perturbed by {name}" if name else "Scores", None
    if group.apart:
        title += " that are not comparable"
        text = f"Not comparable with most scores: {group.apart}."
        why = element("p", text, class_="warning")
    table_ = headline_table(Gathered(group.runs[0].dataset, shown))
    name = f"group-{number}"
    return section(title, name, why, table_, flags_of(scores), class_="ranking")


def model_content(collection: Collection, name: str) -> Markup:
    """Return the page of a model: its runs by dataset."""
    runs = collection.models[name]
    ordered = sorted(runs, key=lambda run: run.dataset)
    return article(
        name,
        run_table(ordered, up="../", without="Model", by={"Dataset": "ascending"}),
        about=(count_of(len(runs), "run"),),
    )
