"""The three kinds of tests of CheckList (Ribeiro et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, ClassVar, Literal

from pydantic import BaseModel

from evalkit import DataError, Edit, Parameters, Perturbation
from evalkit_perturbations_text.text_perturbations import Effect
from evalkit_perturbations_text.typos import CharacterSwaps

INPUTS = "contrast_inputs"
ANSWERS = "contrast_answers"


class ContrastSetsParameters(Parameters):
    """Which of an example's contrasting inputs are taken."""

    copies: Literal["all", "one"] = "all"
    """All of them, a copy each, or one that is drawn, as in HELM."""


class ContrastSets(Perturbation):
    """Takes the contrasting inputs that experts wrote for an example.

    Nothing is generated. An example with contrasting inputs has two more columns of
    equal length: `contrast_inputs`, whose elements are objects of the fields that
    differ (or texts, where one field is perturbed), and `contrast_answers`. One without
    them has no copies.

    Gardner et al.: Evaluating Models' Local Decision Boundaries via Contrast Sets.
    2020.
    """

    Parameters: ClassVar[type[BaseModel]] = ContrastSetsParameters
    families: ClassVar[frozenset[str]] = frozenset({"contrast"})
    version: ClassVar[str] = "1"
    protects: ClassVar[bool] = False
    label_effect: ClassVar[Mapping[str, Effect]] = {"*": "transforms"}

    def perturb_example(
        self,
        example: Mapping[str, Any],
        rng: Random,
        fields: Sequence[str],
        answer_field: str | None,
    ) -> list[Mapping[str, Any]] | None:
        """Return the copies of an example."""
        inputs, answers = example.get(INPUTS), example.get(ANSWERS)
        if not inputs and not answers:
            return None
        if answer_field is None:
            raise DataError(
                f"example {_uid(example)}: {ANSWERS} cannot be used, since the task or "
                "data set does not say in which field the answer is"
            )
        pairs = _pairs(inputs, answers)
        if pairs is None:
            raise DataError(
                f"example {_uid(example)}: {INPUTS} and {ANSWERS} must be lists of the "
                "same length"
            )
        copies: list[Mapping[str, Any]] = [
            {**_changed_fields(example, new, fields), answer_field: answer}
            for new, answer in pairs
        ]
        assert isinstance(self.parameters, ContrastSetsParameters)
        return [rng.choice(copies)] if self.parameters.copies == "one" else copies


def _pairs(inputs: Any, answers: Any) -> list[tuple[Any, Any]] | None:
    """Return each input with its answer; None where they are no lists of one length."""
    if not isinstance(inputs, list | tuple) or not isinstance(answers, list | tuple):
        return None
    if len(inputs) != len(answers):
        return None
    return list(zip(inputs, answers, strict=True))


def _changed_fields(
    example: Mapping[str, Any], new: Any, fields: Sequence[str]
) -> Mapping[str, Any]:
    if isinstance(new, str) and len(fields) == 1:
        return {fields[0]: new}
    if isinstance(new, Mapping) and new and all(field in fields for field in new):
        return dict(new)
    raise DataError(
        f"example {_uid(example)}: each of {INPUTS} must be an object of some of the "
        f"fields {', '.join(fields)}"
        + (", or a text" if len(fields) == 1 else "")
        + f", got {new!r}"
    )


def _uid(example: Mapping[str, Any]) -> str:
    return repr(example.get("uid"))


Outcome = Literal["pass", "fail", "not applicable"]


class SamePrediction:
    """Expects that a prediction stays; for perturbations that leave the answer."""

    def expect(self, original_pred: Any, perturbed_pred: Any) -> Outcome:
        """Compare the two predictions; `not applicable` where one is missing."""
        if original_pred is None or perturbed_pred is None:
            return "not applicable"
        return "pass" if original_pred == perturbed_pred else "fail"


class ChecklistInvariance(SamePrediction, CharacterSwaps):
    """Swaps letters inside a few words, and expects the same prediction.

    An invariance test of Ribeiro et al.: Beyond Accuracy: Behavioral Testing of NLP
    Models with CheckList. 2020. It changes what `character-swaps` changes; mild .05 of
    the places, medium .1, hard .2.
    """

    families: ClassVar[frozenset[str]] = frozenset({"checklist"})
    strengths = {"mild": 0.05, "medium": 0.1, "hard": 0.2}


SENTENCES = (
    "I did not like it.",
    "It was a disappointment.",
    "I would not recommend it.",
    "I regret it.",
    "It was awful.",
)
"""Negative statements that go with most texts."""

_RANKS = {"negative": 0, "neutral": 1, "positive": 2}

_ENDS = (".", "!", "?", "…")


class ChecklistDirection(Perturbation):
    """Appends a negative sentence, and expects no more positive prediction.

    A directional expectation test of CheckList (Ribeiro et al. 2020), for task
    `sentiment` and for data without a task; others have no copies. The sentence is
    appended to the first text. What the right label is then is uncertain, but not that
    it is no better than before.
    """

    families: ClassVar[frozenset[str]] = frozenset({"checklist"})
    version: ClassVar[str] = "1"
    label_effect: ClassVar[Mapping[str, Effect]] = {"*": "uncertain"}

    def find_edits(
        self, texts: Sequence[str], rng: Random, task: str
    ) -> list[list[Edit]]:
        """Append a drawn sentence to the first text."""
        edits: list[list[Edit]] = [[] for _ in texts]
        if task in ("sentiment", "") and texts and texts[0].strip():
            stripped = texts[0].rstrip()
            stop = "" if stripped.endswith(_ENDS) else "."
            new = f"{stop} {rng.choice(SENTENCES)}"
            edits[0] = [Edit(len(stripped), len(stripped), new)]
        return edits

    def expect(self, original_pred: Any, perturbed_pred: Any) -> Outcome:
        """Compare the two labels; `not applicable` where they are no sentiments."""
        before, after = _rank(original_pred), _rank(perturbed_pred)
        if before is None or after is None:
            return "not applicable"
        return "pass" if after <= before else "fail"


def _rank(label: Any) -> int | None:
    return _RANKS.get(label) if isinstance(label, str) else None


_Case = tuple[tuple[str, ...], str]

CASES: Mapping[str, tuple[_Case, ...]] = {
    "sentiment": (
        (("I love this place.",), "positive"),
        (("The food was excellent.",), "positive"),
        (("What a wonderful film!",), "positive"),
        (("I hate this place.",), "negative"),
        (("The food was terrible.",), "negative"),
        (("What a horrible film!",), "negative"),
        (("The shop is on the left side of the street.",), "neutral"),
        (("The film lasts two hours.",), "neutral"),
    ),
    "nli": (
        (("A dog is running in the park.", "An animal is running."), "entailed"),
        (("Anna bought a red car.", "Anna bought a car."), "entailed"),
        (("The door is open.", "The door is not open."), "contradictory"),
        (("All of the lamps are on.", "None of the lamps is on."), "contradictory"),
        (("Anna bought a car.", "Anna bought a red car."), "neutral"),
        (("A man is waiting.", "A man is waiting for his sister."), "neutral"),
    ),
}
"""For each task the texts of its fields, in order, and the right label."""

_ANSWER_FIELDS = ("label", "answer")


class ChecklistMinimum(Perturbation):
    """Puts a short case with a known label in an example's place.

    A minimum functionality test of CheckList (Ribeiro et al. 2020), for the tasks
    `sentiment` and `nli`; others have no copies. The prediction is compared with the
    case's label, and not with the one for the original.
    """

    families: ClassVar[frozenset[str]] = frozenset({"checklist"})
    version: ClassVar[str] = "1"
    protects: ClassVar[bool] = False
    label_effect: ClassVar[Mapping[str, Effect]] = {"*": "transforms"}

    def perturb_example(
        self, rng: Random, fields: Sequence[str], answer_field: str | None, task: str
    ) -> Mapping[str, Any] | None:
        """Draw a case; None where the fields are not those of the task's cases."""
        cases = [case for case in CASES.get(task, ()) if len(case[0]) == len(fields)]
        if not cases or answer_field is None:
            return None
        texts, label = rng.choice(cases)
        return {**dict(zip(fields, texts, strict=True)), answer_field: label}

    def expect(self, perturbed: Mapping[str, Any], perturbed_pred: Any) -> Outcome:
        """Compare the prediction with the label of the case."""
        for field in _ANSWER_FIELDS:
            if field in perturbed and perturbed_pred is not None:
                return "pass" if perturbed[field] == perturbed_pred else "fail"
        return "not applicable"
