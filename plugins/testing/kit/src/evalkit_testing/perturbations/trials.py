"""One check of a law of perturbations: the perturbation, and what was drawn."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from evalkit.catalog import described, hook_failures
from evalkit_testing import checking
from evalkit_testing.perturbations.drawing import PerturbationSample
from evalkit_testing.perturbations.subjects import PerturbationSubject


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
