"""Checks that an adapter of rows, or an extractor, does what it may at any speed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit import AdapterError, EvalkitError, Registry
from evalkit_testing.laws import (
    Law,
    LawError,
    MissingOption,
    check_laws,
    chosen_laws,
    told_alone,
)
from evalkit_testing.row_laws import EXTRACTOR_LAWS, ROW_LAWS, Trial, makes_adapters


class AdapterLawError(LawError):
    """An adapter breaks a law; `law` is its name, one of `ADAPTER_LAWS`."""


@told_alone
def check_adapter(
    adapter: Any,
    *,
    rows: Sequence[Any] | None = None,
    broken: Sequence[Any] = (),
    files: Sequence[str | Path] = (),
    texts: Sequence[str] | None = None,
    choices: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    configuration: Any = None,
    laws: Collection[str] | None = None,
    registry: Registry | None = None,
) -> None:
    """Check that an adapter keeps the laws of `evalkit_testing.ADAPTER_LAWS`.

    Rows are damaged as well: a field is left out, or holds what it should not. Beside
    the texts that are given to an extractor there are others: long ones, lines without
    an end, code, other scripts, half of a mark-up.

    Args:
        adapter: Name of an installed adapter, or a class or instance.
        rows: Rows that an adapter of rows can use.
        broken: Rows that it cannot use.
        files: Files that its `read_file` reads.
        texts: Texts out of which an extractor takes an answer.
        choices: An example's own options, for an extractor that needs them.
        labels: The labels, for an extractor that needs them.
        configuration: What its `Parameters` read.
        laws: Names of the laws to check; all of its kind by default.
        registry: Where plugins are found; all that are installed by default.

    Raises:
        AdapterLawError: It breaks a law; the message has the law and the smallest rows.
            It is an AssertionError.
        EvalkitError: There are no rows or texts, or there is no such law.
        PluginError: The adapter is unknown or broken.
    """
    chosen = chosen_laws(ADAPTER_LAWS, laws)
    registry = registry or Registry()
    another = makes_adapters(adapter, configuration, registry)
    first = _first(another, configuration)
    needed, given = ("texts", texts) if first.is_extractor else ("rows", rows)
    if not given and not files:
        raise MissingOption(
            f"{first.component.origin}: give check_adapter {needed}=…, a list of "
            f"{needed} that it can use"
        )
    own = EXTRACTOR_LAWS if first.is_extractor else ROW_LAWS
    trial = Trial(
        first,
        another,
        rows=[*(rows or ())],
        broken=[*broken],
        files=[Path(file) for file in files],
        texts=[*(texts or ())],
        choices=choices,
        labels=labels,
    )
    names = {law.name for law in own}
    of_kind = [law for law in chosen if law.name in names]
    if laws is not None and not of_kind:
        raise EvalkitError(
            f"laws: {first.component.origin} has these: {', '.join(sorted(names))}"
        )
    by_name: Mapping[str, Law[Trial]] = {law.name: law for law in own}
    mine = [by_name[law.name] for law in of_kind]
    check_laws(mine, trial, first.component.origin, AdapterLawError)


def _first(another: Callable[[], Any], configuration: Any) -> Any:
    try:
        return another()
    except AdapterError as error:
        if configuration is not None:
            raise
        raise MissingOption(
            f"{error}; give check_adapter configuration=…, what its `Parameters` read"
        ) from error


ADAPTER_LAWS: tuple[Law[Trial], ...] = (
    *ROW_LAWS,
    *(law for law in EXTRACTOR_LAWS if law.name != "strange"),  # is in both
)
"""What holds of every adapter: of one that changes rows, and of an extractor."""
