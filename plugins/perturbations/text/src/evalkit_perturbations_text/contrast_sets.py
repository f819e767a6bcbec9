"""Contrast sets that come with the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, ClassVar, Literal

from pydantic import BaseModel

from evalkit import DataError, Parameters, Perturbation
from evalkit_perturbations_text.text_perturbations import Effect

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
