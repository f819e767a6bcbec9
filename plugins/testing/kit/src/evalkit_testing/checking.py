"""Checks laws on data that hypothesis draws, the same data each time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, Self, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from evalkit import EvalkitError
from evalkit_testing.laws import Law, LawBroken, LawError, refused_end

MAX_EXAMPLES = 25
"""How much is drawn, by default."""

MOST_SHRINKS = 300
"""Smaller data that are tried once a law is found to be broken."""

SampleT = TypeVar("SampleT")


class Trial(ABC):
    """One check of a law: a plugin, and what was drawn for it."""

    @property
    @abstractmethod
    def origin(self) -> str:
        """The plugin's name with its parameters and its distribution."""

    @abstractmethod
    def again(self) -> Self:
        """Return the same trial, of which nothing is computed yet."""

    @abstractmethod
    def shown(self) -> list[str]:
        """Return lines that show what was drawn."""

    @abstractmethod
    def failures(self) -> tuple[type[BaseException], ...]:
        """Return what an `except` clause takes for a failure of the plugin."""

    @abstractmethod
    def failure(self, error: BaseException) -> str | None:
        """Return what a failure is told by; None where the plugin may fail so."""


TrialT = TypeVar("TrialT", bound=Trial)


class _Enough(BaseException):
    """Ends shrinking; no Exception, which hypothesis would take for a failure."""


class _Found(NamedTuple, Generic[TrialT]):
    """A law that is broken, and by what."""

    error: LawError
    trial: TrialT


class Checks(Generic[SampleT, TrialT]):
    """How the laws of one plugin are checked.

    Args:
        laws: The laws.
        make_trial: Makes a trial of what is drawn.
        drawn: Returns what draws samples, for all laws or for one of them.
        error: What is raised where a law is broken.
        max_examples: How many samples are drawn.
    """

    def __init__(
        self,
        laws: Sequence[Law[TrialT]],
        make_trial: Callable[[SampleT], TrialT],
        drawn: Callable[[Law[TrialT] | None], st.SearchStrategy[SampleT]],
        error: type[LawError],
        max_examples: int,
    ) -> None:
        self._laws = laws
        self._make_trial = make_trial
        self._drawn = drawn
        self._error = error
        self._max_examples = max_examples

    def run(self, listed: Sequence[SampleT] = ()) -> None:
        """Check all laws with the same data, and then the first that is broken alone.

        So that everything is drawn and computed once, and shrinking never ends at data
        that break another law.
        """
        broken: dict[str, _Found[TrialT]] = {}

        def collect(sample: SampleT) -> None:
            trial = self._make_trial(sample)
            for law in self._laws:
                if law.name not in broken:
                    found = self._broken_by(law, trial)
                    if found is not None:
                        broken[law.name] = _Found(found, trial)

        for sample in listed:
            collect(sample)
        _run_drawn(collect, self._drawn(None), self._max_examples, shrinks=False)
        for law in self._laws:
            if law.name in broken:
                raise self._shrunk(law) or self._repeated(law, broken[law.name])

    def _broken_by(self, law: Law[TrialT], trial: TrialT) -> LawError | None:
        try:
            with refused_end():
                law.check(trial)
        except LawBroken as error:
            return self._law_error(law, trial, str(error))
        except trial.failures() as error:
            text = trial.failure(error)
            if text is None:
                return None
            found = self._law_error(law, trial, f"it failed: {text}")
            found.__cause__ = error
            return found
        return None

    def _shrunk(self, law: Law[TrialT]) -> LawError | None:
        """Return the error for the smallest data found that break a law, if any do."""
        known: dict[str, LawError | None] = {}
        smallest: list[tuple[str, TrialT]] = []
        tries = 0

        def check(sample: SampleT) -> None:
            nonlocal tries
            key, trial = repr(sample), self._make_trial(sample)
            if key not in known:
                tries += bool(smallest)
                if tries > MOST_SHRINKS:
                    raise _Enough
                known[key] = self._broken_by(law, trial)
            if known[key] is not None:
                smallest[:] = [(key, trial)]
                raise LawError(str(known[key]), law.name)

        with suppress(LawError, _Enough):
            most = max(self._max_examples, MAX_EXAMPLES)
            _run_drawn(check, self._drawn(law), most, shrinks=MOST_SHRINKS > 0)
        for key, trial in smallest:
            found = known[key]
            if found is not None:
                return self._repeated(law, _Found(found, trial))
        return None

    def _repeated(self, law: Law[TrialT], found: _Found[TrialT]) -> LawError:
        """Return what breaks a law when it is tried again, or else what broke it."""
        again = self._broken_by(law, found.trial.again())
        if again is not None:
            return again
        text = f"{found.error}\n  It is not so each time that it is tried."
        return self._error(text, law.name)

    def _law_error(self, law: Law[TrialT], trial: TrialT, found: str) -> LawError:
        lines = [*law.told(trial.origin, found), *trial.shown()]
        return self._error("\n".join(lines), law.name)


def _run_drawn(
    check: Callable[[SampleT], None],
    drawn: st.SearchStrategy[SampleT],
    max_examples: int,
    shrinks: bool,
) -> None:
    """Check what is drawn; where it raises and shrinks, look for smaller data."""

    @settings(
        max_examples=max_examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate, Phase.shrink) if shrinks else (Phase.generate,),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(sample=drawn)
    def run(sample: SampleT) -> None:
        check(sample)

    run()


def collect_drawn(drawn: st.SearchStrategy[SampleT], count: int) -> list[SampleT]:
    """Return what a strategy draws, the same each time."""
    found: list[SampleT] = []
    if not drawn.is_empty:
        _run_drawn(found.append, drawn, count, shrinks=False)
    return found


def given_examples(
    examples: Any, form: str, read: Callable[[Any], SampleT]
) -> st.SearchStrategy[SampleT] | list[SampleT]:
    """Read the examples that an author gives."""
    if isinstance(examples, st.SearchStrategy):
        return examples.map(read)
    is_list = isinstance(examples, Sequence) and not isinstance(examples, str)
    if not is_list or not examples:
        raise EvalkitError(
            "examples must be a hypothesis strategy or a list that is not empty, of "
            f"{form}, is {examples!r}"
        )
    return [read(example) for example in examples]
