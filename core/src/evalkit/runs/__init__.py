"""What a run is, its record and its folder.

Public: the names below; each is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_attributes

if TYPE_CHECKING:
    from evalkit.runs.citations import Work, Works, bibtex_entries, cited_works
    from evalkit.runs.listing import LATEST, RunSummary, as_result, find_run, list_runs
    from evalkit.runs.record import RunRecord
    from evalkit.runs.results import Result
    from evalkit.runs.score_columns import Score
    from evalkit.runs.storage import problem_line
    from evalkit.runs.stored import read_run
    from evalkit.runs.views import Confusion, WrongAnswers, count_confusion, find_wrong

__all__ = [
    "LATEST",
    "Confusion",
    "Result",
    "RunRecord",
    "RunSummary",
    "Score",
    "Work",
    "Works",
    "WrongAnswers",
    "as_result",
    "bibtex_entries",
    "cited_works",
    "count_confusion",
    "find_run",
    "find_wrong",
    "list_runs",
    "problem_line",
    "read_run",
]

__getattr__, __dir__ = lazy_attributes(
    __name__,
    {
        "Confusion": "runs.views",
        "LATEST": "runs.listing",
        "Result": "runs.results",
        "RunRecord": "runs.record",
        "RunSummary": "runs.listing",
        "Score": "runs.score_columns",
        "Work": "runs.citations",
        "Works": "runs.citations",
        "WrongAnswers": "runs.views",
        "as_result": "runs.listing",
        "bibtex_entries": "runs.citations",
        "cited_works": "runs.citations",
        "count_confusion": "runs.views",
        "find_run": "runs.listing",
        "find_wrong": "runs.views",
        "list_runs": "runs.listing",
        "problem_line": "runs.storage",
        "read_run": "runs.stored",
    },
)
