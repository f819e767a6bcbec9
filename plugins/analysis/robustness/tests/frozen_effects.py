"""Evaluates with perturbed examples, in the shape of the frozen files."""

from typing import Any

from evalkit_analysis_robustness import evaluate_perturbed, find_effects, find_flips


def effects_and_flips(
    dataset: Any, predictions: Any, perturbed: Any, answers: Any, **options: Any
) -> dict[str, Any]:
    """Return value and `n` of all effects, and the ids of the flips by kind."""
    given = {"data": dataset} if isinstance(dataset, list) else {"dataset": dataset}
    result = evaluate_perturbed(
        **given,
        predictions=predictions,
        perturbed=[perturbed],
        perturbed_predictions=[answers],
        model="m",
        **options,
    )
    effects: dict[str, dict[str, Any]] = {}
    for score in find_effects(result).scores:
        key = f"{score.metric} / {score.perturbation} / {score.computed_on}"
        effects.setdefault(key, {})[score.tag or ""] = [score.value, score.n]
    flips: dict[str, list[str]] = {}
    for row in find_flips(result).rows.iter_rows(named=True):
        flips.setdefault(row["flip"], []).append(row["id"])
    return {"effects": effects, "flips": flips}
