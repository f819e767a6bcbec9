"""Writes a word in the letter case of the one that it stands for."""

from __future__ import annotations


def with_case_of(original: str, new: str) -> str:
    """Write a word in the letter case of another."""
    if len(original) > 1 and original.isupper():
        return new.upper()
    if original[:1].isupper():
        return new[:1].upper() + new[1:]
    return new


def with_capitals_of(original: str, new: str) -> str:
    """Write the rest of a word in capitals where the word is in capitals."""
    return new.upper() if original.isupper() else new
