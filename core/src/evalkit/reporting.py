"""What a program needs that shows results to people, beside the results themselves.

Public: names of groups and statuses, words for numbers, flips and crossings of a run,
and the records that the verbs return. Importing this module imports nothing heavy;
each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_attributes

if TYPE_CHECKING:
    from evalkit.base.violations import describe
    from evalkit.base.wording import count_of
    from evalkit.comparing.conclusions import show_p
    from evalkit.inference.draw_counts import DRAWS_BY_METHOD
    from evalkit.inference.intervals import INTERVAL_RULES
    from evalkit.inference.levels import check_confidence
    from evalkit.perturbing.summary import PerturbationSummary
    from evalkit.predictions.problems import STATUSES
    from evalkit.robustness.flips import Flips, find_flips
    from evalkit.robustness.inputs import find_stored
    from evalkit.scoring.grouping import UNTAGGED
    from evalkit.scoring.replications import count_incomplete
    from evalkit.workflows.planning import Requirement
    from evalkit.workflows.regrouping import score_crossings
    from evalkit.workflows.verification import Difference

__all__ = [
    "DRAWS_BY_METHOD",
    "INTERVAL_RULES",
    "STATUSES",
    "UNTAGGED",
    "Difference",
    "Flips",
    "PerturbationSummary",
    "Requirement",
    "check_confidence",
    "count_incomplete",
    "count_of",
    "describe",
    "find_flips",
    "find_stored",
    "score_crossings",
    "show_p",
]

__getattr__, __dir__ = lazy_attributes(
    __name__,
    {
        "DRAWS_BY_METHOD": "inference.draw_counts",
        "Difference": "workflows.verification",
        "Flips": "robustness.flips",
        "INTERVAL_RULES": "inference.intervals",
        "PerturbationSummary": "perturbing.summary",
        "Requirement": "workflows.planning",
        "STATUSES": "predictions.problems",
        "UNTAGGED": "scoring.grouping",
        "check_confidence": "inference.levels",
        "count_incomplete": "scoring.replications",
        "count_of": "base.wording",
        "describe": "base.violations",
        "find_flips": "robustness.flips",
        "find_stored": "robustness.inputs",
        "score_crossings": "workflows.regrouping",
        "show_p": "comparing.conclusions",
    },
)
