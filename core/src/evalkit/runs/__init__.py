"""What a run is, its record and its folder.

Public: the names below; each is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit.runs.citations import Work as Work
    from evalkit.runs.citations import Works as Works
    from evalkit.runs.citations import bibtex_entries as bibtex_entries
    from evalkit.runs.citations import cited_works as cited_works
    from evalkit.runs.folders import find_damage as find_damage
    from evalkit.runs.listing import LATEST as LATEST
    from evalkit.runs.listing import RunSummary as RunSummary
    from evalkit.runs.listing import as_result as as_result
    from evalkit.runs.listing import find_run as find_run
    from evalkit.runs.listing import list_runs as list_runs
    from evalkit.runs.record import RunRecord as RunRecord
    from evalkit.runs.results import Result as Result
    from evalkit.runs.score_columns import Score as Score
    from evalkit.runs.storage import problem_line as problem_line
    from evalkit.runs.stored import read_run as read_run
    from evalkit.runs.views import Confusion as Confusion
    from evalkit.runs.views import WrongAnswers as WrongAnswers
    from evalkit.runs.views import count_confusion as count_confusion
    from evalkit.runs.views import find_wrong as find_wrong
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            "runs.citations": "Work Works bibtex_entries cited_works",
            "runs.folders": "find_damage",
            "runs.listing": "LATEST RunSummary as_result find_run list_runs",
            "runs.record": "RunRecord",
            "runs.results": "Result",
            "runs.score_columns": "Score",
            "runs.storage": "problem_line",
            "runs.stored": "read_run",
            "runs.views": "Confusion WrongAnswers count_confusion find_wrong",
        },
    )
