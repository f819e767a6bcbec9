"""Writes a word in the letter case of the one that it stands for."""

from __future__ import annotations


def with_case_of(original: str, new: str) -> str:
    """Write a word in the letter case of another.

    Args:
        original: A word in lower case, with a first capital, or in capitals.
        new: What stands there instead, in lower case but for inner capitals of names.

    Returns:
        All in capitals if the original has at least two letters and is; with a first
        capital if the original has one; else as it is.
    """
    if len(original) > 1 and original.isupper():
        return new.upper()
    if original[:1].isupper():
        return new[:1].upper() + new[1:]
    return new


def with_capitals_of(original: str, new: str) -> str:
    """Write the rest of a word in capitals where the word is in capitals.

    Args:
        original: A word; `I` counts as in capitals.
        new: What is put behind its beginning, in lower case.

    Returns:
        It in capitals, or as it is.
    """
    return new.upper() if original.isupper() else new
