"""Ratings of models: joint bootstrap, rank ranges, win rates, Elo.

`rate` compares models by columns of scores, `pairwise` by verdicts on pairs of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit.base.lazy import lazy_names

if TYPE_CHECKING:
    from evalkit_analysis_ratings.draws import Drawn as Drawn
    from evalkit_analysis_ratings.draws import draw_leaf as draw_leaf
    from evalkit_analysis_ratings.ranks import Columns as Columns
    from evalkit_analysis_ratings.ranks import rank_ranges as rank_ranges
    from evalkit_analysis_ratings.ranks import rate as rate
    from evalkit_analysis_ratings.records import Cell as Cell
    from evalkit_analysis_ratings.records import Ranks as Ranks
    from evalkit_analysis_ratings.records import Rating as Rating
    from evalkit_analysis_ratings.records import make_score as make_score
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
