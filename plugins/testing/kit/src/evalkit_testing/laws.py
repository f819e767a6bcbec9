"""What a law is, and how it is told that one is broken."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Generic, NamedTuple, TypeVar

from evalkit import EvalkitError

TrialT = TypeVar("TrialT")


class Law(NamedTuple, Generic[TrialT]):
    """Something that holds for every plugin of a kind, whatever the data."""

    name: str
    statement: str
    """What holds, as a sentence."""
    check: Callable[[TrialT], None]
    """Raises `LawBroken` where it does not hold."""
    draws: tuple[str, ...] = ()
    """What must be drawn for it beside the examples."""


class LawBroken(Exception):
    """A law does not hold for some data; the text says what was found."""


class LawError(AssertionError):
    """A plugin breaks a law.

    Attributes:
        law: Name of the law.
    """

    def __init__(self, message: str, law: str) -> None:
        super().__init__(message)
        self.law = law


def refuse(difference: str | None, where: str) -> None:
    """Raise where two results differ.

    Args:
        difference: What differs; None where nothing does.
        where: How the second result was made.

    Raises:
        LawBroken: Something differs.
    """
    if difference:
        raise LawBroken(f"{difference} {where}")


def chosen_laws(
    laws: Sequence[Law[TrialT]], names: Collection[str] | None
) -> list[Law[TrialT]]:
    """Return the laws that a caller names.

    Args:
        laws: All laws.
        names: Names of some; None for all.

    Returns:
        Those laws, in the order of all laws.

    Raises:
        EvalkitError: There is no such law.
    """
    known = [law.name for law in laws]
    wanted = known if names is None else names
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise EvalkitError(
            f"laws: {unknown[0]!r} is no law; there are {', '.join(known)}"
        )
    return [law for law in laws if law.name in wanted]
