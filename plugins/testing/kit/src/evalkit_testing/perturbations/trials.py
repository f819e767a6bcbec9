"""One check of a law of perturbations: the perturbation, and what was drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import cycle
from typing import Any, NamedTuple

from hypothesis import strategies as st

from evalkit import EvalkitError
from evalkit.catalog import described, hook_failures
from evalkit_commands_perturb import read_path
from evalkit_testing import checking
from evalkit_testing.checking import given_examples
from evalkit_testing.perturbations.subjects import (
    Example,
    PerturbationSubject,
    Target,
    texts_by_name,
)

UID = "uid"
TAGS = "tags"

_ENGLISH = """
she he her him his hers herself himself Mr Mrs woman men girls father queen Anna John
Mary May Mark Will the The a an and of people because different received government
colour color center big small is isn't can't won’t I'm it's don't do not cannot It
You're like think maybe apple car red LOUD naïve Straße
"""
_WORDS = tuple(_ENGLISH.split())

PROTECTED = (
    *("3.5%", "10:30", "16th", "$4", "2,000", "https://example.org/Is?a=1#b"),
    *("www.example.com", "anna@example.org", "`is_a`", "<b>", "</b>", "&amp;"),
    *("{name}", "[MASK]", "%s", "$name", "@user", "\\textbf", "U.S.", "e.g."),
)
"""Pieces that are protected, and two that only look like the end of a sentence."""

_STRANGE = (
    *("\ud800", "\udfff", "\x00", "e\u0301", "\u0301", "\u200d", "\u200b", "\ufeff"),
    *("\U0001f469\u200d\U0001f467", "\U0001f1fa\U0001f1f8", "שלום", "مرحبا", "\u202e"),
    *("日本", "İ", "ß", "ﬁ", "ǅ", "ΟΔΟΣ", "'", "’", '"', "´", "-", "—", "...", "_"),
    *("a" * 500, "\U0001d552", "\x85", "\u2028"),
)
_GAPS = (
    *(" ", " ", " ", " ", "  ", "\n", "\t", "\u00a0", ", ", ". ", "? ", "", "-", "'s "),
)
_TAGS = ("easy", "target:women", "target:men", "topic:x", "")
_LEAST_PIECES = (1, 6, 18)
_MOST_PIECES = 24

_pieces = (
    st.sampled_from(_WORDS)
    | st.sampled_from(_WORDS)
    | st.sampled_from(PROTECTED)
    | st.sampled_from(_STRANGE)
)
_joined = (
    st.sampled_from(_LEAST_PIECES)
    .flatmap(
        lambda least: st.lists(
            st.tuples(_pieces, st.sampled_from(_GAPS)),
            min_size=least,
            max_size=_MOST_PIECES,
        )
    )
    .map(lambda drawn: "".join(piece + gap for piece, gap in drawn))
)
_any_text = st.text(st.characters(), max_size=20)

texts: st.SearchStrategy[str] = _joined | _joined | _any_text
"""Texts of all sorts, also empty ones."""


class PerturbationSample(NamedTuple):
    """What one check of a law is made with."""

    example: Example
    other: Example
    """Another example that is perturbed before or after it."""
    seed: int


def perturbation_samples(
    examples: st.SearchStrategy[Example], needs_other: bool = True
) -> st.SearchStrategy[PerturbationSample]:
    """Draw what one check of a law needs."""
    if not needs_other:
        return st.tuples(examples, st.integers(0, 3)).map(
            lambda drawn: _sample((drawn[0], drawn[0], drawn[1]))
        )
    return st.tuples(examples, examples, st.integers(0, 3)).map(_sample)


def _sample(drawn: tuple[Example, Example, int]) -> PerturbationSample:
    first, other, seed = drawn
    return PerturbationSample(
        {UID: "1", **first}, {UID: "2", **other, **_other_id(first, other)}, seed
    )


def listed_samples(examples: Sequence[Example]) -> list[PerturbationSample]:
    """Return one check with each of an author's examples, and the one before it."""
    return [
        _sample((example, examples[place - 1], place))
        for place, example in enumerate(examples)
    ]


def _other_id(first: Example, other: Example) -> dict[str, str]:
    own = other.get(UID, "2")
    return {UID: f"{own}_2"} if first.get(UID, "1") == own else {}


def drawn_examples(target: Target) -> st.SearchStrategy[Example]:
    """Draw examples with texts in all fields that are changed."""
    several = st.lists(texts, min_size=1, max_size=3)
    fields = {name: several if "[]" in name else texts for name in target.fields}
    tags = st.lists(st.sampled_from(_TAGS), max_size=2, unique=True)
    drawn = st.fixed_dictionaries({**fields, TAGS: tags}).map(
        lambda flat: _nested(target, flat)
    )
    if target.answer_field is None:
        return drawn
    if target.labels is not None:
        answers: st.SearchStrategy[Any] = st.sampled_from(target.labels)
        return st.tuples(drawn, answers).map(
            lambda both: {**both[0], str(target.answer_field): both[1]}
        )
    # only a task says that several answers may be acceptable
    in_list = st.just(False) if target.task is None else st.booleans()
    return st.tuples(drawn, st.integers(0, 9), in_list).map(
        lambda three: _with_answer(target, *three)
    )


def _nested(target: Target, drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Put texts where their paths lead to, within the task's own example."""
    paths = [path for path in map(read_path, target.fields) if path.steps]
    inner = {path.name for path in paths}
    made: Any = {name: value for name, value in drawn.items() if name not in inner}
    known = {} if target.task is None else target.task.example
    made |= {path.outer: known[path.outer] for path in paths if path.outer in known}
    for path in paths:
        found = drawn[path.name]
        made = _put(
            made, path.steps, cycle([found] if isinstance(found, str) else found)
        )
    return dict(made)


def _put(value: Any, steps: Sequence[str], drawn: Iterator[str]) -> Any:
    """Put texts where a path leads to; one at least."""
    if not steps:
        return next(drawn)
    first, *others = steps
    if first == "[]":
        items = value if isinstance(value, list | tuple) and value else [None]
        return [_put(item, others, drawn) for item in items]
    known = value if isinstance(value, Mapping) else {}
    return {**known, first: _put(known.get(first), others, drawn)}


def _with_answer(
    target: Target, drawn: Mapping[str, Any], number: int, in_list: bool
) -> Example:
    named = texts_by_name(drawn, target.fields)
    words = " ".join(named.values()).split() or ["nothing"]
    word = words[number % len(words)]
    return {**drawn, str(target.answer_field): [word, "yes"] if in_list else word}


class ExampleSource(NamedTuple):
    """Where examples come from."""

    listed: Sequence[Example]
    """Examples that are each tried."""
    drawn: st.SearchStrategy[Example]
    """Draws others."""


def example_source(examples: Any, target: Target) -> ExampleSource:
    """Say where examples come from."""
    if examples is None:
        return ExampleSource((), drawn_examples(target))
    found = given_examples(examples, "dicts with the fields of an example", _checked)
    if isinstance(found, list):
        return ExampleSource(found, drawn_examples(target))
    return ExampleSource((), found)


def _checked(example: Any) -> Example:
    if not isinstance(example, Mapping):
        raise EvalkitError(
            f"an example must be a dict with the fields of an example, is {example!r}"
        )
    uid = example.get(UID, "1")
    if not isinstance(uid, str) or not uid:
        raise EvalkitError(f"the uid of an example must be a text, is {uid!r}")
    return example


class PerturbationTrial(checking.Trial):
    """A perturbation and what was drawn for it, with what several laws look at.

    Args:
        subject: The perturbation.
        sample: What was drawn.

    Attributes:
        subject: The same.
        sample: The same.
        example: The example that was drawn.
        seed: The seed that was drawn.
    """

    def __init__(
        self, subject: PerturbationSubject, sample: PerturbationSample
    ) -> None:
        self.subject = subject
        self.sample = sample
        self.example = sample.example
        self.seed = sample.seed

    @property
    def origin(self) -> str:
        """The perturbation's name with its parameters and its distribution."""
        return self.subject.origin

    def again(self) -> PerturbationTrial:
        """Return the same trial, of which nothing is made yet."""
        return PerturbationTrial(self.subject, self.sample)

    def shown(self) -> list[str]:
        """Return the task, the fields, the seed, and the example."""
        target = self.subject.target
        fields = ", ".join(target.fields)
        return [
            f"  task: {target.task_name or 'none'}, fields: {fields}, "
            f"seed: {self.seed}",
            f"  example: {dict(self.example)!r}",
        ]

    def failures(self) -> tuple[type[BaseException], ...]:
        """Return everything but an interrupt, as hooks are called directly."""
        return hook_failures()

    def failure(self, error: BaseException) -> str:
        """Return the type and the text of what was raised."""
        return described(error)

    @cached_property
    def copies(self) -> list[dict[str, Any]]:
        """The copies of the example, with their edits."""
        copies = self.subject.fresh().copies(self.example, self.seed)
        self.subject.copies_seen += len(copies)
        return copies
