"""Checks that a place keeps files whole, and says what is there."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit import EvalkitError, PluginError
from evalkit.errors import StorageError
from evalkit.places import place_of
from evalkit_models_base.services import Cleaner, secrets_of_url
from evalkit_testing.laws import LawBroken, LawError, chosen_laws, told_alone
from evalkit_testing.store_laws import OF_READING, STORAGE_LAWS
from evalkit_testing.store_trials import Trial


class StorageLawError(LawError):
    """A store breaks a law.

    Attributes:
        law: Name of the law, one of `STORAGE_LAWS`.
    """


@told_alone
def check_storage(
    place: str,
    *,
    store: Any = None,
    known: Mapping[str, bytes] | None = None,
    secrets: Sequence[str] = (),
    laws: Collection[str] | None = None,
) -> None:
    """Check that a store keeps the laws of `evalkit_testing.STORAGE_LAWS`.

    It writes files of a few bytes below the place, each law in a folder of its own.
    These stay there.

    Args:
        place: A URI that ends with a slash, below which it may write.
        store: The `evalkit.places.Place`, a class or an instance. Default: the
            installed one of the scheme.
        known: Files that are there, by URI, of a place that only reads. Then nothing is
            written.
        secrets: What must not be in what it says, beside those of the place itself.
        laws: Names of the laws to check; all by default, of a store that only reads
            those that write nothing.

    Raises:
        StorageLawError: It breaks a law; the message has the law and the URI. It is an
            AssertionError.
        EvalkitError: The place has no slash at its end, or there is no such law.
        PluginError: The store is unknown or broken.
    """
    chosen = chosen_laws(STORAGE_LAWS, laws)
    if not place.endswith("/") or "://" not in place:
        raise EvalkitError(
            f"the place must be a URI with a slash at its end, is {place}"
        )
    if known is not None:
        chosen = [law for law in chosen if law.name in OF_READING]
        if not known or not chosen:
            raise EvalkitError(
                "known= names no file, so that nothing could be read"
                if chosen
                else f"with known= only these are checked: {', '.join(OF_READING)}"
            )
    made = place_of(place) if store is None else store() if _is_class(store) else store
    hidden = [*secrets, *secrets_of_url(place)]
    clean = Cleaner(hidden)
    origin = f"the store {type(made).__name__} of {clean(place)}"
    with tempfile.TemporaryDirectory() as files:
        trial = Trial(made, place, known or {}, hidden, Path(files))
        for law in chosen:
            try:
                law.check(trial)
            except (LawBroken, StorageError, PluginError) as error:
                failed = "" if isinstance(error, LawBroken) else "it failed: "
                raise StorageLawError(
                    f"{origin} breaks the law {law.name!r}: {law.statement}\n"
                    f"  found: {failed}{clean(str(error))}",
                    law.name,
                ) from (error if failed else error.__cause__)


def _is_class(store: Any) -> bool:
    return isinstance(store, type)
