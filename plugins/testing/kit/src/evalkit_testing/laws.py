"""What a law is, and how it is told that one is broken."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

from evalkit import EvalkitError
from evalkit.catalog import Bound, Registry, Resolver

ParametersT = ParamSpec("ParametersT")
TrialT = TypeVar("TrialT")
ItemT = TypeVar("ItemT")


class Law(NamedTuple, Generic[TrialT]):
    """Something that holds for every plugin of a kind, whatever the data."""

    name: str
    statement: str
    """What holds, as a sentence."""
    check: Callable[[TrialT], None]
    """Raises `LawBroken` where it does not hold."""
    draws: tuple[str, ...] = ()
    """What must be drawn for it beside the examples."""
    mend: str = ""
    """What an author usually does where it is broken."""

    def told(self, origin: str, found: str) -> list[str]:
        """Return what is said where it is broken, as lines."""
        lines = [
            f"{origin} breaks the law {self.name!r}: {self.statement}",
            f"  found: {found}",
        ]
        return [*lines, f"  mend: {self.mend}"] if self.mend else lines


class MissingOption(EvalkitError):
    """A check needs what only the author has, and was not given."""


class NotTried(Exception):
    """What a law needs was not given; the text says what that is."""


_untried: ContextVar[list[str] | None] = ContextVar("_untried", default=None)


@contextmanager
def untried_laws() -> Iterator[list[str]]:
    """Keep which laws are not tried meanwhile, and what each of them needs."""
    found: list[str] = []
    token = _untried.set(found)
    try:
        yield found
    finally:
        _untried.reset(token)


class LawBroken(Exception):
    """A law does not hold for some data; the text says what was found."""


class LawError(AssertionError):
    """A plugin breaks a law.

    Attributes:
        law: Name of the law.
        is_untested: Whether it is only that no law was tested, as the data that were
            drawn are none for the plugin.
    """

    def __init__(self, message: str, law: str, is_untested: bool = False) -> None:
        super().__init__(message)
        self.law = law
        self.is_untested = is_untested


def told_alone(check: Callable[ParametersT, None]) -> Callable[ParametersT, None]:
    """Have pytest show what a check found, without the kit's own lines above it."""

    @wraps(check)
    def checked(*arguments: ParametersT.args, **options: ParametersT.kwargs) -> None:
        __tracebackhide__ = True
        try:
            check(*arguments, **options)
        except (LawError, MissingOption) as error:
            raise error.with_traceback(None)  # noqa: B904 - it is the same error

    return checked


def refuse(difference: str | None, where: str) -> None:
    """Raise where two results differ."""
    if difference:
        raise LawBroken(f"{difference} {where}")


@contextmanager
def refused_end() -> Iterator[None]:
    """Have `os._exit` raise in this process: tests that end with 0 look passed."""
    own, leave = os.getpid(), os._exit

    def refuse(status: int) -> Any:
        if os.getpid() != own:
            leave(status)
        raise SystemExit(f"os._exit({status})")

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = leave


def check_laws(
    laws: Sequence[Law[TrialT]], trial: TrialT, origin: str, error: type[LawError]
) -> None:
    """Check laws one after the other, up to the first that is broken."""
    untried: list[str] = []
    for law in laws:
        try:
            with refused_end():
                law.check(trial)
        except LawBroken as broken:
            text = "\n".join(law.told(origin, str(broken)))
            raise error(text, law.name) from broken.__cause__
        except NotTried as needed:
            untried.append(f"the law {law.name!r} was not tried: {needed}")
    if len(untried) == len(laws):
        why = "; ".join(untried) or "no law is left that could be checked"
        name = laws[0].name if laws else ""
        raise error(f"{origin}: {why}", name, is_untested=True)
    kept = _untried.get()
    if kept is not None:
        kept += untried


def two_instances(kind: str, plugin: Any, registry: Registry) -> tuple[Bound, Bound]:
    """Load a plugin twice, to compare what two instances of it do."""
    first, other = (Resolver(registry).bind(kind, plugin) for _ in range(2))
    return first, other


def smallest(
    items: Sequence[ItemT], breaks: Callable[[Sequence[ItemT]], bool]
) -> Sequence[ItemT]:
    """Take items away for as long as those that stay break a law."""
    kept = [*items]
    size = len(kept) // 2
    while size and len(kept) > 1:
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if fewer and breaks(fewer):
                kept = fewer
            else:
                start += size
        size //= 2
    return kept


def chosen_laws(
    laws: Sequence[Law[TrialT]], names: Collection[str] | None
) -> list[Law[TrialT]]:
    """Return the laws that a caller names."""
    known = [law.name for law in laws]
    wanted = known if names is None else names
    if not wanted:
        raise EvalkitError(f"laws: none is named; there are {', '.join(known)}")
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise EvalkitError(
            f"laws: {unknown[0]!r} is no law; there are {', '.join(known)}"
        )
    return [law for law in laws if law.name in wanted]


@contextmanager
def global_seed(seed: int) -> Iterator[Callable[[], str]]:
    """Seed what all code of a process shares, and put it back afterwards."""
    numpy: Any = sys.modules.get("numpy")
    earlier = random.getstate()
    earlier_numpy = None if numpy is None else numpy.random.get_state()
    random.seed(seed)
    fresh = random.getstate()
    if numpy is not None:
        numpy.random.seed(seed)
        fresh_numpy = _comparable(numpy.random.get_state())

    def was_used() -> str:
        if random.getstate() != fresh:
            return "the module random"
        if numpy is not None and _comparable(numpy.random.get_state()) != fresh_numpy:
            return "numpy.random"
        return ""

    try:
        yield was_used
    finally:
        random.setstate(earlier)
        if numpy is not None:
            numpy.random.set_state(earlier_numpy)


def _comparable(state: Any) -> tuple[Any, ...]:
    return tuple(part.tobytes() if hasattr(part, "tobytes") else part for part in state)
