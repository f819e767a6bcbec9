"""Shows the edits of a text in a line: what was taken out, and what was put in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalkit_cli.printing.escapes import by_code_points

if TYPE_CHECKING:
    from evalkit import Edit

_CONTEXT = 30
"""Characters that are shown before the first and after the last edit."""

_MOST = 240
"""Characters of the original that are shown of one text."""

_MOST_SHOWN = 0.3
"""Share of a masked text that its edits may show."""

_MASK = re.compile(r"\w")


def marked(before: str, edits: Sequence[Edit], masked: bool) -> str:
    """Write a text with its edits as `[old→new]`."""
    if not edits:
        return ""
    covered = sum(edit.end - edit.start for edit in edits)
    hides = masked and covered > _MOST_SHOWN * len(before)
    first = max(0, edits[0].start - _CONTEXT)
    last = min(len(before), max(edits[-1].end + _CONTEXT, first + _CONTEXT))
    parts = ["…" if first else ""]
    position = first
    for number, edit in enumerate(edits):
        if position - first > _MOST:
            left = len(edits) - number
            return "".join(parts) + f"… and {left} more edits"
        parts.append(_kept(before[position : edit.start], masked))
        old, new = before[edit.start : edit.end], edit.text
        parts.append(f"[{_kept(old, hides)}→{_kept(new, hides)}]")
        position = edit.end
    parts.append(_kept(before[position:last], masked))
    parts.append("…" if last < len(before) else "")
    return "".join(parts)


def _kept(text: str, masked: bool) -> str:
    return by_code_points(_MASK.sub("·", text) if masked else text)
