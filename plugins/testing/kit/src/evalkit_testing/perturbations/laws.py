"""The laws that every perturbation keeps."""

from __future__ import annotations

from evalkit_testing.laws import Law
from evalkit_testing.perturbations.answer_laws import (
    check_attributes,
    check_expectation,
    check_invariant,
    check_tags,
    count_answers,
)
from evalkit_testing.perturbations.state_laws import (
    check_batch,
    check_identity,
    check_randomness,
    check_repeatable,
    check_stateless,
    keep_copies,
)
from evalkit_testing.perturbations.text_laws import (
    check_edits,
    check_inputs,
    check_protected,
    check_works,
)
from evalkit_testing.perturbations.trials import PerturbationTrial

OTHER = "other"
"""What a law draws that looks at a second example."""

TRANSFORMS: Law[PerturbationTrial] = Law(
    "transforms", "where the answer is said to change, some answers do", count_answers
)
"""The one law that is about all examples together."""

PROCESS: Law[PerturbationTrial] = Law(
    "process",
    "another process makes the same copies",
    keep_copies,
    mend="sort what comes from a set, and hash with hashlib, not with hash().",
)
"""Told for all examples together, as a process takes its time."""

PERTURBATION_LAWS: tuple[Law[PerturbationTrial], ...] = (
    Law(
        "attributes",
        "families, version and label_effect can be used",
        check_attributes,
        mend="write it as the message says.",
    ),
    Law(
        "works",
        "any text gives a text, and nothing is raised",
        check_works,
        mend="return a text for any text, as it is where nothing is to be changed.",
    ),
    Law("inputs", "what a hook is given is not changed", check_inputs),
    Law(
        "randomness",
        "all that is random comes from rng",
        check_randomness,
        mend="take the argument `rng`, and draw from it.",
    ),
    Law(
        "repeatable",
        "the same seed, uid and variant give the same",
        check_repeatable,
        mend="draw from `rng` alone.",
    ),
    Law("stateless", "other examples change nothing", check_stateless, (OTHER,)),
    Law("batch", "other texts of a batch change nothing", check_batch, (OTHER,)),
    Law("edits", "outside of its edits a copy is its original", check_edits),
    Law(
        "protected",
        "numbers, addresses, code, mark-up and placeholders stay",
        check_protected,
        mend="leave those parts of a text alone.",
    ),
    Law("invariant", "where the answer is said to stay, it stays", check_invariant),
    TRANSFORMS,
    Law("tags", "the tags of a copy are texts", check_tags),
    Law(
        "expectation",
        "expect gives one of its three words",
        check_expectation,
        mend="return 'pass', 'fail' or 'not applicable'.",
    ),
    Law("identity", "by its copies' name it makes the same copies", check_identity),
    PROCESS,
)
"""All laws, in the order in which they are told when several are broken."""
