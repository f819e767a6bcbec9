"""Parts of a text that no perturbation changes unless a user asks for it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, get_args

from evalkit import Edit

ProtectedKind = Literal["code", "digits", "mark-up", "placeholders", "urls"]
"""What is protected.

`digits`: numbers, and words that hold a digit, such as `3.5%`, `10:30`, `16th`, `½`;
`urls`: addresses of the web, of mail and of files; `code`: between backquotes;
`mark-up`: tags and character references of HTML, commands of LaTeX;
`placeholders`: `{name}`, `[MASK]`, `[Your Name]`, `<name>`, `%s`, `%name%`, `$name`,
`@user`, `#tag`.
"""

PROTECTED_KINDS: tuple[ProtectedKind, ...] = get_args(ProtectedKind)

_NUMBER = r"\d²³¹¼-¾⁰-⁹₀-₉⅐-↉①-⒛"
"""Digits, and characters that are numbers by themselves; the inside of a class."""

_DOMAINS = (
    "com|org|net|edu|gov|mil|int|info|biz|arpa|onion|io|ai|co|tv|fm|gg|ly|xyz|dev|eu"
    "|uk|de|fr|es|nl|ch|dk|fi|pl|cz|pt|gr|ru|ua|cn|jp|kr|tw|hk|sg|vn|th|ph"
    "|au|nz|ca|mx|br|ar|cl|za|ng|ke|il|tr|ir|pk"
)
"""Ends of domains that are hardly ever the first word after a missing blank; others
count where a port follows, or a path that is no word."""

_FILES = (
    "py|ipynb|java|js|jsx|tsx|cpp|hpp|cs|rb|rs|php|kt|swift|sql|sh|bat|exe|dll|jar"
    "|txt|md|rst|tex|html|htm|css|xml|json|jsonl|yaml|yml|toml|ini|cfg|conf|log|lock"
    "|csv|tsv|pdf|docx|xlsx|pptx|doc|xls|ppt|png|jpg|jpeg|gif|svg|mp3|mp4|wav|avi|mov"
    "|zip|gz|bz2|zst|tar|parquet"
)
"""Ends of names of files."""

_BRACKETED = (
    "name|names|surname|date|time|year|month|day|age|number|amount|price|title|company"
    "|firm|organi[sz]ation|product|brand|city|town|state|country|location|place|street"
    "|address|email|phone|url|link|language|job|role|topic|subject|person|user|id"
)
"""What a template asks for in brackets; the last of up to four words."""

_DETERMINERS = "the|an?|this|that|these|those|some|any|no|his|her|its|their|our|my"
"""What is in brackets behind one of these is a remark, and no placeholder."""

# possessive and anchored at words, so that no long word takes the square of its length
_PATTERNS: dict[ProtectedKind, str] = {
    "code": r"```.*?(?:```|\Z)|`[^`\n]+`",
    "urls": (
        r"(?:(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*://|(?i:www\.|mailto:))"
        r"[^\s<>\"']+"
        r"|(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+"
        rf"|(?<![\w.-])(?:[\w-]+\.)+(?:(?i:{_DOMAINS})\b|[A-Za-z]{{2,}}"
        r"(?=:\d\d|/[\w-]*[\d_./=?-]\w))"
        r"(?::\d+)?(?:/[^\s<>\"']*)?"
        rf"|(?<![\w./~-])[\w.-]+(?:/[\w.-]+)*\.(?i:{_FILES})\b"
        r"|(?<![\w/.~])(?:~|\.{1,2})?/[\w.-]+(?:/[\w.-]*)+"
        r"|(?<!\w)[A-Za-z]:\\[^\s<>\"'|?*]+|(?<![\w\\])\\\\\w[^\s<>\"'|?*]*"
    ),
    "mark-up": r"</?[A-Za-z!][^<>\n]*>|&#?\w+;|\\[A-Za-z]+",
    "placeholders": (
        r"\{\{[^{}\n]*\}\}|\$?\{[^{}\n]*\}|\[[A-Z][A-Z_]*\]|<[A-Za-z_][\w ]*>"
        rf"|\[(?!(?i:{_DETERMINERS})\b)(?:\w+[ _-]){{0,3}}(?i:{_BRACKETED})\]"
        r"|%\(\w+\)[a-z]|%[A-Za-z_]\w*%|%[a-z]\b|\$[A-Za-z_]\w*|(?<!\w)@\w+"
        r"|(?<![\w&])#[A-Za-z_]\w*"
    ),
    "digits": (
        rf"[$€£¥#+-]?(?<!\w)[^\W{_NUMBER}]*+[{_NUMBER}]\w*"
        rf"(?:[.,:/’'°-]?[^\W{_NUMBER}]*+[{_NUMBER}]\w*)*[%°]?"
    ),
}

_SIGN = re.compile(rf"[{_NUMBER}#`<>&\\{{}}\[\]%$@/]")
_ASCII_SIGN = re.compile(r"[0-9#`<>&\\{}\[\]%$@/]")
"""The same for ASCII texts, twice as fast without a category of Unicode."""
_DOTTED = re.compile(r"\.\w")


def _may_hold_spans(text: str) -> bool:
    """Tell at little cost of most texts that nothing in them is protected."""
    sign = _ASCII_SIGN if text.isascii() else _SIGN
    if sign.search(text):
        return True
    return text.find(".", 0, -1) >= 0 and _DOTTED.search(text) is not None


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
    if not wanted or not _may_hold_spans(text):
        return []
    return [match.span() for match in _pattern(wanted).finditer(text)]


def outside(edits: Sequence[Edit], spans: Sequence[tuple[int, int]]) -> list[Edit]:
    """Leave out the edits that would change a protected span.

    An insertion at the edge of a span is none of them.
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
