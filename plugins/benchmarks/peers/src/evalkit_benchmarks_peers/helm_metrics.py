"""Metrics and perturbations of evalkit that compute what HELM's classes do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalkit_benchmarks_peers.helm_prompts import RANKING, SEPARATE
from evalkit_benchmarks_peers.helm_spec import DataAugmenterSpec, ObjectSpec
from evalkit_benchmarks_peers.peer_files import PeerFile

_OF_TEXTS = {
    "exact_match": "helm-exact-match",
    "quasi_exact_match": "quasi-exact-match",
    "quasi_leave_articles_exact_match": "quasi-exact-match:articles=keep",
    "prefix_exact_match": "prefix-exact-match",
    "quasi_prefix_exact_match": "quasi-prefix-exact-match",
    "exact_match_indicator": "helm-exact-match-indicator",
    "final_number_exact_match": "final-number-match",
    "exact_set_match": "helm-set-match",
    "iou_set_match": "helm-set-match",
    "f1_set_match": "helm-set-match",
    "f1_score": "helm-f1",
    "rouge_1": "rouge:stemmer=true",
    "rouge_2": "rouge:stemmer=true",
    "rouge_l": "rouge:stemmer=true",
    "bleu_1": "helm-bleu-1",
    "bleu_4": "helm-bleu-4",
    "chinese_bleu_1": "helm-bleu-1:tokenize=characters",
    "cleva_math_result_match": "helm-cleva-math-result-match",
    "absolute_value_difference": "helm-absolute-value-difference",
}
"""Metrics of `BasicGenerationMetric`."""

_OF_CLASSES: Mapping[str, Mapping[str, str | None]] = {
    "BasicGenerationMetric": {},
    "BasicMetric": {},
    "BasicReferenceMetric": {},
    "InstancesPerSplitMetric": {},  # every score has its number of examples
    "LanguageModelingMetric": {
        "perplexity": "perplexity",
        "bits_per_byte": "bits-per-byte",
    },
    "MachineTranslationMetric": {"bleu": "bleu"},
    "SummarizationMetric": {
        "rouge": _OF_TEXTS["rouge_l"],
        **dict.fromkeys(("coverage", "density", "compression")),
    },
}
"""Metrics of other classes."""

_RANKED = {"recip_rank": "mrr", "ndcg_cut": "ndcg", "recall": "recall-at-k"}

_PERTURBATIONS = {
    "ContractionPerturbation": "helm-contractions",
    "ExpansionPerturbation": "helm-expansions",
    "ExtraSpacePerturbation": "helm-extra-space",
    "FillerWordsPerturbation": "helm-filler-words",
    "LowerCasePerturbation": "helm-lowercase",
    "SpacePerturbation": "helm-space",
    "SuffixPerturbation": "helm-suffix",
    "TyposPerturbation": "helm-typos",
}
"""Perturbations that give the bytes of HELM's."""

_NEAR = {
    "ContrastSetsPerturbation": "contrast-sets draws otherwise",
    "DialectPerturbation": "dialect has a lexicon of its own",
    "GenderPerturbation": "helm-gender-terms and helm-gender-pronouns leave references",
    "MildMixPerturbation": "mild-mix has a list of misspellings of its own",
    "MisspellingPerturbation": "misspellings has a list of its own",
    "PersonNamePerturbation": "name-swap has names of its own",
    "SynonymPerturbation": "synonyms has a lexicon of its own",
}


def metrics_of(
    specs: Sequence[ObjectSpec], method: str
) -> tuple[list[str], dict[str, list[str]]]:
    """Return metrics, and what is left out.

    Args:
        specs: HELM's metrics.
        method: How HELM asks, on which depends what its metrics compute.

    Returns:
        References of metrics; and names without a counterpart, by class.
    """
    found: list[str] = []
    missing: dict[str, list[str]] = {}
    for spec in specs:
        for name, reference in _metrics(spec, method):
            if reference is None:
                missing.setdefault(spec.name, []).append(name)
            elif reference and reference not in found:
                found.append(reference)
    return found, missing


def _metrics(spec: ObjectSpec, method: str) -> Iterator[tuple[str, str | None]]:
    """Yield metrics of a class by HELM's names; "" for what it does not compute."""
    by_reference = method in (*SEPARATE, RANKING)
    if spec.name in ("BasicGenerationMetric", "BasicMetric"):
        for name in spec.args.get("names") or ():
            yield name, "" if by_reference else _OF_TEXTS.get(name)
    if spec.name in ("BasicReferenceMetric", "BasicMetric") and by_reference:
        yield "exact_match", "accuracy" if method in SEPARATE else None
    elif spec.name == "RankingMetric" and method == RANKING:
        for name in spec.args.get("measure_names") or ():
            yield name, _ranked(name, spec.args)
    else:
        yield from _OF_CLASSES.get(spec.name, {"": None}).items()


def _ranked(name: str, args: Mapping[str, Any]) -> str | None:
    measure, _, depth = name.partition(".")
    if args.get("multiple_relevance_values") or measure not in _RANKED:
        return None
    if measure == "recip_rank":
        return None if depth else "mrr"
    return f"{_RANKED[measure]}:k={depth}" if depth else None


def perturbations_of(file: PeerFile, spec: DataAugmenterSpec) -> list[dict[str, Any]]:
    """Return perturbations whose texts and random numbers are HELM's.

    Args:
        file: The run spec.
        spec: What it says of perturbed copies.

    Raises:
        DataError: A perturbation has no counterpart that gives the same bytes.
    """
    above = "data_augmenter_spec"
    if not spec.perturbation_specs:
        return []
    if spec.should_augment_train_instances:
        key = "should_augment_train_instances"
        raise file.error("evalkit perturbs no shots, so must be false", above, key)
    if not spec.should_augment_eval_instances:
        return []
    found = []
    for number, each in enumerate(spec.perturbation_specs):
        name = _PERTURBATIONS.get(each.name)
        if name is None:
            near = _NEAR.get(each.name, "")
            raise file.error(
                f"no perturbation gives the texts of {each.name}"
                f"{f' ({near})' if near else ''}. Take it out of the file",
                *(above, "perturbation_specs", number, "class_name"),
            )
        found.append(
            {
                "name": name,
                "options": each.args,
                "variants": spec.seeds_per_instance,
            }
        )
    return found
