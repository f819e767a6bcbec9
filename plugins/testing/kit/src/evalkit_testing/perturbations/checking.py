"""Checks a perturbation against the laws."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from hypothesis import strategies as st

from evalkit.catalog import BoundTask, Registry, Resolver
from evalkit_testing.checking import MAX_EXAMPLES, Checks
from evalkit_testing.laws import (
    Law,
    LawBroken,
    LawError,
    MissingOption,
    chosen_laws,
    told_alone,
)
from evalkit_testing.perturbations.another_process import check_elsewhere
from evalkit_testing.perturbations.laws import (
    OTHER,
    PERTURBATION_LAWS,
    PROCESS,
    TRANSFORMS,
)
from evalkit_testing.perturbations.subjects import (
    Example,
    PerturbationSubject,
    Target,
    strengths_of,
)
from evalkit_testing.perturbations.trials import (
    PROTECTED,
    ExampleSource,
    PerturbationSample,
    PerturbationTrial,
    example_source,
    listed_samples,
    perturbation_samples,
)

FIELDS = ("text", "context")
"""The fields of an example that is of no task."""

ANSWER_FIELD = "label"
"""The field with the answer of an example that is of no task."""


_OF_COPIES = frozenset(law.name for law in PERTURBATION_LAWS) - {
    *("attributes", "inputs", "batch")
}
"""The laws that say something only where there is a copy."""


class PerturbationLawError(LawError):
    """A perturbation breaks a law; `law` is its name, one of `PERTURBATION_LAWS`."""


@told_alone
def check_perturbation(
    perturbation: Any,
    *,
    task: Any = None,
    parameters: Mapping[str, Any] | None = None,
    examples: st.SearchStrategy[Example] | Sequence[Example] | None = None,
    fields: Sequence[str] | None = None,
    answer_field: str | None = None,
    max_examples: int = MAX_EXAMPLES,
    laws: Collection[str] | None = None,
    registry: Registry | None = None,
) -> None:
    """Check that a perturbation keeps the laws of `evalkit_testing.PERTURBATION_LAWS`.

    Hypothesis draws examples with texts of all sorts, and shrinks those that break a
    law. The same examples are drawn each time. All is checked with the parameters as
    they are, and again at full strength: where there is a parameter `prob`, or one
    whose name ends in `_prob`, with 1.0, and where there is `preset`, with `hard`.

    Args:
        perturbation: Name of an installed perturbation (`keyboard-typos:prob=0.3`), or
            a class or instance.
        task: The task, by name or as an object. It says which fields are changed, where
            the answer is, and which labels there are.
        parameters: Its parameters, for a name or a class.
        examples: A list of examples (dicts with the fields that are changed, the
            answer, and what else the perturbation reads), each of which is tried beside
            those that are drawn; or a hypothesis strategy of such, which is drawn from
            instead.
        fields: Fields to change; by default the task's, and `text` and `context` where
            there is none.
        answer_field: The field that holds the answer; by default the task's, and
            `label` where there is none.
        max_examples: How many examples are drawn for each strength.
        laws: Names of the laws to check; all by default.
        registry: Where plugins are found; all that are installed by default.

    Raises:
        PerturbationLawError: It breaks a law, or changed no text that was drawn; the
            message has the law and the example. It is an AssertionError.
        EvalkitError: An argument is wrong.
        PluginError: The perturbation or the task is unknown or broken.
    """
    chosen = chosen_laws(PERTURBATION_LAWS, laws)
    resolver = Resolver(registry or Registry())
    bound = resolver.perturbation(perturbation, parameters)
    target = _target(resolver, task, fields, answer_field)
    source = example_source(examples, target)
    subjects = [
        PerturbationSubject(strength, target, resolver.registry)
        for strength in strengths_of(bound, resolver)
    ]
    for subject in subjects:
        _check_laws(chosen, subject, source, max_examples)
    _refuse_untested(chosen, subjects)
    for subject in subjects if PROCESS in chosen else ():
        _check_elsewhere(subject)


def _target(
    resolver: Resolver,
    task: Any,
    fields: Sequence[str] | None,
    answer_field: str | None,
) -> Target:
    if task is None:
        return Target(None, fields or FIELDS, answer_field or ANSWER_FIELD)
    bound = BoundTask.of(resolver.bind("tasks", task))
    wanted = fields or bound.perturb_fields
    if not wanted:
        raise MissingOption(
            f"the task {bound.component.name} does not say which fields a perturbation "
            "changes; give check_perturbation fields=…"
        )
    return Target(bound, wanted, answer_field or bound.answer_field)


def _check_laws(
    laws: Sequence[Law[PerturbationTrial]],
    subject: PerturbationSubject,
    source: ExampleSource,
    max_examples: int,
) -> None:
    def drawn(
        law: Law[PerturbationTrial] | None,
    ) -> st.SearchStrategy[PerturbationSample]:
        return perturbation_samples(source.drawn, law is None or OTHER in law.draws)

    make = partial(PerturbationTrial, subject)
    checks = Checks(laws, make, drawn, PerturbationLawError, max_examples)
    checks.run(listed_samples(source.listed))


def _check_elsewhere(subject: PerturbationSubject) -> None:
    try:
        check_elsewhere(subject.made)
    except LawBroken as error:
        text = "\n".join(PROCESS.told(subject.origin, str(error)))
        raise PerturbationLawError(text, PROCESS.name) from None


def _refuse_untested(
    laws: Sequence[Law[PerturbationTrial]], subjects: Sequence[PerturbationSubject]
) -> None:
    """Refuse what says nothing: no copy at all, or no answer that should change."""
    subject = subjects[-1]
    copies = sum(each.copies_seen for each in subjects)
    fields = ", ".join(subject.target.fields)
    if not copies and any(law.name in _OF_COPIES for law in laws):
        raise PerturbationLawError(
            f"{subject.origin}: it changed no example that was drawn, so no law was "
            f"tested; {_of_protection(subject)}give examples=… in which it changes "
            f"{fields}"
            + ("" if subject.target.task_name else ", or the task=… that it is for"),
            laws[0].name,
            is_untested=True,
        )
    claims = subject.effect == "transforms" and subject.target.answer_field is not None
    changed = sum(each.answers_changed for each in subjects)
    if claims and TRANSFORMS in laws and not changed:
        raise PerturbationLawError(
            f"{subject.origin} breaks the law {TRANSFORMS.name!r}: "
            f"{TRANSFORMS.statement}\n"
            f"  found: label_effect is 'transforms', but in none of {copies} copies "
            f"the answer (field {subject.target.answer_field!r}) is another one; if it "
            "does change some answers, give examples=… with one that it changes",
            TRANSFORMS.name,
        )


def _of_protection(subject: PerturbationSubject) -> str:
    """Return that it would change what is protected, where that is so."""
    if not subject.changes_unprotected(" 7, ".join(PROTECTED)):
        return ""
    return (
        "it would change numbers, addresses and the like, which are protected unless "
        "it says protects = False; or "
    )
