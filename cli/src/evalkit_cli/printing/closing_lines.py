"""The lines at the end of a report: flags, methods, and what was not scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalkit_cli.printing.interval_lines import interval_lines
from evalkit_cli.printing.printed_results import PrintedResult, labelled
from evalkit_cli.printing.score_cells import score_label
from evalkit_cli.printing.streams import fitting

if TYPE_CHECKING:
    from evalkit import Result, Score


def closing_lines(results: Sequence[PrintedResult], verbose: bool) -> list[str]:
    """Return what a reader of the tables should know."""
    lines = _flags(results, verbose)
    lines += failed_lines(results)
    lines += _without_prediction(results)
    lines += interval_lines(results, verbose=verbose)
    return [*lines, *account(results, verbose=verbose)]


def _flags(results: Sequence[PrintedResult], verbose: bool) -> list[str]:
    headline = results[0].headline
    metric = headline.metric if headline is not None else None

    def is_shown(score: Score) -> bool:
        return verbose or score.tag is None or score.metric == metric

    flags = {
        score.flag
        for each in results
        for score in each.groups.values()
        if score.flag
        and score.value is not None
        and is_shown(score)
        and (score.tag is None or score.n >= each.min_n)
    }
    lines = [f"* {'; '.join(sorted(flags))}"] if flags else []
    of_means = [
        f"{score_label(score)}: {score.flag}"
        for each in results
        for score in each.summary
        if score.aggregate and score.flag
    ]
    return [*lines, *dict.fromkeys(of_means)]


def _without_prediction(results: Sequence[PrintedResult]) -> list[str]:
    """Say of which scores the worst case is not that of wrong answers.

    A metric of whole sets, such as macro-F1, may fall further by a wrong label than by
    none; one of single examples gives both its least value.
    """
    names: dict[str, None] = {}
    headers: dict[str, None] = {}
    for each in results:
        shown = {"as wrong": None} if each.counted_as_wrong else {}
        for score in each.whole:
            if score.value is None or score.mean is not None:
                continue
            is_range = score.coverage not in (None, 1.0) and score.bound_low is not None
            own = {"if wrong": None} if is_range else shown
            headers |= own
            names |= dict.fromkeys([score.metric] if own else [])
    if not names:
        return []
    return [
        f"{', '.join(names)}: {' and '.join(map(repr, headers))} means no prediction; "
        "wrong answers may score worse"
    ]


def failed_lines(results: Sequence[PrintedResult]) -> list[str]:
    """Say why scores of the whole set have no value, and what else failed."""
    reasons: dict[str, None] = {}
    for each in results:
        told = {
            f"{score.metric}: {score.reason}": score.reason
            for score in each.whole
            if score.value is None and score.reason
        }
        reasons |= dict.fromkeys(sorted(told))
        others = [text for text in each.result.errors if text not in told.values()]
        reasons |= dict.fromkeys(f"error: {text}" for text in others)
    return [fitting(reason) for reason in reasons]


def account(results: Sequence[PrintedResult], *, verbose: bool) -> list[str]:
    """Say what was scored, what was not, and where it was written."""
    lines = _notices(results, verbose)
    for say in _SAYING:
        if say is not _adapters or verbose:
            lines += _of_all(results, [say(each.result, verbose) for each in results])
    return [*lines, *_folders(results)]


def _of_all(
    results: Sequence[PrintedResult], said: Sequence[Sequence[str]]
) -> list[str]:
    """Name the models of what is not said of all of them."""
    if all(lines == said[0] for lines in said):
        return [*said[0]]
    return [
        f"{labelled(results, place)}{line}"
        for place, lines in enumerate(said)
        for line in lines
    ]


def _notices(results: Sequence[PrintedResult], verbose: bool) -> list[str]:
    """Say what all results share, and then what is of some of them."""
    given = [each.result.notices for each in results]
    shared = [text for text in given[0] if all(text in other for other in given)]
    rest = [[text for text in notices if text not in shared] for notices in given]
    lines = notice_lines(shared, verbose=verbose)
    own = [notice_lines(notices, verbose=verbose) for notices in rest]
    return [*lines, *_of_all(results, own)]


def notice_lines(notices: Sequence[str], *, verbose: bool) -> list[str]:
    """Return all notices, or one line that says how many there are."""
    if verbose or len(notices) <= 1:
        return [f"notice: {notice}" for notice in notices]
    first = min(notices, key=_place)
    return [f"{len(notices)} notices (-v shows all), such as: {first}"]


_ABOUT_SCORES = ("left out", "counted as wrong", "repeated id", "only ")


def _place(notice: str) -> int:
    """Put why many rows come to nothing first, then what else changes scores."""
    if " did not score " in notice:
        return 0
    return 1 if any(each in notice for each in _ABOUT_SCORES) else 2


def _warnings(result: Result, _verbose: bool) -> list[str]:
    return [f"warning: {warning}" for warning in result.warnings]


def _scored(result: Result, _verbose: bool) -> list[str]:
    counts = result.counts
    left = {
        status: counts[status]
        for status in ("invalid", "missing", "duplicate", "unknown", "unreadable")
        if counts[status]
    }
    scored = f"{_of_examples(counts)} scored"
    lacking = [f"{n:,} without {name}" for name, n in result.record.not_scored.items()]
    failures = len(result.record.errors)
    if not left and not lacking:
        count = "an error" if failures == 1 else f"{failures} errors"
        told = f", but {count}: the run is partial" if failures else ""
        return [f"{scored}{told or ', every row accounted for'}"]
    kinds = [f"{count} {status}" for status, count in left.items()]
    said = f"; not scored: {', '.join(kinds)}" if kinds else ""
    said += f"; {', '.join(lacking)}" if lacking else ""
    where = f"; see {result.path / 'problems.jsonl'}" if result.path else ""
    partial = "; the run is partial" if result.status == "partial" else ""
    return [f"{scored}{said}{partial}{where}"]


def _of_files(result: Result, _verbose: bool) -> list[str]:
    """Say which plugins nobody else has."""
    from evalkit.catalog import AS_PYTHON

    given = [c.id for c in result.record.components if c.distribution == AS_PYTHON]
    if not given:
        return []
    return [f"of a file of Python, not of an installed package: {', '.join(given)}"]


def _copies(result: Result, verbose: bool) -> list[str]:
    """Say of each perturbation how many copies were scored, and what to know of it."""
    lines = []
    for run in result.perturbed or ():
        name = _name_of(run)
        lines.append(f"{name}: {_of_examples(run.counts, 'copies')} scored")
        found = notice_lines(run.notices, verbose=verbose)
        found += [f"error: {error}" for error in run.errors]
        lines += [f"{name}: {line}" for line in found]
    return lines


def _name_of(run: Result) -> str:
    """Name a run of perturbed examples by its perturbation."""
    perturbation = run.record.perturbation
    return "perturbed rows" if perturbation is None else perturbation.name


def _folders(results: Sequence[PrintedResult]) -> list[str]:
    """Say in one line where the runs are."""
    written = [each.result for each in results if each.result.path is not None]
    if not written:
        return []
    if len(results) == 1:
        return [f"run folder: {written[0].path}"]
    folders = ", ".join(f"{each.path} ({each.model})" for each in written)
    return [f"run folders: {folders}"]


def _asked(result: Result, _verbose: bool) -> list[str]:
    """Say which model answered, and by which prompt."""
    system = result.record.predictions.system
    if system is None:
        return []
    model = str(system.model.get("id", "a model")).removeprefix("models/")
    parameters = system.model.get("parameters") or {}
    given = ", ".join(f"{name}={value}" for name, value in parameters.items())
    said = f"asked {model}" + (f" ({given})" if given else "")
    prompt = system.prompt or {}
    name = prompt.get("name")
    return [f"{said} by the prompt {name!r}" if name else said]


def _annotated(result: Result, _verbose: bool) -> list[str]:
    """Say how often annotators were asked, what that cost, and what they said."""
    lines = []
    for each in result.record.columns:
        told = each.details
        facts = [f"{told['seconds']:.3g} s"] if told.get("asked") else []
        facts += [] if told.get("cost") is None else [f"cost {told['cost']:.4g}"]
        took = f" ({', '.join(facts)})" if facts else ""
        first, *rest = told.get("conclusions") or [_how_many(each)]
        lines += [f"{each.name}: {said}" for said in (f"{first}{took}", *rest)]
    return lines


def _how_many(told: Any) -> str:
    """Say of how many responses an annotator was asked that does not say it itself."""
    without = sum(told.without_value.values())
    left = f", without a value for {without:,} of them" if without else ""
    if asked := told.details.get("asked"):
        return f"asked about {asked:,} of {told.rows:,} responses{left}"
    known = told.rows - without
    return f"nothing asked; {known:,} of {told.rows:,} responses were known{left}"


def _adapters(result: Result, _verbose: bool) -> list[str]:
    """Say what changed rows before they were checked."""
    places = {
        "examples": result.record.data.adapters,
        "predictions": result.record.predictions.adapters,
        "perturbed copies": next(
            (
                run.record.data.adapters
                for run in result.perturbed or ()
                if run.record.data.adapters
            ),
            (),
        ),
    }
    return [
        f"adapters of {place}: {', '.join(each.kind for each in adapters)}"
        for place, adapters in places.items()
        if adapters
    ]


def _extraction(result: Result, _verbose: bool) -> list[str]:
    """Say what took the answers out of responses, and of how many it could not."""
    found = result.record.extraction
    if found is None:
        return []
    who = "" if found.chosen_by == "user" else f" (as the {found.chosen_by} says)"
    unread = {"empty": found.empty, "unparsed": found.unparsed, "error": found.error}
    counts = [f"{count} {name}" for name, count in unread.items() if count]
    shown = ", ".join(counts) or "an answer in each"
    if counts and result.record.includes_examples:
        shown += f" (evalkit show {result.run_id[:8]} --unparsed)"
    return [
        f"answers taken out by {found.text}{who}: {found.responses} responses, "
        f"{found.unique} different, {shown}"
    ]


def _of_examples(counts: Mapping[str, int], noun: str = "examples") -> str:
    """Say how many examples, or answers to them where each has several, were scored."""
    times = counts.get("replications")
    shown = f"{counts['scored']} of {counts['examples']}"
    if times is None:
        return f"{shown} {noun}"
    return f"{shown} answers to {counts['examples'] // times} {noun}"


_SAYING = (
    *(_warnings, _of_files, _adapters, _asked, _extraction, _annotated, _scored),
    _copies,
)
"""What is said of a result, in this order."""
