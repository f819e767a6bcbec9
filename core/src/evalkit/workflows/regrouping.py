"""Groups the examples of a run that was made before in new ways: `show RUN --by`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from evalkit.base.progress import Progress
from evalkit.errors import PluginError
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.runs.data_columns import load_metrics
from evalkit.runs.finding import as_result
from evalkit.runs.record import RunRecord
from evalkit.runs.results import Result
from evalkit.runs.score_columns import Score
from evalkit.runs.scores import to_scores
from evalkit.runs.stored import examples_of, scored_fields
from evalkit.runs.tables import CROSSING, KEPT, settings_of
from evalkit.scoring.crossings import cross, read_crossings
from evalkit.scoring.grouping import Groups, group_by_tag
from evalkit.scoring.measurement import measure
from evalkit.scoring.records import MetricScores

_AGGREGATES = ("macro", "worst", "gap")


def score_crossings(
    run: Result | str | Path,
    by: Sequence[str],
    *,
    folder: str | Path = "runs",
    jobs: int = 1,
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
) -> Result:
    """Score the groups that facets and columns of a run's examples make.

    What is scored is what the run folder holds: its examples, and the statistics of
    its metrics where they were saved. Policies, confidence, seed and the least size of
    a group are the run's. The run folder stays as it is.

    Args:
        run: A result, the path of a run folder, the start of its id, its model, or
            `latest`.
        by: Facets of the tags, columns of the data that the run keeps, `answer`,
            `pred`, `status` or fields of the responses; several, joined by commas, are
            crossed.
        folder: Folder that the run is looked for in.
        jobs: Processes that metrics written in Python may use.
        registry: Where plugins are found; all that are installed by default.
        progress: Told what is being done.

    Returns:
        The run with its scores of the whole set, those of the groups of each crossing,
        and what they amount to (mean, worst group and gap); scores of other tags are
        left out. A metric that cannot be computed any more is named in its warnings.

    Raises:
        EvalkitError: A name is no facet and no column, or there are too many groups.
        PluginError: No metric of the run can be loaded any more.
        StorageError: The run cannot be read, was refused, or holds no answers and
            predictions.
    """
    parent = as_result(run, folder)
    crossings = read_crossings([by] if isinstance(by, str) else by)
    resolver = Resolver(registry or Registry())
    measured, ready, errors = load_metrics(parent, parent.record.metrics, resolver)
    crossed = _crossed(parent, crossings)
    groups = group_by_tag(examples_of(parent)["tags"], crossed)
    lost = [f"{name} was not computed by group: {errors[name]}" for name in errors]
    if not ready:
        raise PluginError(
            f"no metric of the run {parent.run_id} can be computed again: "
            f"{'; '.join(lost)}"
        )
    scored = measure(
        ready,
        measured._replace(groups=groups),
        settings_of(parent.record, jobs),
        progress,
        parent.statistics,
    )
    return _grouped(parent, crossings, groups, scored, lost)


def _crossed(
    parent: Result, crossings: Mapping[str, Sequence[str]]
) -> dict[str, pl.Series]:
    """Return the groups of each crossing; those that the run has stored as they are."""
    examples = examples_of(parent)
    stored = {
        name: examples[CROSSING + name]
        for name in crossings
        if CROSSING + name in examples.columns
    }
    others = {name: parts for name, parts in crossings.items() if name not in stored}
    # as in an evaluation, where `status` is a column of the data
    columns = {"status": examples["status"]}
    columns |= {
        name.removeprefix(KEPT): examples[name]
        for name in examples.columns
        if name.startswith(KEPT)
    }
    names = ["answer", "pred", *scored_fields(examples)]
    columns |= {name: examples[name] for name in names}
    return stored | cross(others, examples["tags"], columns)


def _grouped(
    parent: Result,
    crossings: Mapping[str, Sequence[str]],
    groups: Groups,
    scored: list[MetricScores],
    lost: Sequence[str],
) -> Result:
    record = parent.record.changed(
        by=tuple(crossings), warnings=(*parent.warnings, *lost)
    )
    computed = to_scores(scored, groups, record.split)
    wanted = {groups.tags[n] for name in crossings for n in groups.facets[name]}
    kinds = {f"{kind}:{name}" for kind in _AGGREGATES for name in crossings}
    kinds -= {str(record.headline_aggregate)}
    kept = [
        score
        for score in computed
        if (score.aggregate in kinds if score.aggregate else score.tag in wanted)
    ]
    whole = [score for score in parent.scores if _is_of_whole(score, record)]
    result = Result(
        record, [*whole, *kept], parent.problems, parent.examples, parent.statistics
    )
    result.path = parent.path
    return result


def _is_of_whole(score: Score, record: RunRecord) -> bool:
    headline = record.headline_aggregate
    return score.is_whole or (headline is not None and score.aggregate == headline)
