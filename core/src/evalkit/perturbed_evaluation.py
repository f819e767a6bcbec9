"""The steps of an evaluation for perturbed copies: reading and scoring them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from evalkit.alignment import Alignment, OnDuplicate, Policies
from evalkit.errors import AlignmentError
from evalkit.perturbed_copies import (
    Copies,
    Originals,
    PerturbedSource,
    load_copies,
    refuse_shared_ids,
)
from evalkit.perturbed_effects import Effect, find_effects, make_views
from evalkit.perturbed_expectations import ask_expectations
from evalkit.perturbed_pairs import Pairs, Sample, Weight
from evalkit.perturbed_quantities import Effects
from evalkit.perturbed_scores import PerturbedScores, score_perturbations
from evalkit.perturbed_values import PerturbedTables
from evalkit.registry import Registry
from evalkit.run_record import prediction_column
from evalkit.scores import MetricScores, ScoringSettings
from evalkit.scoring_tables import scoring_table


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
    sources: Sequence[PerturbedSource],
    originals: Originals,
    alignment: Alignment,
    on_duplicate: OnDuplicate,
    columns: Collection[str] | None,
    weight: Weight,
    registry: Registry,
) -> Perturbed:
    """Read all files of copies and of predictions for them.

    Args:
        sources: The files.
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
        SchemaError: Rows break the task's input, or lack what makes them copies.
    """
    if alignment.replications:
        raise AlignmentError(
            "the predictions hold several responses to one example (replications); "
            "scores under perturbation take one response for each"
        )
    copies = [
        load_copies(source, originals, on_duplicate, columns) for source in sources
    ]
    refuse_shared_ids(copies)
    identities = pl.concat([each.perturbations for each in copies])
    task = originals.task.component.name
    effects = find_effects(identities, task, registry)
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
    sample = Sample(
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
    views = make_views(
        effect for name, effect in effects.items() if pairs.made_by([name]).any()
    )
    found = score_perturbations(
        scored,
        Effects(tables, views, expected.told, weight, settings, originals.split),
    )
    return found._replace(errors=[*expected.problems.values(), *found.errors])


def _predictions(copies: Copies) -> pl.Series:
    return prediction_column(copies.examples, copies.alignment.predictions)
