"""How templates show numbers, moments and states."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from evalkit_services_server import boards
    from evalkit_services_server.listings import ShownScore

    Scale = boards.Board | ShownScore
    Score = boards.Cell | ShownScore

_APART = '<abbr title="not comparable with the others">†</abbr>'
_KEPT = 1 << 17
"""Texts of scores that are kept: a page has thousands."""


@lru_cache(maxsize=_KEPT)
def _texts(
    unit: str, scale: float, value: float, low: float | None, high: float | None, n: int
) -> tuple[Markup, Markup]:
    from evalkit.scoring import Interval
    from evalkit_analysis_ratings import make_score
    from evalkit_cli.commanding import show_interval, show_value

    ends = Interval(low, high)
    score = make_score(ends, unit=unit, scale=scale, metric="", value=value, n=n)
    text = escape(show_value(score, with_unit=False))
    if low is None or high is None:
        return text, Markup()
    return text, Markup(" <small>{}</small>").format(show_interval(score))


def value(scale: Scale, score: Score) -> Markup:
    """Return a score without its unit, or why there is none."""
    if score.value is None:
        reason = score.reason or "no score"
        return Markup('<small class="none">{}</small>').format(reason)
    ends = score.ci_low, score.ci_high
    return _texts(scale.unit, scale.scale, score.value, *ends, score.n)[0]


def interval(scale: Scale, score: Score) -> Markup:
    """Return the interval of a score; empty where there is none."""
    if score.value is None:
        return Markup()
    ends = score.ci_low, score.ci_high
    return _texts(scale.unit, scale.scale, score.value, *ends, score.n)[1]


def cells(board: boards.Board, line: boards.Line) -> Markup:
    """Return the cells of a row of a leaderboard: thousands, so no template does it."""
    parts = []
    for cell in line.scores:
        text, ends = value(board, cell), "" if board.is_wide else interval(board, cell)
        mark = "" if cell.is_comparable else _APART
        if cell.run_id is not None:
            parts.append(f'<a href="/runs/{cell.run_id}">{text}</a>{mark}{ends}')
        else:
            parts.append(text)
    return Markup("".join(f'<td class="n">{part}</td>\n' for part in parts))


def moment(at: datetime | None) -> str:
    """Return a moment to the minute, in UTC."""
    return "" if at is None else at.strftime("%Y-%m-%d %H:%M UTC")
