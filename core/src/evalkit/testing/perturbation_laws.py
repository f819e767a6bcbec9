"""The laws that every perturbation keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from evalkit.testing.perturbation_answer_laws import (
    check_attributes,
    check_expectation,
    check_invariant,
    check_tags,
    count_answers,
)
from evalkit.testing.perturbation_state_laws import (
    check_identity,
    check_randomness,
    check_repeatable,
    check_stateless,
)
from evalkit.testing.perturbation_text_laws import (
    check_edits,
    check_inputs,
    check_protected,
    check_works,
)
from evalkit.testing.perturbation_trials import PerturbationTrial


class PerturbationLaw(NamedTuple):
    """Something that holds for every perturbation, whatever the texts."""

    name: str
    statement: str
    """What holds, as a sentence."""
    check: Callable[[PerturbationTrial], None]
    """Raises `LawBroken` where it does not hold."""
    needs_other: bool = False
    """Whether it looks at a second example."""


TRANSFORMS = PerturbationLaw(
    "transforms", "where the answer is said to change, some answers do", count_answers
)
"""The one law that is about all examples together."""

PERTURBATION_LAWS: tuple[PerturbationLaw, ...] = (
    PerturbationLaw(
        "attributes", "families, version and label_effect can be used", check_attributes
    ),
    PerturbationLaw(
        "works", "any text gives a text, and nothing is raised", check_works
    ),
    PerturbationLaw("inputs", "what a hook is given is not changed", check_inputs),
    PerturbationLaw(
        "randomness", "all that is random comes from rng", check_randomness
    ),
    PerturbationLaw(
        "repeatable", "the same seed, uid and variant give the same", check_repeatable
    ),
    PerturbationLaw(
        "stateless", "other examples change nothing", check_stateless, needs_other=True
    ),
    PerturbationLaw(
        "edits", "outside of its edits a copy is its original", check_edits
    ),
    PerturbationLaw(
        "protected",
        "numbers, addresses, code, mark-up and placeholders stay",
        check_protected,
    ),
    PerturbationLaw(
        "invariant", "where the answer is said to stay, it stays", check_invariant
    ),
    TRANSFORMS,
    PerturbationLaw("tags", "the tags of a copy are texts", check_tags),
    PerturbationLaw(
        "expectation", "expect gives one of its three words", check_expectation
    ),
    PerturbationLaw(
        "identity", "by its copies' name it makes the same copies", check_identity
    ),
)
"""All laws, in the order in which they are told when several are broken."""
