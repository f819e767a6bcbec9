"""Says of a perturbation that changed nothing that protection is why."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalkit import EvalkitError
from evalkit.reporting import count_of

if TYPE_CHECKING:
    from evalkit_commands_perturb import PerturbationSummary

MOST_TRIED = 20
"""Examples that are tried without protection."""


def with_protection_told(
    summary: PerturbationSummary, dataset: str, options: Mapping[str, Any]
) -> PerturbationSummary:
    """Add a notice for each perturbation of which protection left no change.

    The first examples are perturbed once more, and the copies are thrown away.
    """
    from evalkit_commands_perturb import PROTECTED_KINDS

    idle = [
        place for place, each in enumerate(summary.perturbations) if not each.copies
    ]
    unprotected = options["unprotected"]
    protected = [kind for kind in PROTECTED_KINDS if kind not in unprotected]
    if not idle or not protected:
        return summary
    limit = min(options.get("limit") or MOST_TRIED, MOST_TRIED)
    quiet = {"limit": limit, "jobs": 1, "observers": (), "edits": False, "engine": None}
    options = {**options, **quiet}
    del options["unprotected"], options["progress"]
    try:
        examples, changed = _changed(dataset, (*unprotected, *protected), options)
        idle = [place for place in idle if changed[place]]
        kinds = {
            kind: _changed(dataset, (*unprotected, kind), options)[1]
            for kind in (protected if idle else ())
        }
    except EvalkitError:
        # what is protected was not made to be changed; the copies are written already
        return summary
    notices = []
    for place in idle:
        alone = [kind for kind in protected if kinds[kind][place]] or protected
        notices.append(
            f"{summary.perturbations[place].perturbation}: all that it would change is "
            f"protected; --unprotected {','.join(alone)} lets it change "
            f"{changed[place]} of the first "
            f"{count_of(examples, 'example')}, and so does "
            "protects = False in the perturbation"
        )
    return summary._replace(notices=(*summary.notices, *notices))


def _changed(
    dataset: str, unprotected: Sequence[str], options: Mapping[str, Any]
) -> tuple[int, list[int]]:
    """Return how many examples were tried, and how many each perturbation changed."""
    from evalkit_commands_perturb import perturb_dataset

    kinds: Any = unprotected
    tried = perturb_dataset(dataset, io.StringIO(), unprotected=kinds, **options)
    return tried.examples, [each.changed for each in tried.perturbations]
