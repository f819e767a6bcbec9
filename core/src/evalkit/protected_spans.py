"""Parts of a text that no perturbation changes unless a user asks for it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, get_args

from evalkit.edits import Edit

ProtectedKind = Literal["code", "digits", "mark-up", "placeholders", "urls"]
"""What is protected.

`digits`: numbers, and words that hold a digit, such as `3.5%`, `10:30`, `16th`;
`urls`: addresses of the web, of mail and of files; `code`: between backquotes;
`mark-up`: tags and character references of HTML, commands of LaTeX;
`placeholders`: `{name}`, `[MASK]`, `<name>`, `%s`, `$name`, `@user`.
"""

PROTECTED_KINDS: tuple[ProtectedKind, ...] = get_args(ProtectedKind)

# possessive and anchored at words, so that no long word takes the square of its length
_PATTERNS: dict[ProtectedKind, str] = {
    "code": r"```.*?(?:```|\Z)|`[^`\n]+`",
    "urls": (
        r"(?:(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*://|www\.|mailto:)[^\s<>\"']+"
        r"|(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+"
        r"|(?<![\w.-])(?:[\w-]+\.)+(?:com|org|net|edu|gov|io|co|uk|de|info)\b"
        r"(?:/[^\s<>\"']*)?"
        r"|(?<![\w/.~])(?:~|\.{1,2})?/[\w.-]+(?:/[\w.-]*)+"
    ),
    "mark-up": r"</?[A-Za-z!][^<>\n]*>|&#?\w+;|\\[A-Za-z]+",
    "placeholders": (
        r"\{\{[^{}\n]*\}\}|\$?\{[^{}\n]*\}|\[[A-Z][A-Z_]*\]|<[A-Za-z_][\w ]*>"
        r"|%\(\w+\)[a-z]|%[a-z]\b|\$[A-Za-z_]\w*|(?<!\w)@\w+"
    ),
    "digits": (r"[$€£¥#+-]?(?<!\w)[^\W\d]*+\d\w*(?:[.,:/’'°-]?[^\W\d]*+\d\w*)*[%°]?"),
}

_SIGN = re.compile(r"[\d`<>&\\{}\[\]%$@/]")
_DOTTED = re.compile(r"\.\w")
"""One of these is in every protected span, and neither in most texts."""


@lru_cache(maxsize=64)
def _pattern(kinds: frozenset[ProtectedKind]) -> re.Pattern[str]:
    parts = [pattern for kind, pattern in _PATTERNS.items() if kind in kinds]
    return re.compile("|".join(parts), re.DOTALL)


_ALL = frozenset(PROTECTED_KINDS)


def protected_spans(
    text: str, kinds: Iterable[ProtectedKind] = _ALL
) -> list[tuple[int, int]]:
    """Find what no perturbation changes.

    Args:
        text: A text.
        kinds: What is protected.

    Returns:
        Start and end of each span, in order; they do not overlap.
    """
    wanted = kinds if isinstance(kinds, frozenset) else frozenset(kinds)
    if not wanted or not (_SIGN.search(text) or _DOTTED.search(text)):
        return []
    return [match.span() for match in _pattern(wanted).finditer(text)]


def outside(edits: Sequence[Edit], spans: Sequence[tuple[int, int]]) -> list[Edit]:
    """Leave out the edits that would change a protected span.

    An insertion at the edge of a span is none of them.

    Args:
        edits: Edits of a text.
        spans: Start and end of spans, in order.

    Returns:
        The others, in their order.
    """
    if not spans:
        return list(edits)
    ends = [end for _, end in spans]
    kept = []
    for edit in edits:
        following = bisect_right(ends, edit.start)
        if following == len(spans) or spans[following][0] >= edit.end:
            kept.append(edit)
    return kept
