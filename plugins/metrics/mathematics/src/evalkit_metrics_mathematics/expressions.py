"""Texts of answers, written so that math-verify reads all of them as mathematics."""

from __future__ import annotations

import re
import unicodedata

_DELIMITED = re.compile(r"\$[^$]+\$|\\\(|\\\[")
_FUNCTIONS = "sin|cos|tan|cot|sec|csc|log|ln|exp|pi"
_WORD = re.compile(
    rf"(?<![\\{{A-Za-z])(?!(?:{_FUNCTIONS}|sqrt|and|or)(?![^\W\d_]))[^\W\d_]{{3,}}"
)
_WORDS = re.compile(r"[^\W\d_]+(?:[\s-][^\W\d_]+)*")
_TEXT = re.compile(r"\\(?:text\w*|mathrm|mbox|operatorname)\{[^{}]*\}")
_PLAIN = (
    (re.compile(r"(?<![\d.])(\d+)\s+(\d+)/(\d+)(?![\d.])"), r"\1\\frac{\2}{\3}"),
    (re.compile(r"(?<=\d)[eE]([-+]?\d+)"), r" \\times 10^{\1}"),
    (re.compile(rf"(?<![\\A-Za-z])({_FUNCTIONS})(?![A-Za-z])"), r"\\\1"),
    (re.compile(r"\*\*"), "^"),
    (re.compile(r"\\(?=\$)"), ""),
)
"""Plain notation that means something else in LaTeX."""


def as_latex(text: str) -> str:
    r"""Mark the mathematics in an answer or reply.

    Args:
        text: An expression in LaTeX or plain notation, words, or prose that holds one.

    Returns:
        The last `\boxed{}` or else the whole text between dollar signs; prose with
        words in front of its mathematics, and text with dollar signs, as it is.
    """
    boxed = last_box(text)
    text = (text if boxed is None else boxed).strip()
    if _DELIMITED.search(text):
        return text
    word = _WORD.search(_TEXT.sub(lambda match: " " * len(match[0]), text))
    if word is None:
        return f"${_from_plain(text)}$"
    for start in (0, word.start()):
        tail = text[start:].strip(" .")
        if _WORDS.fullmatch(tail):
            return rf"${_from_plain(text[:start])}\text{{{tail}}}$"
    return text


def last_box(text: str) -> str | None:
    r"""Return what the last `\boxed{}` of a text holds, None where there is none."""
    start = text.rfind(r"\boxed{")
    depth = 0
    for place in range(start + len(r"\boxed"), len(text) if start >= 0 else 0):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start + len(r"\boxed{") : place]
    return None


def _from_plain(text: str) -> str:
    for pattern, replacement in _PLAIN:
        text = pattern.sub(replacement, text)
    return "".join(map(_character, text))


def _character(character: str) -> str:
    """Spell vulgar fractions, and leave out currency signs."""
    if unicodedata.decomposition(character).startswith("<fraction>"):
        top, bottom = unicodedata.normalize("NFKC", character).split("\u2044")
        return rf"\frac{{{top}}}{{{bottom}}}"
    return "" if unicodedata.category(character) == "Sc" else character
