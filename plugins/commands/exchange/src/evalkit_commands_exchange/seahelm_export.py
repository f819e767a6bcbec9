"""Results of SEA-HELM: tasks by language and competency, with their means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any

from evalkit import DataError, Result
from evalkit_commands_exchange.exported import (
    by_model,
    dump,
    file_name,
    label,
    shown,
    started,
    whole_scores,
)

_LIMITS = (
    "seahelm: results have no place for confidence intervals, tags of examples, "
    "perturbations and coverage, which are left out"
)
_LANGUAGES = {"zh-Hant": "zh_t"}
_COMPETENCY, _GROUP = "competency:", "aggregation-group:"


def write(runs: Sequence[Result], notices: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the results of each model."""
    notices.append(_LIMITS)
    for model, own in by_model(runs).items():
        parts = [*map(file_name, model.split("/"))]
        date = max(map(started, own)).replace(tzinfo=None).isoformat()
        folder = f"{'/'.join(parts)}/run_0/results"
        yield (
            f"{folder}/{parts[-1]}_seahelm_results_{date}.json",
            dump(_results(own, notices)),
        )


def _results(runs: Iterable[Result], notices: list[str]) -> dict[str, Any]:
    """Return the tree, in which a mean over a missing score is null."""
    tree: dict[str, Any] = {}
    members: dict[tuple[str, str], dict[str, list[float | None]]] = {}
    for run in runs:
        language, competency = _language(run), _tag(run, _COMPETENCY)
        task = str(run.dataset).partition(":")[0]
        if competency is None:
            raise DataError(
                f"{label(run)}: the dataset has no tag competency:NAME, which seahelm "
                "needs. Add it to the dataset's tags"
            )
        tasks = tree.setdefault(language, {}).setdefault(competency, {})
        if task in tasks:
            raise DataError(
                f"{label(run)}: two runs of {task} in {language}. Export one of them"
            )
        scores = whole_scores(run, notices)
        tasks[task] = {name: shown(score) for name, score in scores.items()}
        groups = members.setdefault((language, competency), {})
        main = run.headline
        value = None if main is None or main.value is None else shown(main)
        groups.setdefault(_tag(run, _GROUP) or task, []).append(value)
    for (language, competency), groups in members.items():
        means = {name: _mean(values) for name, values in groups.items()}
        tasks = tree[language][competency]
        tasks |= {name: mean for name, mean in means.items() if name not in tasks}
        tasks["total"] = _mean(means.values())
    for competencies in tree.values():
        totals = [each["total"] for each in competencies.values()]
        competencies["total"] = _mean(totals)
    tree["total"] = _mean([each["total"] for each in tree.values()])
    return tree


def _mean(values: Iterable[float | None]) -> float | None:
    known = [*values]
    numbers = [each for each in known if each is not None]
    return fmean(numbers) if len(numbers) == len(known) else None


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
