"""Laws of what the copies of an example depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from evalkit_testing.global_random import global_seed
from evalkit_testing.laws import LawBroken, refuse
from evalkit_testing.perturbations.another_process import MOST, Made, shown_copies
from evalkit_testing.perturbations.trials import PerturbationTrial

_VARIANTS = 3


_Copies = Sequence[Mapping[str, Any]]


def _difference(first: _Copies, second: _Copies) -> str | None:
    if list(first) == list(second):
        return None
    return f"the copies are {shown_copies(first)}, and {shown_copies(second)}"


def check_repeatable(trial: PerturbationTrial) -> None:
    """The same seed, uid and variant give the same copy."""
    instance = trial.subject.fresh()
    for where in ("of another instance", "when they are made again"):
        again = instance.copies(trial.example, trial.seed)
        refuse(_difference(trial.copies, again), where)
    more = trial.subject.fresh().copies(trial.example, trial.seed, _VARIANTS)
    first = trial.copies[:1]
    refuse(_difference(first, more[: len(first)]), "as the first of several")


def check_stateless(trial: PerturbationTrial) -> None:
    """Other examples that are perturbed before change nothing."""
    instance = trial.subject.fresh()
    instance.copies(trial.sample.other, trial.seed)
    after = instance.copies(trial.example, trial.seed)
    where = f"after those of the example {dict(trial.sample.other)!r}"
    refuse(_difference(trial.copies, after), where)


def check_batch(trial: PerturbationTrial) -> None:
    """What becomes of a text depends on it and its generator, and not on the others."""
    if trial.subject.hook != "perturb_batch":
        return
    examples = (trial.example, trial.sample.other)
    named = [trial.subject.fresh().arguments(each, trial.seed) for each in examples]
    texts = [text for arguments in named for text in arguments["texts"]]

    def made(places: Sequence[int]) -> dict[int, Any]:
        arguments = {
            **named[0],
            "texts": [texts[place] for place in places],
            "rngs": [Random(f"{trial.seed} {place}") for place in places],
        }
        given = trial.subject.fresh().call("perturb_batch", arguments)
        return dict(zip(places, given, strict=True))

    together = made(range(len(texts))) if texts else {}
    backwards = made([*together][::-1]) if texts else {}
    for place, new in together.items():
        for other, where in ((made([place]), "alone"), (backwards, "in another order")):
            if other[place] != new:
                raise LawBroken(
                    f"{texts[place]!r} became {new!r} among {len(texts)} texts, and "
                    f"{other[place]!r} {where}"
                )


def check_randomness(trial: PerturbationTrial) -> None:
    """All that is random comes from rng."""
    found = []
    for seed in (1, 2):
        with global_seed(seed) as was_used:
            found.append(trial.subject.fresh().copies(trial.example, trial.seed))
            used = was_used()
        if used:
            raise LawBroken(f"it drew from {used}, which all programs share, not rng")
    where = "with another random.seed; it draws from something else than rng"
    refuse(_difference(found[0], found[1]), where)
    trial.subject.copies_seen += len(found[0])


def check_identity(trial: PerturbationTrial) -> None:
    """By the name that its copies hold, it makes the same copies."""
    if not trial.subject.is_installed:
        return
    for made in trial.copies[:1]:
        name = made["perturbation"]
        again = trial.subject.copies_by_name(name, trial.example, trial.seed)
        refuse(_difference(trial.copies, again), f"by the name {name!r}")


def keep_copies(trial: PerturbationTrial) -> None:
    """Keep some copies, for another process to make them again."""
    subject, target = trial.subject, trial.subject.target
    if not subject.is_installed or not target.is_installed or len(subject.made) >= MOST:
        return
    for copy in trial.copies[:1]:
        made = Made(
            dict(trial.example),
            copy["perturbation"],
            target.task_name or None,
            target.fields,
            target.answer_field,
            trial.seed,
            trial.copies,
        )
        if made.is_plain:
            subject.made.append(made)
