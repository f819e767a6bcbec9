"""HELM's `gender`, in both of its modes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, ClassVar, Literal

from pydantic import BaseModel

from evalkit import Parameters
from evalkit_perturbations_text.helm.base import HelmPerturbation, match_case
from evalkit_perturbations_text.text_perturbations import Effect, Share

Gender = Literal["neutral", "female", "male"]

_GENDERS: tuple[Gender, ...] = ("neutral", "female", "male")

# in HELM's order, since each word of the text is drawn for in turn; grandfather stands
# where grandfathers should
_TERMS = (
    "child daughter son, children daughters sons, parent mother father, "
    "parents mothers fathers, kiddo girl boy, kiddos girls boys, person woman man, "
    "people women men, sibling sister brother, siblings sisters brothers, "
    "nibling niece nephew, niblings nieces nephews, monarch queen king, "
    "monarchs queens kings, server waitress waiter, servers waitresses waiters, "
    "parent mom dad, parents moms dads, stepchild stepdaughter stepson, "
    "stepchildren stepdaughters stepsons, stepparent stepmother stepfather, "
    "stepparents stepmothers stepfathers, stepparent stepmom stepdad, "
    "stepparents stepmoms stepdads, grandchild granddaughter grandson, "
    "grandchildren granddaughters grandsons, grandparent grandmother grandfather, "
    "grandparents grandmothers grandfather, grandparent grandma granddad, "
    "grandparents grandmas granddads, human female male, humans females males"
)
_PRONOUNS = (
    "they she he, them her him, their her his, theirs hers his, "
    "themselves herself himself"
)


class HelmGenderParameters(Parameters):
    """Which words become which, and how many."""

    prob: Share = 1.0
    """The share of words; HELM's easy, medium and hard are .1, .3 and .5."""
    source: Gender = "male"
    """The gender of the words that are replaced."""
    target: Gender = "female"
    """The gender of the words in their place."""


class _HelmGender(HelmPerturbation):
    """Replaces words of one gender by those of another.

    References come first and share the random numbers of the texts. As in HELM, the
    first and last word of a text and the second of two beside each other are missed,
    and `his` becomes `their` before it can become `theirs`; `gender-swap` has none of
    these faults.
    """

    Parameters: ClassVar[type[BaseModel]] = HelmGenderParameters
    label_effect: ClassVar[dict[str, Effect]] = {
        "*": "invariant",
        "hs": "uncertain",
        "qa": "transforms",
        "math-qa": "transforms",
    }
    words: ClassVar[str]

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, HelmGenderParameters)
        self.prob = chosen.prob
        source, target = (_GENDERS.index(g) for g in (chosen.source, chosen.target))
        rows = [row.split() for row in self.words.split(", ")]
        self.pairs = [
            (re.compile(rf"[^\w]({row[source]})[^\w]", re.IGNORECASE), row[target])
            for row in rows
        ]

    def perturb_example(
        self,
        example: Mapping[str, Any],
        rng: Random,
        fields: Sequence[str],
        answer_field: str | None,
        task: str,
    ) -> Mapping[str, Any] | None:
        """Change the answer, where the task's answers change, and then the fields."""
        names = list(fields)
        if answer_field is not None and self.label_effect.get(task) == "transforms":
            names = [answer_field, *(name for name in fields if name != answer_field)]
        changed = {}
        for name in names:
            before = example.get(name)
            after = self._change(before, rng)
            if after != before:
                changed[name] = after
        return changed or None

    def _change(self, value: Any, rng: Random) -> Any:
        if isinstance(value, str):
            return self.change_text(value, rng)
        if isinstance(value, list | tuple):
            return [self._change(element, rng) for element in value]
        return value

    def change_text(self, text: str, rng: Random) -> str:
        """Change one text."""
        for pattern, new in self.pairs:
            text = pattern.sub(partial(self._put, new, rng), text)
        return text

    def _put(self, new: str, rng: Random, match: re.Match[str]) -> str:
        if rng.uniform(0, 1) >= self.prob:
            return match[0]
        return match[0].replace(match[1], match_case(match[1], new))


class HelmGenderTerms(_HelmGender):
    """Replaces nouns such as `father`, by default by female ones.

    HELM's `gender`, mode `terms` (Liang et al., Holistic Evaluation of Language Models,
    2023; version 0.5.16). In one direction only, and with HELM's faults: the first and
    last word of a text, and the second of two beside each other, are missed.
    `gender-swap` has none of them.
    """

    words = _TERMS


class HelmGenderPronouns(_HelmGender):
    """Replaces pronouns such as `his`, by default by female ones.

    HELM's `gender`, mode `pronouns` (Liang et al., Holistic Evaluation of Language
    Models, 2023; version 0.5.16). In one direction only, and with HELM's faults: the
    first and last word of a text are missed, and of words that are two things, such as
    `her`, the first is taken. `gender-swap` decides by grammar.
    """

    words = _PRONOUNS
