"""What was perturbed: how many examples changed, and some of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from evalkit.base.copies import LabelEffect
from evalkit_commands_perturb.chunks import ChangedExample


class PerturbationCount(NamedTuple):
    """What one perturbation did to a data set."""

    perturbation: str
    """Its name, as in the column `perturbation`."""
    families: tuple[str, ...]
    label_effect: LabelEffect
    """What it says that it does to the answers of the task."""
    changed: int
    """Examples of which there is a changed copy; the others have no row."""
    copies: int
    """Rows that were written."""
    samples: tuple[ChangedExample, ...]
    """A few changed examples; which ones depends on their ids only."""


class PerturbationSummary(NamedTuple):
    """What was perturbed and written."""

    dataset: str
    task: str
    split: str
    out: Path | None
    """The file that was written; None where rows went to a stream."""
    examples: int
    perturbations: tuple[PerturbationCount, ...]
    sensitive: bool
    """Whether the texts may be hurtful to read: the data set has a content warning or
    its task is hate speech."""
    notices: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        values = self._asdict()
        values["out"] = None if self.out is None else str(self.out)
        values["perturbations"] = [
            {**each._asdict(), "samples": [plain_sample(s) for s in each.samples]}
            for each in self.perturbations
        ]
        return values


def plain_sample(sample: ChangedExample) -> dict[str, Any]:
    """Write a changed example as JSON values."""
    changes = {
        field: {
            "before": change.before,
            "after": change.after,
            "edits": [list(edit) for edit in change.edits],
        }
        for field, change in sample.changes.items()
    }
    return {"uid": sample.uid, "changes": changes}
