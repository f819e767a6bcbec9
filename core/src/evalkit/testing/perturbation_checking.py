"""Checks a perturbation against the laws."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from evalkit.base.failures import described, hook_failures
from evalkit.errors import EvalkitError
from evalkit.plugins.bound import BoundTask
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.testing.drawn_runs import run_drawn
from evalkit.testing.perturbation_drawing import (
    ExampleSource,
    PerturbationSample,
    example_source,
    listed_samples,
    perturbation_samples,
)
from evalkit.testing.perturbation_laws import (
    PERTURBATION_LAWS,
    TRANSFORMS,
    PerturbationLaw,
)
from evalkit.testing.perturbation_subjects import (
    Example,
    PerturbationSubject,
    Target,
    strengths_of,
)
from evalkit.testing.perturbation_trials import PerturbationTrial
from evalkit.testing.trials import LawBroken

MAX_EXAMPLES = 25
"""Examples that are drawn for each strength, by default."""

MOST_SHRINKS = 300
"""Smaller examples that are tried once a law is found to be broken."""

FIELDS = ("text", "context")
"""The fields of an example that is of no task."""

ANSWER_FIELD = "label"
"""The field with the answer of an example that is of no task."""


_OF_COPIES = frozenset(law.name for law in PERTURBATION_LAWS) - {"attributes", "inputs"}
"""The laws that say something only where there is a copy."""


class PerturbationLawError(AssertionError):
    """A perturbation breaks a law.

    Attributes:
        law: Name of the law, one of `PERTURBATION_LAWS`.
    """

    def __init__(self, message: str, law: str) -> None:
        super().__init__(message)
        self.law = law


class _Enough(BaseException):
    """Ends shrinking; no Exception, which hypothesis would take for a failure."""


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
    """Check that a perturbation keeps the laws of `evalkit.testing.PERTURBATION_LAWS`.

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
    chosen = _chosen_laws(laws)
    resolver = Resolver(registry or Registry())
    bound = resolver.perturbation(perturbation, parameters)
    target = _target(resolver, task, fields, answer_field)
    source = example_source(examples, target)
    subjects = [
        PerturbationSubject(strength, target, resolver.registry)
        for strength in strengths_of(bound)
    ]
    for subject in subjects:
        _check_laws(chosen, subject, source, max_examples)
    _refuse_untested(chosen, subjects)


def _chosen_laws(names: Collection[str] | None) -> list[PerturbationLaw]:
    known = [law.name for law in PERTURBATION_LAWS]
    wanted = known if names is None else list(names)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise EvalkitError(
            f"laws: {unknown[0]!r} is no law; there are {', '.join(known)}"
        )
    return [law for law in PERTURBATION_LAWS if law.name in wanted]


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
        raise EvalkitError(
            f"the task {bound.component.name} does not say which fields a perturbation "
            "changes; give check_perturbation fields=…"
        )
    return Target(bound, wanted, answer_field or bound.answer_field)


def _check_laws(
    laws: Sequence[PerturbationLaw],
    subject: PerturbationSubject,
    source: ExampleSource,
    max_examples: int,
) -> None:
    """Check all laws with the same examples, and then the first that is broken alone.

    So that every example is drawn and perturbed once, and shrinking never ends at one
    that breaks another law.
    """
    broken: dict[str, tuple[PerturbationLawError, PerturbationSample]] = {}

    def collect(sample: PerturbationSample) -> None:
        trial = PerturbationTrial(subject, sample)
        for law in laws:
            if law.name not in broken:
                found = _broken_by(law, trial)
                if found is not None:
                    broken[law.name] = found, sample

    for sample in listed_samples(source.listed):
        collect(sample)
    drawn = perturbation_samples(source.drawn)
    run_drawn(collect, drawn, max_examples, shrinks=False)
    for law in laws:
        if law.name in broken:
            drawn = perturbation_samples(source.drawn, law.needs_other)
            shrunk = _shrunk(law, subject, drawn, max(max_examples, MAX_EXAMPLES))
            raise shrunk or _repeated(law, subject, *broken[law.name])


def _refuse_untested(
    laws: Sequence[PerturbationLaw], subjects: Sequence[PerturbationSubject]
) -> None:
    """Refuse what says nothing: no copy at all, or no answer that should change."""
    subject = subjects[-1]
    copies = sum(each.copies_seen for each in subjects)
    if not copies and any(law.name in _OF_COPIES for law in laws):
        raise PerturbationLawError(
            f"{subject.origin}: it changed no example that was drawn, so no law was "
            f"tested; give examples=… in which it changes {_fields(subject)}"
            + ("" if subject.target.task_name else ", or the task=… that it is for"),
            laws[0].name,
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


def _broken_by(
    law: PerturbationLaw, trial: PerturbationTrial
) -> PerturbationLawError | None:
    try:
        law.check(trial)
    except LawBroken as error:
        return _law_error(law, trial, str(error))
    except hook_failures() as error:
        found = _law_error(law, trial, f"it failed: {described(error)}")
        found.__cause__ = error
        return found
    return None


def _shrunk(
    law: PerturbationLaw,
    subject: PerturbationSubject,
    drawn: st.SearchStrategy[PerturbationSample],
    max_examples: int,
) -> PerturbationLawError | None:
    """Give the error for the smallest example found that breaks a law, if any does."""
    known: dict[str, PerturbationLawError | None] = {}
    smallest: list[PerturbationSample] = []
    tries = 0

    def check(sample: PerturbationSample) -> None:
        nonlocal tries
        key = repr(sample)
        tries += bool(smallest)
        if tries > MOST_SHRINKS:
            raise _Enough
        if key not in known:
            known[key] = _broken_by(law, PerturbationTrial(subject, sample))
        if known[key] is not None:
            smallest[:] = [sample]
            raise PerturbationLawError(str(known[key]), law.name)

    with suppress(PerturbationLawError, _Enough):
        run_drawn(check, drawn, max_examples, shrinks=True)
    if not smallest:
        return None
    found = known[repr(smallest[0])]
    return None if found is None else _repeated(law, subject, found, smallest[0])


def _repeated(
    law: PerturbationLaw,
    subject: PerturbationSubject,
    found: PerturbationLawError,
    sample: PerturbationSample,
) -> PerturbationLawError:
    """Give what an example breaks when it is tried again, or else what it broke."""
    again = _broken_by(law, PerturbationTrial(subject, sample))
    if again is not None:
        return again
    text = f"{found}\n  It is not so each time that this example is perturbed."
    return PerturbationLawError(text, found.law)


def _law_error(
    law: PerturbationLaw, trial: PerturbationTrial, found: str
) -> PerturbationLawError:
    subject = trial.subject
    task = subject.target.task_name
    lines = [
        f"{subject.origin} breaks the law {law.name!r}: {law.statement}",
        f"  found: {found}",
        f"  task: {task or 'none'}, fields: {_fields(subject)}, seed: {trial.seed}",
        f"  example: {dict(trial.example)!r}",
    ]
    return PerturbationLawError("\n".join(lines), law.name)


def _fields(subject: PerturbationSubject) -> str:
    return ", ".join(subject.target.fields)
