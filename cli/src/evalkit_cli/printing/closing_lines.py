"""The lines at the end of a report: flags, methods, and what was not scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evalkit_cli.printing.interval_lines import interval_lines
from evalkit_cli.printing.printed_results import PrintedResult, labelled
from evalkit_cli.printing.score_cells import score_label
from evalkit_cli.printing.streams import fitting

if TYPE_CHECKING:
    from evalkit import Result, Score


def closing_lines(results: Sequence[PrintedResult], verbose: bool) -> list[str]:
    """Return what a reader of the tables should know.

    Args:
        results: The results.
        verbose: Whether the tables show every metric for every tag.

    Returns:
        Lines.
    """
    lines = _flags(results, verbose)
    lines += failed_lines(results)
    lines += _without_prediction(results)
    lines += interval_lines(results)
    for place, each in enumerate(results):
        label = labelled(results, place)
        lines += [f"{label}{line}" for line in account(each.result)]
    return lines


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
        f"{score_label(each.headline)}: {each.headline.flag}"
        for each in results
        if each.headline is not None and each.headline.aggregate and each.headline.flag
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


def account(result: Result) -> list[str]:
    """Say what was scored, what was not, and where it was written.

    Args:
        result: The result.

    Returns:
        Its notices and warnings, its adapters, the counts, and the run folder.
    """
    counts = result.counts
    left = {
        status: counts[status]
        for status in ("invalid", "missing", "duplicate", "unknown", "unreadable")
        if counts[status]
    }
    lines = [f"notice: {notice}" for notice in result.notices]
    lines += [f"warning: {warning}" for warning in result.warnings]
    lines += _adapters(result)
    scored = f"{_of_examples(counts)} scored"
    if left:
        kinds = ", ".join(f"{count} {status}" for status, count in left.items())
        where = f"; see {result.path / 'problems.jsonl'}" if result.path else ""
        lines.append(f"{scored}; not scored: {kinds}{where}")
    else:
        lines.append(f"{scored}, every row accounted for")
    for perturbed in result.record.perturbed:
        name = perturbed.file or "perturbed rows"
        counted = _of_examples(perturbed.counts.to_dict(), "copies")
        lines.append(f"{name}: {counted} scored")
    if result.path is not None:
        kept = " (an identical run was there already)" if result.was_there else ""
        lines.append(f"run folder: {result.path}{kept}")
    return lines


def _adapters(result: Result) -> list[str]:
    """Say what changed rows before they were checked."""
    places = {
        "examples": result.record.data.adapters,
        "predictions": result.record.predictions.adapters,
    }
    return [
        f"adapters of {place}: {', '.join(each.kind for each in adapters)}"
        for place, adapters in places.items()
        if adapters
    ]


def _of_examples(counts: Mapping[str, int], noun: str = "examples") -> str:
    """Say how many examples, or answers to them where each has several, were scored."""
    times = counts.get("replications")
    shown = f"{counts['scored']} of {counts['examples']}"
    if times is None:
        return f"{shown} {noun}"
    return f"{shown} answers to {counts['examples'] // times} {noun}"
