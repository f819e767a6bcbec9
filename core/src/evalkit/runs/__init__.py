"""What a run is, its record and its folder.

Public: the names below; each is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit.predictions.problems import Problem as Problem
    from evalkit.runs.comparability import COMPARED_FIELDS as COMPARED_FIELDS
    from evalkit.runs.comparability import DATA_FIELDS as DATA_FIELDS
    from evalkit.runs.comparability import Difference as Difference
    from evalkit.runs.comparability import comparison_key as comparison_key
    from evalkit.runs.comparability import find_differences as find_differences
    from evalkit.runs.finding import LATEST as LATEST
    from evalkit.runs.finding import FoundRun as FoundRun
    from evalkit.runs.finding import as_result as as_result
    from evalkit.runs.finding import find_run as find_run
    from evalkit.runs.finding import find_runs as find_runs
    from evalkit.runs.folders import find_damage as find_damage
    from evalkit.runs.folders import problem_line as problem_line
    from evalkit.runs.folders import send_run as send_run
    from evalkit.runs.listing import RunSummary as RunSummary
    from evalkit.runs.listing import list_runs as list_runs
    from evalkit.runs.listing import read_moment as read_moment
    from evalkit.runs.record import RunRecord as RunRecord
    from evalkit.runs.results import Result as Result
    from evalkit.runs.score_columns import Score as Score
    from evalkit.runs.stored import bound_component as bound_component
    from evalkit.runs.stored import read_run as read_run
    from evalkit.runs.views import Confusion as Confusion
    from evalkit.runs.views import UnparsedResponses as UnparsedResponses
    from evalkit.runs.views import WrongAnswers as WrongAnswers
    from evalkit.runs.views import count_confusion as count_confusion
    from evalkit.runs.views import find_unparsed as find_unparsed
    from evalkit.runs.views import find_wrong as find_wrong
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
