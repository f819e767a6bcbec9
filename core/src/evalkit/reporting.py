"""What a program needs that shows results to people, beside the results themselves.

Public: names of groups and statuses, words for numbers, crossings of a run,
bins of confidences, and the records that the verbs return. Importing this module
imports nothing heavy; each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit.base.files import new_file as new_file
    from evalkit.base.violations import describe as describe
    from evalkit.base.violations import from_pydantic as from_pydantic
    from evalkit.base.wording import count_of as count_of
    from evalkit.base.wording import show_p as show_p
    from evalkit.diagnosis import map_options as map_options
    from evalkit.examples.samples import ExampleSample as ExampleSample
    from evalkit.examples.samples import sample_examples as sample_examples
    from evalkit.predictions.problems import STATUSES as STATUSES
    from evalkit.scoring.grouping import UNTAGGED as UNTAGGED
    from evalkit.scoring.records import count_incomplete as count_incomplete
    from evalkit.statistics.confidence_bins import CONFIDENCE_BINS as CONFIDENCE_BINS
    from evalkit.statistics.confidence_bins import confidence_bins as confidence_bins
    from evalkit.statistics.confidence_bins import confidence_edges as confidence_edges
    from evalkit.statistics.resampling import DRAWS_BY_METHOD as DRAWS_BY_METHOD
    from evalkit.statistics.student_t import check_confidence as check_confidence
    from evalkit.workflows.rescoring import score_crossings as score_crossings
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
