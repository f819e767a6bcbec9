"""Results of SEA-HELM: tasks by language and competency, with their means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any

from evalkit import DataError, Result
from evalkit_commands_exchange.exported import (
    by_model,
    dump,
    file_name,
    label,
    last_date,
    score_name,
    shown,
    whole_scores,
)

_LIMITS = (
    "seahelm: results have no place for confidence intervals, tags of examples, "
    "perturbations and coverage, which are left out"
)
_LANGUAGES = {"zh-Hant": "zh_t"}
_PRAGMATICS = ("pragmatic-single", "pragmatic-pair")
_PHENOMENON = "accuracy linguistic-phenomenon:"


def write(runs: Sequence[Result], notices: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the results of each model."""
    notices.append(_LIMITS)
    for model, own in by_model(runs).items():
        *parts, name = map(file_name, model.split("/"))
        file = f"{name}/run_0/results/{name}_seahelm_results_{last_date(own)}.json"
        yield "/".join((*parts, file)), dump(_results(own, notices))


def _results(runs: Iterable[Result], notices: list[str]) -> dict[str, Any]:
    """Return the tree, in which a mean over a missing score is null."""
    tree: dict[str, Any] = {}
    members: dict[tuple[str, str], dict[str, list[float | None]]] = {}
    pragmatic: dict[tuple[str, str], list[Result]] = {}
    for run in runs:
        language, competency = _language(run), _tag(run, "competency:")
        task = str(run.dataset).partition(":")[0]
        task = task.removeprefix("sea-").removesuffix(f"-{language}")
        if competency is None:
            raise DataError(
                f"{label(run)}: seahelm needs a dataset with the tag competency:NAME, "
                f"got the tags {', '.join(run.record.data.tags) or 'none'}"
            )
        scores = whole_scores(run, notices)
        found = {name: shown(score) for name, score in scores.items()}
        tasks = tree.setdefault(language, {}).setdefault(competency, {})
        if tasks.setdefault(task, found) is not found:
            raise DataError(f"{label(run)}: second run of {task}. Export one of them")
        place = language, competency
        if task in _PRAGMATICS:
            pragmatic.setdefault(place, []).append(run)
            continue
        groups = members.setdefault(place, {})
        main = run.headline and found.get(score_name(run.headline))
        groups.setdefault(_tag(run, "aggregation-group:") or task, []).append(main)
    for place, own in pragmatic.items():
        members.setdefault(place, {})["pragmatics"] = [_pragmatics(own)]
    for (language, competency), groups in members.items():
        means = {name: _mean(values) for name, values in groups.items()}
        total = _mean(means.values())
        tree[language][competency] = means | tree[language][competency]
        tree[language][competency]["total"] = total
    for competencies in tree.values():
        competencies["total"] = _mean([x["total"] for x in competencies.values()])
    tree["total"] = _mean([each["total"] for each in tree.values()])
    return tree


def _mean(values: Iterable[float | None]) -> float | None:
    given = [*values]
    known = [value for value in given if value is not None]
    return fmean(known) if known == given else None


def _pragmatics(runs: Sequence[Result]) -> float | None:
    """Return the mean accuracy of phenomena, of all tasks together, above chance."""
    right, count = Counter[str](), Counter[str]()
    for score in (score for run in runs for score in run.scores):
        name = "" if score.aggregate else f"{score.metric} {score.tag}"
        if name.startswith(_PHENOMENON) and score.value is not None:
            right[name] += round(shown(score) * score.n)  # in percent
            count[name] += score.n
    means = [right[name] / count[name] for name in count]
    return max(0.0, 2 * fmean(means) - 100) if means else None


def _tag(run: Result, prefix: str) -> str | None:
    tags = run.record.data.tags
    return next((t.removeprefix(prefix) for t in tags if t.startswith(prefix)), None)


def _language(run: Result) -> str:
    languages = run.record.data.languages
    if len(languages) != 1:
        raise DataError(
            f"{label(run)}: seahelm needs a dataset of one language, got "
            f"{', '.join(languages) or 'none'}"
        )
    return _LANGUAGES.get(languages[0], languages[0])
