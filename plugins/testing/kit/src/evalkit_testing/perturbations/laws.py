"""The laws that every perturbation keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from evalkit.catalog import is_component_name
from evalkit_commands_perturb import PROTECTED_KINDS, protected_spans
from evalkit_testing.laws import Law, LawBroken, global_seed, refuse
from evalkit_testing.perturbations.another_process import MOST, Made, shown_copies
from evalkit_testing.perturbations.subjects import texts_by_name
from evalkit_testing.perturbations.trials import TAGS, UID, PerturbationTrial

OUTCOMES = ("pass", "fail", "not applicable")
"""What `expect` may return."""


def _check_attributes(trial: PerturbationTrial) -> None:
    attributes = trial.subject.attributes
    for family in attributes["families"]:
        if not is_component_name(family):
            raise LawBroken(
                f"families: {family!r} is no name that --family could ask for; use "
                "small letters, digits and dashes"
            )
    if not attributes["version"].strip():
        raise LawBroken("version is empty")
    effects = attributes["label_effect"]
    if not effects:
        raise LawBroken(
            "label_effect is empty; say at least what holds for all tasks, as in "
            "{'*': 'uncertain'}"
        )
    for task in effects:
        if task != "*" and not is_component_name(task):
            raise LawBroken(f"label_effect: {task!r} is no name of a task, and not '*'")


def _check_invariant(trial: PerturbationTrial) -> None:
    assert isinstance(trial.copies, list)


def _count_answers(trial: PerturbationTrial) -> None:
    """Count the copies with another answer; what they show is seen in the end."""
    field = trial.subject.target.answer_field
    if field is not None:
        before = trial.example.get(field)
        trial.subject.answers_changed += sum(
            made.get(field) != before for made in trial.copies
        )


def _check_tags(trial: PerturbationTrial) -> None:
    if not trial.subject.has("change_tags"):
        return
    for made in trial.copies:
        arguments = {
            "tags": list(trial.example.get(TAGS) or ()),
            "original": dict(trial.example),
            "perturbed": made,
            "task": trial.subject.target.task_name,
        }
        found = trial.subject.fresh().call("change_tags", arguments)
        is_list = isinstance(found, list | tuple)
        if not is_list or not all(isinstance(tag, str) for tag in found):
            raise LawBroken(f"change_tags must give a list of texts, gave {found!r}")


def _check_expectation(trial: PerturbationTrial) -> None:
    if not trial.subject.has("expect"):
        return
    for made in trial.copies:
        for before, after in _predictions(trial, made):
            arguments = {
                "original": dict(trial.example),
                "perturbed": made,
                "original_pred": before,
                "perturbed_pred": after,
            }
            found = trial.subject.fresh().call("expect", arguments)
            if found not in OUTCOMES:
                raise LawBroken(
                    f"expect must give one of {', '.join(map(repr, OUTCOMES))}, gave "
                    f"{found!r} for the predictions {before!r} and {after!r}"
                )


def _predictions(
    trial: PerturbationTrial, made: Mapping[str, Any]
) -> list[tuple[Any, Any]]:
    """Return pairs of predictions: right, wrong and missing ones."""
    target = trial.subject.target
    known: list[Any] = ["a", *(target.labels or ()), None]
    if target.answer_field is not None:
        for row in (trial.example, made):
            answer = row.get(target.answer_field)
            known += answer if isinstance(answer, list | tuple) else [answer]
    return [(before, after) for before in known for after in known]


_VARIANTS = 3


_Copies = Sequence[Mapping[str, Any]]


def _difference(first: _Copies, second: _Copies) -> str | None:
    if list(first) == list(second):
        return None
    return f"the copies are {shown_copies(first)}, and {shown_copies(second)}"


def _check_repeatable(trial: PerturbationTrial) -> None:
    instance = trial.subject.fresh()
    for where in ("of another instance", "when they are made again"):
        again = instance.copies(trial.example, trial.seed)
        refuse(_difference(trial.copies, again), where)
    more = trial.subject.fresh().copies(trial.example, trial.seed, _VARIANTS)
    first = trial.copies[:1]
    refuse(_difference(first, more[: len(first)]), "as the first of several")


def _check_stateless(trial: PerturbationTrial) -> None:
    instance = trial.subject.fresh()
    instance.copies(trial.sample.other, trial.seed)
    after = instance.copies(trial.example, trial.seed)
    where = f"after those of the example {dict(trial.sample.other)!r}"
    refuse(_difference(trial.copies, after), where)


def _check_batch(trial: PerturbationTrial) -> None:
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


def _check_randomness(trial: PerturbationTrial) -> None:
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


def _check_identity(trial: PerturbationTrial) -> None:
    if not trial.subject.is_installed:
        return
    for made in trial.copies[:1]:
        name = made["perturbation"]
        again = trial.subject.copies_by_name(name, trial.example, trial.seed)
        refuse(_difference(trial.copies, again), f"by the name {name!r}")


def _keep_copies(trial: PerturbationTrial) -> None:
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


_OF_CORE = (UID, TAGS, "input_id", "perturbation", "edits")
"""Fields of a copy that are no texts of its author."""


def _check_works(trial: PerturbationTrial) -> None:
    for made in trial.copies:
        for field in trial.subject.target.fields:
            before, after = trial.example.get(field), made.get(field)
            for kind in (str, (list, tuple)):
                if isinstance(before, kind) and not isinstance(after, kind):
                    raise LawBroken(f"the field {field!r} became {after!r}")


def _check_inputs(trial: PerturbationTrial) -> None:
    subject = trial.subject
    instance = subject.fresh()
    arguments = instance.arguments(trial.example, trial.seed)
    if not arguments["texts"]:
        return
    instance.call(subject.hook, arguments)


class _Text(NamedTuple):
    """A text of a copy, and what is said of it."""

    name: str
    before: str
    after: str
    edits: list[tuple[int, int, str]]


def _texts(trial: PerturbationTrial, made: Mapping[str, Any]) -> Iterator[_Text]:
    """Return the texts of a copy whose edits are told, also those without any."""
    own = [name for name in trial.example if name not in _OF_CORE]
    fields = dict.fromkeys([*own, *trial.subject.target.fields])
    # perturb_example sets lists as a whole, of which edits are not told
    lists = trial.subject.hook != "perturb_example"
    after = texts_by_name(made, fields, lists)
    for name, before in texts_by_name(trial.example, fields, lists).items():
        if name in after:
            edits = [
                (start, end, new) for start, end, new in made["edits"].get(name, ())
            ]
            yield _Text(name, before, after[name], edits)


def _check_edits(trial: PerturbationTrial) -> None:
    for made in trial.copies:
        for text in _texts(trial, made):
            built = _rebuilt(text)
            if built != text.after:
                raise LawBroken(
                    f"the field {text.name} became {text.after!r}, but its edits "
                    f"{text.edits} give {built!r}"
                )


def _rebuilt(text: _Text) -> str:
    """Make a text of the original's pieces and the new ones, from the end."""
    built = text.before
    following = len(built)
    for start, end, new in reversed(text.edits):
        if not 0 <= start <= end <= following:
            raise LawBroken(
                f"the edits {text.edits} of the field {text.name} overlap, are not in "
                f"order, or are outside of its {len(text.before)} characters"
            )
        built = built[:start] + new + built[end:]
        following = start
    return built


def _check_protected(trial: PerturbationTrial) -> None:
    if not trial.subject.attributes["protects"]:
        return
    for made in trial.copies:
        for text in _texts(trial, made):
            if not text.edits:
                continue
            spans = protected_spans(text.before, frozenset(PROTECTED_KINDS))
            for start, end in spans:
                _refuse_edits_of(text, start, end)


def _refuse_edits_of(text: _Text, start: int, end: int) -> None:
    for first, last, new in text.edits:
        if first < end and last > start:
            raise LawBroken(
                f"{text.before[start:end]!r} in the field {text.name} is protected, "
                f"and {text.before[first:last]!r} became {new!r}; leave it alone, or "
                "set protects = False"
            )


OTHER = "other"
"""What a law draws that looks at a second example."""

TRANSFORMS: Law[PerturbationTrial] = Law(
    "transforms", "where the answer is said to change, some answers do", _count_answers
)
"""The one law that is about all examples together."""

PROCESS: Law[PerturbationTrial] = Law(
    "process",
    "another process makes the same copies",
    _keep_copies,
    mend="sort what comes from a set, and hash with hashlib, not with hash().",
)
"""Told for all examples together, as a process takes its time."""

PERTURBATION_LAWS: tuple[Law[PerturbationTrial], ...] = (
    Law(
        "attributes",
        "families, version and label_effect can be used",
        _check_attributes,
        mend="write it as the message says.",
    ),
    Law(
        "works",
        "any text gives a text, and nothing is raised",
        _check_works,
        mend="return a text for any text, as it is where nothing is to be changed.",
    ),
    Law("inputs", "what a hook is given is not changed", _check_inputs),
    Law(
        "randomness",
        "all that is random comes from rng",
        _check_randomness,
        mend="take the argument `rng`, and draw from it.",
    ),
    Law(
        "repeatable",
        "the same seed, uid and variant give the same",
        _check_repeatable,
        mend="draw from `rng` alone.",
    ),
    Law("stateless", "other examples change nothing", _check_stateless, (OTHER,)),
    Law("batch", "other texts of a batch change nothing", _check_batch, (OTHER,)),
    Law("edits", "outside of its edits a copy is its original", _check_edits),
    Law(
        "protected",
        "numbers, addresses, code, mark-up and placeholders stay",
        _check_protected,
        mend="leave those parts of a text alone.",
    ),
    Law("invariant", "where the answer is said to stay, it stays", _check_invariant),
    TRANSFORMS,
    Law("tags", "the tags of a copy are texts", _check_tags),
    Law(
        "expectation",
        "expect gives one of its three words",
        _check_expectation,
        mend="return 'pass', 'fail' or 'not applicable'.",
    ),
    Law("identity", "by its copies' name it makes the same copies", _check_identity),
    PROCESS,
)
"""All laws, in the order in which they are told when several are broken."""
