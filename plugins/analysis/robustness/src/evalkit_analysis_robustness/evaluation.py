"""Evaluates a dataset and perturbed examples of it: each perturbation is a run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evalkit import EvaluationOptions, Registry, Result, Score
from evalkit.base.files import WorkingFolder
from evalkit.base.progress import Progress
from evalkit.errors import AlignmentError, EvalkitError, PluginError
from evalkit.examples.copy_columns import join_statements
from evalkit.examples.files import chosen_data
from evalkit.plugins.observers import Observers
from evalkit.predictions.preparation import Predictions, changed_by
from evalkit.predictions.row_sources import diagnose
from evalkit.predictions.table import scoring_table
from evalkit.reporting import count_of
from evalkit.runs import recorded
from evalkit.runs.accounts import refusal_message
from evalkit.runs.folders import check_place
from evalkit.runs.recording import Asked, Parts, make_result
from evalkit.runs.score_columns import scores_frame
from evalkit.runs.withholding import withhold_reasons
from evalkit.statistics.clusters import Floats
from evalkit.workflows.evaluation import open_predictions
from evalkit.workflows.evaluation_steps import (
    add_columns,
    announce,
    bind,
    group,
    match,
    score,
    write,
)
from evalkit_analysis_robustness.examples import (
    Loaded,
    Originals,
    Perturbed,
    load_perturbed,
    refuse_shared,
)
from evalkit_analysis_robustness.expectations import ask_expectation
from evalkit_analysis_robustness.pairs import Pairs, Sample
from evalkit_analysis_robustness.perturbations import (
    Effect,
    effect_notices,
    find_effects,
    make_views,
)
from evalkit_analysis_robustness.quantities import Paired
from evalkit_analysis_robustness.results import (
    EFFECTS_FILE,
    EXPECTED_FILE,
    FAMILIES_FILE,
)
from evalkit_analysis_robustness.scores import score_pairs
from evalkit_analysis_robustness.sources import (
    FileSource,
    Given,
    RunSource,
    Source,
    pair_sources,
)
from evalkit_analysis_robustness.stored import load_stored
from evalkit_analysis_robustness.values import PairedTables


def evaluate_perturbed(
    dataset: Any = None,
    predictions: Predictions | None = None,
    *,
    perturbed: Given,
    perturbed_predictions: Given = (),
    data: Any = None,
    model: str | None = None,
    task: Any = None,
    out: str | Path | None = None,
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
    options: EvaluationOptions | None = None,
    **choices: Any,
) -> Result:
    """Score predictions on a dataset, and on perturbed examples of it.

    Nothing is written until everything is scored. If the predictions for one part are
    refused, all are.

    Args:
        dataset: As for `evalkit.evaluate`, like all arguments that are not named here.
        predictions: The model's responses to the unperturbed examples.
        perturbed: Files of perturbed examples, as `evalkit perturb` writes them, tables
            of such rows, or runs of them (a result, a path, or the start of an id, a
            model or `latest`, which are looked for in `out`, or else in `runs`).
        perturbed_predictions: The same model's predictions for each of the files, in
            their order; a run holds its own.
        data: A file or rows of examples in place of a dataset.
        model: Name of the model.
        task: The task of a file or rows of examples.
        out: Folder to write the runs to; nothing is written by default.
        registry: Where plugins are found.
        progress: Called with what is being done.
        options: Options in place of `choices`.
        **choices: The options of `evalkit.evaluate`.

    Returns:
        The run of the unperturbed examples; its `perturbed` holds a run for each
        perturbation, and `find_effects` returns the effects.

    Raises:
        AlignmentError: The policies refuse predictions (`error.result` is the refused
            result, which is written too), or perturbed examples are of other data.
        EvalkitError: For the reasons for which `evalkit.evaluate` raises it.
    """
    if predictions is None:
        raise EvalkitError("evaluate_perturbed needs predictions=")
    options = options or EvaluationOptions(**choices)
    if options.against is not None:
        raise EvalkitError("against= compares with no answers to copies")
    dataset = chosen_data(dataset, data)
    started, here = time.time(), WorkingFolder()
    registry = registry or Registry()
    watchers = Observers(registry, options.observers)
    with (
        watchers.told_of_failure(dataset),
        open_predictions(predictions, options, progress) as source,
    ):
        check_place(out)
        options, given = source.options, source.predictions
        asked = bind(dataset, task, given, options, registry, watchers)
        predictions = changed_by(given, asked.stage)
        sources = _sources(perturbed, perturbed_predictions, out, asked, options)
        model = model or source.model
        matched = match(asked, predictions, model, progress, needs_all=True)
        prepared = source.told(matched)
        if prepared.alignment.replications:
            raise AlignmentError(
                "the predictions hold several responses to one example (replications); "
                "scores under perturbation take one response for each"
            )
        originals = Originals(asked, prepared, model)
        progress("reading the perturbed copies", 0.35)
        loaded = [
            load_stored(each, originals)
            if isinstance(each, RunSource)
            else load_perturbed(each, originals)
            for each in sources
        ]
        refuse_shared([part for each in loaded for part in each.parts])
        result, refusals = _evaluate(originals, loaded, progress)
        source.keep_in(result)
        results = [result, *(result.perturbed or ())]
        moved = here.restore()
        for each, refused in zip(results, refusals, strict=True):
            each.record_time(started, time.time() - started)
            if moved:
                each.record_warnings([moved])
            announce(each, each.scores, refused, watchers)
        if out is not None:
            progress("writing the runs", 0.95)
            for each in reversed(results):  # a visible run of originals is whole
                write(each, out, watchers)
        if result.status == "refused":
            raise _refusal(results, refusals, originals, loaded)
        return result


def _sources(
    perturbed: Given,
    predictions: Given,
    out: str | Path | None,
    asked: Asked,
    options: EvaluationOptions,
) -> list[Source]:
    """Pair perturbed examples with predictions, each with its adapters."""
    source = options.rows
    of_rows = None if source is None else source.of_copies(asked.registry)
    found = pair_sources(perturbed, predictions, out or "runs")
    are_files = any(isinstance(each, FileSource) for each in found)
    if of_rows is not None and not are_files:
        raise EvalkitError(
            "adapters sit at 'perturbed', and no file of perturbed copies was given"
        )
    return [each.changed_by(asked.stage, of_rows) for each in found]


def _evaluate(
    originals: Originals, loaded: Sequence[Loaded], progress: Progress
) -> tuple[Result, list[Sequence[str]]]:
    """Evaluate both sides."""
    asked = originals.asked
    found = [part for each in loaded for part in each.parts]
    statements = join_statements([each for part in found for each in part.statements])
    known = find_effects(
        [part.name for part in found],
        statements,
        asked.task.component.name,
        asked.registry,
    )
    found.sort(key=lambda part: part.name)
    sides = [(asked, originals.prepared)]
    sides += [(_asked(asked, part), part.prepared) for part in found]
    policies = asked.options.policies
    refusals: list[Sequence[str]] = [
        prepared.alignment.refusal(policies) for _, prepared in sides
    ]
    if any(refusals):
        parts = [group(work, prepared) for work, prepared in sides]
        return _results(originals, loaded, found, parts, refusals, known, {}), refusals
    done = [add_columns(work, prepared, progress) for work, prepared in sides]
    originals = originals._replace(prepared=done[0])
    found = [
        part._replace(prepared=prepared)
        for part, prepared in zip(found, done[1:], strict=True)
    ]
    parts = [
        score(group(work, prepared), originals.model, progress)
        for (work, _), prepared in zip(sides, done, strict=True)
    ]
    progress("comparing with the perturbed copies", 0.9)
    expected, failures = _expectations(originals, found, known)
    result = _results(originals, loaded, found, parts, refusals, known, expected)
    runs = result.perturbed or []
    for part, run in zip(found, runs, strict=True):
        if part.name in failures:
            run.amend(errors=(*run.errors, failures[part.name]), status="partial")
    if found:
        scores = _effects(originals, found, parts, known, expected)
        if not asked.options.include_examples:
            scores = withhold_reasons(scores)
        _add_tables(result, runs, scores, expected)
    return result, refusals


def _results(
    originals: Originals,
    loaded: Sequence[Loaded],
    found: Sequence[Perturbed],
    parts: Sequence[Parts],
    refusals: Sequence[Sequence[str]],
    known: Mapping[str, Effect],
    expected: Mapping[str, Floats],
) -> Result:
    """Return the result of the originals, with those of the perturbations."""
    # if one side is refused, all are
    reasons = [reason for refused in refusals for reason in refused]
    result = make_result(parts[0], originals.model, reasons)
    _add_notices(result, _notices(originals, loaded, known))
    result.perturbed = []
    for part, scored in zip(found, parts[1:], strict=True):
        effect = known[part.name]
        own = scored._replace(
            perturbation=_recorded(effect, part.name in expected),
            original=result.fingerprint,
            further=effect.steps,
        )
        run = make_result(own, originals.model, reasons)
        _add_notices(run, _notices_of(part, effect, originals))
        result.perturbed.append(run)
    return result


def _asked(asked: Asked, part: Perturbed) -> Asked:
    """Return the plugins for perturbed examples: with the adapters of their rows."""
    return asked if part.dataset is None else replace(asked, dataset=part.dataset)


def _recorded(effect: Effect, expects: bool) -> recorded.Perturbation:
    return recorded.Perturbation(
        name=effect.identity,
        label_effect=effect.label_effect,
        families=tuple(effect.families),
        told_by=effect.told_by,
        expects=expects,
    )


def _expectations(
    originals: Originals, found: Sequence[Perturbed], known: Mapping[str, Effect]
) -> tuple[dict[str, Floats], dict[str, str]]:
    """Return what `expect` returned for pairs, and why it failed, by perturbation."""
    counted = list(originals.asked.options.policies.counted)
    before = originals.prepared.alignment.statuses.is_in(counted).to_numpy()
    expected: dict[str, Floats] = {}
    failures: dict[str, str] = {}
    for part in found:
        step = known[part.name].expecting
        if step is None or not isinstance(part.source, FileSource):
            continue
        after = part.alignment.statuses.is_in(counted).to_numpy()
        both = after & before[part.originals]
        try:
            expected[part.name] = ask_expectation(step, originals, part, both)
        except PluginError as error:
            failures[part.name] = str(error)
            expected[part.name] = np.full(len(part.originals), np.nan)
    return expected, failures


def _effects(
    originals: Originals,
    found: Sequence[Perturbed],
    parts: Sequence[Parts],
    known: Mapping[str, Effect],
    expected: Mapping[str, Floats],
) -> list[Score]:
    """Compute all scores under perturbation."""
    options, prepared = originals.asked.options, originals.prepared
    examples, counted = prepared.examples, list(options.policies.counted)
    sample = Sample(
        examples.frame["id"],
        examples.frame["tags"],
        examples.frame["cluster"] if examples.clustered else None,
        prepared.alignment.statuses.is_in(counted).to_numpy(),
    )
    pairs = Pairs(found, counted, sample)
    tables = PairedTables(
        scoring_table(examples, prepared.alignment),
        [scoring_table(part.examples, part.alignment) for part in found],
        pairs,
        [{each.name: each for each in part.scored} for part in parts[1:]],
    )
    by_pair = {}
    for part, start in zip(found, pairs.starts, strict=True):
        if part.name in expected:
            values = np.full(pairs.size, np.nan)
            values[start : start + len(part.originals)] = expected[part.name]
            by_pair[part.name] = values
    paired = Paired(
        tables,
        make_views(known[part.name] for part in found),
        by_pair,
        options.settings,
        originals.asked.split,
        sample.units(options.settings.seed),
    )
    return score_pairs(parts[0].scored, paired)


def _add_tables(
    result: Result,
    runs: Sequence[Result],
    scores: Sequence[Score],
    expected: Mapping[str, Floats],
) -> None:
    """Put the effects into the results that they belong to."""
    by_name: dict[str | None, list[Score]] = {}
    for each in scores:
        by_name.setdefault(each.perturbation, []).append(each)
    for run in runs:
        perturbation = run.record.perturbation
        assert perturbation is not None
        own = by_name.pop(perturbation.name, [])
        run.tables[EFFECTS_FILE] = scores_frame(own)
        values = expected.get(perturbation.name)
        if values is not None and run.examples is not None:
            run.tables[EXPECTED_FILE] = pl.DataFrame(
                {
                    "id": run.examples["id"],
                    "expected": pl.Series(values, nan_to_null=True),
                }
            )
    families = [each for several in by_name.values() for each in several]
    if families:
        result.tables[FAMILIES_FILE] = scores_frame(families)


def _add_notices(result: Result, notices: Sequence[str]) -> None:
    result.amend(notices=(*result.notices, *notices))


def _notices(
    originals: Originals, loaded: Sequence[Loaded], known: Mapping[str, Effect]
) -> list[str]:
    """Return what a reader of the effects should know."""
    asked = originals.asked
    notices = effect_notices(known.values())
    if asked.dataset.aggregate:
        notices.append(
            f"under perturbation there is no {asked.dataset.aggregate}, the headline "
            f"of {asked.dataset.component.name}; its tags have scores of their own"
        )
    for each in loaded:
        if each.left_out:
            copies = "copy" if each.left_out == 1 else "copies"
            notices.append(
                f"{Path(each.source.name).name}: {each.left_out} {copies} of examples "
                "that are not evaluated; left out"
            )
    families = {family for effect in known.values() for family in effect.families}
    lacking = [name for name in asked.task.delta_metrics if name not in families]
    if lacking:
        notices.append(
            f"the task {asked.task.component.name} asks for the effects of "
            f"{' and '.join(lacking)} perturbations, but no such copies were given"
        )
    return notices


def _notices_of(part: Perturbed, effect: Effect, originals: Originals) -> list[str]:
    """Return what a reader of one perturbation's scores should know."""
    notices = []
    source, name = part.source, Path(part.source.name).name
    if isinstance(source, RunSource):
        if effect.expecting is not None:
            notices.append(
                f"{name}: `expect` was not asked, as a run holds no texts; give the "
                "file of copies instead"
            )
        if source.run.model != originals.model:
            notices.append(
                f"{name}: its model is called {source.run.model!r}, the one that is "
                f"evaluated {originals.model!r}; are they the same?"
            )
        if not source.run.record.selection.is_whole:
            rows = count_of(source.run.counts["examples"], "row")
            notices.append(f"{name}: was made of only {rows} of its data")
    before = originals.examples.frame["answer"].gather(part.originals)
    after = part.examples.frame["answer"]
    if effect.label_effect == "invariant" and before.dtype == after.dtype:
        differs = before.ne_missing(after)
        if count := int(differs.sum()):
            uid = part.examples.frame["id"].filter(differs)[0]
            notices.append(
                f"{name}: the answer should be the original's and is another one in "
                f"{count_of(count, 'row')}, such as {uid!r}; were the data changed "
                "since? `evalkit perturb` makes the copies again"
            )
    return notices


def _refusal(
    results: Sequence[Result],
    refusals: Sequence[Sequence[str]],
    originals: Originals,
    loaded: Sequence[Loaded],
) -> AlignmentError:
    """Return the error of a refusal, with each part whose predictions are refused."""
    parts = sorted(
        (part for each in loaded for part in each.parts), key=lambda part: part.name
    )
    sides = [("", originals.asked, originals.prepared)]
    for part in parts:
        where = f"{part.source.predictions_name} ({part.name}): "
        sides.append((where, _asked(originals.asked, part), part.prepared))
    texts = []
    mapping: Mapping[str, str] = {}
    for result, refused, side in zip(results, refusals, sides, strict=True):
        if refused:
            where, asked, (examples, alignment) = side[0], side[1], side[2][:2]
            bound = (asked.dataset, asked.task)
            diagnosis = diagnose(*bound, examples, alignment, asked.registry)
            texts.append(where + refusal_message(result, refused, alignment, diagnosis))
            mapping = mapping if where else diagnosis.mapping
    return AlignmentError("\n".join(texts), results[0], mapping)
