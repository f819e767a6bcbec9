"""One check of a law of perturbations: the perturbation, and what was drawn."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from evalkit.testing.perturbation_drawing import PerturbationSample
from evalkit.testing.perturbation_subjects import PerturbationSubject


class PerturbationTrial:
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

    @cached_property
    def copies(self) -> list[dict[str, Any]]:
        """The copies of the example, with their edits."""
        copies = self.subject.fresh().copies(self.example, self.seed)
        self.subject.copies_seen += len(copies)
        return copies
