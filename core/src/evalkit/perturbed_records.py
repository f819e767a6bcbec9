"""What a run records of perturbed copies, beside their scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from evalkit.alignment import Policies
from evalkit.contract import RESERVED_FIELDS
from evalkit.perturbed_copies import Copies
from evalkit.perturbed_evaluation import Perturbed
from evalkit.perturbed_scores import PerturbedScores
from evalkit.problems import STATUSES
from evalkit.provenance import describe_component
from evalkit.run_record import PerturbedRecord, alignment_notices, prediction_column
from evalkit.violations import describe
from evalkit.wording import count_of

_SHOWN_PROBLEMS = 3


def record_perturbed(
    perturbed: Perturbed,
    scored: PerturbedScores | None,
    policies: Policies,
    include_examples: bool,
) -> PerturbedRecord:
    """Put together what a run records of perturbed copies.

    Args:
        perturbed: What was read.
        scored: What was computed; None for a refused evaluation.
        policies: What happens to copies without a valid response.
        include_examples: Whether answers and predictions are part of it.

    Returns:
        The record.
    """
    found = scored or PerturbedScores([], {}, [])
    copies = perturbed.copies
    inputs = {
        "weight": perturbed.weight,
        "perturbed": [
            {"data": each.data, "predictions": each.predictions} for each in copies
        ],
    }
    return PerturbedRecord(
        found.scores,
        found.errors,
        inputs,
        _record(perturbed),
        _components(perturbed),
        _notices(perturbed, policies, include_examples),
        [
            problem._replace(file=each.source.predictions_name)
            for each in copies
            for problem in each.alignment.problems
        ],
        _frame(copies, found, include_examples),
    )


def _components(perturbed: Perturbed) -> list[dict[str, Any]]:
    """Describe the plugins of the perturbations, each once."""
    described = [
        describe_component(step)
        for effect in perturbed.effects.values()
        for step in effect.steps
    ]
    return list({repr(each): each for each in described}.values())


def _record(perturbed: Perturbed) -> dict[str, Any]:
    """Give further keys of `run.json`.

    `weight`; `perturbed`: of each file its name and SHA-256, those of its predictions,
    counts and what each perturbation made; and `perturbations`: what is known of each.
    """
    return {
        "weight": perturbed.weight,
        "perturbed": [
            {
                "file": each.data["name"],
                "sha256": each.data["sha256"],
                "predictions": each.predictions,
                "counts": each.alignment.counts,
                "left_out": each.left_out,
                "perturbations": _made(each),
            }
            for each in perturbed.copies
        ],
        "perturbations": [
            {
                "perturbation": effect.identity,
                "label_effect": effect.label_effect,
                "families": list(effect.families),
                "known": not effect.notice,
            }
            for effect in perturbed.effects.values()
        ],
    }


def _made(copies: Copies) -> list[dict[str, Any]]:
    pairs = pl.DataFrame(
        {"perturbation": copies.perturbations, "original": copies.originals}
    )
    counted = (
        pairs.group_by("perturbation")
        .agg(copies=pl.len(), originals=pl.col("original").n_unique())
        .sort("perturbation")
    )
    return counted.to_dicts()


def _notices(
    perturbed: Perturbed, policies: Policies, include_examples: bool
) -> list[str]:
    effects, task = perturbed.effects.values(), perturbed.originals.task.component.name
    notices = [effect.notice for effect in effects if effect.notice]
    for each in perturbed.copies:
        if each.left_out:
            copies = "copy" if each.left_out == 1 else "copies"
            notices.append(
                f"{each.source.name}: {each.left_out} {copies} of examples that are "
                "not evaluated; left out"
            )
        alignment = each.alignment
        if not include_examples:
            alignment = alignment._replace(undeclared=Counter())
        notices += _stale(each, perturbed)
        notices += [
            f"{each.source.predictions_name}: {notice}"
            for notice in alignment_notices(alignment, policies, task)
        ]
    return notices


def perturbed_refusals(perturbed: Perturbed, policies: Policies) -> list[str]:
    """Say why the policies refuse predictions for copies; empty if they do not."""
    return [
        f"{each.source.predictions_name}: {reason}"
        for each in perturbed.copies
        for reason in each.alignment.refusal(policies)
    ]


def refused_rows(perturbed: Perturbed) -> list[str]:
    """Name the first few rows of each kind of the predictions for copies.

    Args:
        perturbed: What was read.

    Returns:
        Lines of a message.
    """
    lines = []
    for each in perturbed.copies:
        for status in STATUSES:
            for problem in each.alignment.problems.first(status, _SHOWN_PROBLEMS):
                where = [each.source.predictions_name]
                where += [f"line {problem.line}"] if problem.line else []
                where += [f"id {problem.id!r}"] if problem.id is not None else []
                why = f": {describe(problem.violations)}" if problem.line else ""
                lines.append(f"  {status}: {', '.join(where)}{why}")
            hidden = each.alignment.counts[status] - _SHOWN_PROBLEMS
            if hidden > 0:
                lines.append(
                    f"  and {count_of(hidden, 'more row')} of "
                    f"{each.source.predictions_name} that are {status}"
                )
    return lines


def _frame(
    copies: Sequence[Copies], scored: PerturbedScores, include_examples: bool
) -> pl.DataFrame:
    """Give one row for each copy, as `perturbed.parquet` holds it.

    Its columns are `id`, `input_id`, `perturbation`, answer, prediction, scored fields,
    tags, cluster, status, and one for each metric with per-example scores.
    """
    frames = []
    start = 0
    for each in copies:
        frame = each.examples.frame
        columns = [
            frame["id"],
            each.input_ids.alias("input_id"),
            each.perturbations.alias("perturbation"),
        ]
        if include_examples:
            columns += [
                frame["answer"],
                prediction_column(each.examples, each.alignment.predictions).alias(
                    "pred"
                ),
                *each.alignment.fields.values(),
            ]
        columns += [frame["tags"], frame["cluster"], each.alignment.statuses]
        stop = start + frame.height
        taken = {*RESERVED_FIELDS, *(column.name for column in columns)}
        for name, values in scored.per_copy.items():
            shown = f"metrics/{name}" if name in taken else name
            part = pl.Series(shown, values[start:stop], nan_to_null=True)
            columns.append(part)
        frames.append(pl.DataFrame(columns))
        start = stop
    return pl.concat(frames, how="diagonal_relaxed")


def _stale(copies: Copies, perturbed: Perturbed) -> list[str]:
    """Say that copies whose answer should be their original's have another one."""
    invariant = [
        name
        for name, effect in perturbed.effects.items()
        if effect.label_effect == "invariant"
    ]
    before = perturbed.originals.examples.frame["answer"].gather(copies.originals)
    after = copies.examples.frame["answer"]
    if before.dtype != after.dtype:
        return []  # one answer here, several there
    differs = before.ne_missing(after) & copies.perturbations.is_in(invariant)
    count = int(differs.sum())
    if not count:
        return []
    uid = copies.examples.frame["id"].filter(differs)[0]
    return [
        f"{copies.source.name}: the answer should be the original's and is another one "
        f"in {count_of(count, 'row')}, such as {uid!r}; were the data changed since? "
        "`evalkit perturb` makes the copies again"
    ]
