"""Suites of datasets: trees of means, ranks and ratings of models, for evalkit.

`find_suite` reads a suite, `make_board` scores the runs of folders by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit_analysis_suites.board import make_board as make_board
    from evalkit_analysis_suites.board import sort_key as sort_key
    from evalkit_analysis_suites.evaluations import SuitePlan as SuitePlan
    from evalkit_analysis_suites.evaluations import plan_suite as plan_suite
    from evalkit_analysis_suites.kind import find_suite as find_suite
    from evalkit_analysis_suites.kind import read_suite as read_suite
    from evalkit_analysis_suites.records import Board as Board
    from evalkit_analysis_suites.records import Member as Member
    from evalkit_analysis_suites.runs import list_folder as list_folder
    from evalkit_analysis_suites.schema import Suite as Suite
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
