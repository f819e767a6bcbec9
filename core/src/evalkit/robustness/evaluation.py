"""The steps of an evaluation for perturbed copies: reading and scoring them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from evalkit.base.terms import Weight
from evalkit.errors import AlignmentError
from evalkit.examples.copy_columns import join_statements
from evalkit.inference.intervals import Floats
from evalkit.plugins.registry import Registry
from evalkit.predictions.alignment import Alignment, OnDuplicate, Policies
from evalkit.predictions.table import prediction_column, scoring_table
from evalkit.robustness.copies import Copies, Originals, load_copies, refuse_shared_ids
from evalkit.robustness.effects import Effect, find_effects, make_views
from evalkit.robustness.expectations import ask_expectations
from evalkit.robustness.inputs import CopySource, RunSource
from evalkit.robustness.pairs import Pairs, PerturbedSample
from evalkit.robustness.quantities import Effects
from evalkit.robustness.scores import PerturbedScores, score_perturbations
from evalkit.robustness.stored import copies_of_run
from evalkit.robustness.values import PerturbedTables
from evalkit.scoring.records import MetricScores, ScoringSettings


class Perturbed(NamedTuple):
    """What was read."""

    originals: Originals
    alignment: Alignment
    """Of the originals."""
    copies: Sequence[Copies]
    """The files."""
    effects: Mapping[str, Effect]
    """What is known of each perturbation."""
    weight: Weight


def read_perturbed(
    sources: Sequence[CopySource],
    originals: Originals,
    alignment: Alignment,
    on_duplicate: OnDuplicate,
    columns: Collection[str] | None,
    weight: Weight,
    registry: Registry,
) -> Perturbed:
    """Read all files of copies and of predictions for them, and runs of copies.

    Args:
        sources: The files and runs.
        originals: What the copies were made of.
        alignment: The predictions for the originals.
        on_duplicate: Which of several rows with one id counts.
        columns: Columns of the data that metrics need; None for all.
        weight: Whether every original or every copy counts the same.
        registry: Where perturbations are found.

    Returns:
        The copies, and what is known of their perturbations.

    Raises:
        AlignmentError: Copies are not of this data, or responses come in replications.
        DataError: A file cannot be read.
        SchemaError: Rows break the task's input, or lack what makes them copies; or
            they contradict each other about a perturbation.
        StorageError: A run cannot be read, or holds no answers and predictions.
    """
    if alignment.replications:
        raise AlignmentError(
            "the predictions hold several responses to one example (replications); "
            "scores under perturbation take one response for each"
        )
    copies = [
        copies_of_run(source, originals, on_duplicate)
        if isinstance(source, RunSource)
        else load_copies(source, originals, on_duplicate, columns)
        for source in sources
    ]
    refuse_shared_ids(copies)
    identities = pl.concat([each.perturbations for each in copies])
    task = originals.task.component.name
    said = join_statements([told for each in copies for told in each.statements])
    effects = find_effects(identities, said, task, registry)
    return Perturbed(originals, alignment, copies, effects, weight)


def score_perturbed(
    perturbed: Perturbed,
    scored: Sequence[MetricScores],
    policies: Policies,
    settings: ScoringSettings,
) -> PerturbedScores:
    """Compute the scores of all metrics under all perturbations.

    Args:
        perturbed: What was read.
        scored: What the metrics computed of the originals.
        policies: Says which examples and copies count.
        settings: How intervals are computed.

    Returns:
        The scores.
    """
    originals, alignment, copies, effects, weight = perturbed
    examples = originals.examples
    if not any(len(each.originals) for each in copies):
        return PerturbedScores([], {}, [])
    sample = PerturbedSample(
        examples.frame["id"],
        examples.frame["tags"],
        examples.frame["cluster"] if examples.clustered else None,
        alignment.statuses.is_in(list(policies.counted)).to_numpy(),
    )
    pairs = Pairs(copies, policies.counted, sample)
    tables = PerturbedTables(scoring_table(examples, alignment), copies, pairs)
    expected = ask_expectations(
        effects,
        originals,
        copies,
        pairs,
        (
            tables.originals.frame["prediction"],
            [_predictions(each) for each in copies],
        ),
    )
    found = score_pairs(
        tables, effects, expected.told, scored, weight, settings, originals.split
    )
    return found._replace(
        errors=[*expected.problems.values(), *found.errors],
        expected=expected.told,
        notices=expected.notices,
    )


def score_pairs(
    tables: PerturbedTables,
    effects: Mapping[str, Effect],
    told: Mapping[str, Floats],
    scored: Sequence[MetricScores],
    weight: Weight,
    settings: ScoringSettings,
    split: str,
    judge: str | None = None,
) -> PerturbedScores:
    """Compute the scores of metrics of pairs whose predictions are known.

    Args:
        tables: The originals and the copies.
        effects: What is known of each perturbation.
        told: What `expect` says of each pair.
        scored: What the metrics computed of the originals.
        weight: Whether every original or every copy counts the same.
        settings: How intervals are computed.
        split: Split of the data set.
        judge: Name of the metric that tells right from wrong; chosen by default.

    Returns:
        The scores.
    """
    pairs = tables.pairs
    views = make_views(
        effect for name, effect in effects.items() if pairs.made_by([name]).any()
    )
    units = pairs.sample.units(settings.seed)
    asked = Effects(tables, views, told, weight, settings, split, units)
    return score_perturbations(scored, asked, judge)


def _predictions(copies: Copies) -> pl.Series:
    return prediction_column(copies.examples, copies.alignment.predictions)
