"""Laws of places, and the check that one keeps files whole."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit import EvalkitError, PluginError
from evalkit.errors import ObjectExistsError, StorageError
from evalkit.places import Entry, Place, place_of
from evalkit_models_base.services import Cleaner, secrets_of_url
from evalkit_testing.laws import Law, LawBroken, LawError, chosen_laws, told_alone

CONTENT = bytes(range(256)) * 3
"""Content of files where any content will do."""


@dataclass
class Trial:
    """A place, and where it is tried."""

    place: Place
    root: str
    known: Mapping[str, bytes]
    secrets: Sequence[str]
    files: Path

    def new_folder(self) -> str:
        """Return the URI of a folder without files."""
        return f"{self.root.rstrip('/')}/{uuid.uuid4().hex}/"

    def put(self, uri: str, content: bytes, *, overwrite: bool = True) -> None:
        """Write bytes."""
        path = self.files / uuid.uuid4().hex
        path.write_bytes(content)
        self.place.put(path, uri, overwrite=overwrite)

    def read(self, uri: str) -> bytes:
        """Read a file that is there."""
        path = self.place.local(uri)
        if path is None:
            raise LawBroken(f"local returns None for {uri}, which is there")
        return path.read_bytes()

    def names(self, folder: str) -> list[str]:
        """Return the URIs below a folder."""
        return [entry.uri for entry in self.place.list(folder)]


_NAMES = ("a b.txt", "a+b%20.txt", "é 日本.jsonl", "below/it/deep.txt", "z.txt")
_THREADS = 6


def _check_missing(trial: Trial) -> None:
    folder = trial.new_folder()
    uri = f"{folder}nothing.txt"
    if (path := trial.place.local(uri)) is not None:
        raise LawBroken(f"local returns {path} for {uri}, where nothing is")
    for name in (folder, uri):
        if names := trial.names(name):
            raise LawBroken(f"list of {name}, where nothing is, returns {names[0]}")


def _check_known(trial: Trial) -> None:
    for uri, content in trial.known.items():
        _compare(trial, uri, content)


def _check_written(trial: Trial) -> None:
    uri = f"{trial.new_folder()}it.txt"
    for content in (b"first", b"", CONTENT):
        trial.put(uri, content)
        _compare(trial, uri, content)


def _compare(trial: Trial, uri: str, content: bytes) -> None:
    if (read := trial.read(uri)) != content:
        raise LawBroken(
            f"{uri} has {len(content)} bytes, and {len(read)} bytes are read"
            f"{'' if len(read) != len(content) else ', others'}"
        )


def _check_changed(trial: Trial) -> None:
    uri = f"{trial.new_folder()}it.txt"
    versions = []
    for content in (b"one", b"two"):
        trial.put(uri, content)
        versions += [entry.version for entry in trial.place.list(uri)]
    if len({*versions}) != 2:
        raise LawBroken(f"{uri} was replaced, and its versions are {versions}")


def _check_kept(trial: Trial) -> None:
    uri = f"{trial.new_folder()}it.txt"
    trial.put(uri, b"one", overwrite=False)
    try:
        trial.put(uri, b"another", overwrite=False)
    except ObjectExistsError:
        pass
    else:
        raise LawBroken(f"{uri} is replaced with overwrite=False")
    _compare(trial, uri, b"one")


def _check_listed(trial: Trial) -> None:
    if trial.known:
        folders = {uri.rpartition("/")[0] + "/" for uri in trial.known}
        expected = {f: {u for u in trial.known if u.startswith(f)} for f in folders}
    else:
        folder = f"{trial.new_folder()}in/"
        expected = {folder: {f"{folder}{name}" for name in _NAMES}}
        for uri in (*expected[folder], f"{folder[:-1]}ner.txt"):
            trial.put(uri, uri.encode())
    for folder, uris in expected.items():
        entries = [*trial.place.list(folder)]
        if strange := [each for each in entries if not isinstance(each, Entry)]:
            raise LawBroken(f"list returns {strange[0]!r}, not evalkit.places.Entry")
        names = {entry.uri for entry in entries}
        if lacking := uris - names:
            raise LawBroken(f"below {folder} it does not list {min(lacking)}")
        if strange_names := {name for name in names if not name.startswith(folder)}:
            raise LawBroken(f"below {folder} it lists {min(strange_names)}")
    for uri in (uri for uris in expected.values() for uri in uris):
        if trial.names(uri) != [uri]:
            raise LawBroken(f"list of the file {uri} returns {trial.names(uri)}")
        _compare(trial, uri, trial.known.get(uri, uri.encode()))


def _check_errors(trial: Trial) -> None:
    folder = trial.new_folder()
    # none leads out of the folder: what lies there is not the law's
    for name in ("a" * 3000, "a/b/../../c", "a//b", "a\x00b", "\udcff"):
        uri = f"{folder}{name}"
        try:
            trial.place.local(uri)
            trial.names(f"{uri}/")
            if not trial.known:
                trial.put(uri, b"one")
        except StorageError as error:
            if Cleaner(trial.secrets).finds(str(error)):
                raise LawBroken(
                    "an error contains a secret; "
                    "evalkit_models_base.services.Cleaner removes it"
                ) from error
        except Exception as error:
            raise LawBroken(
                f"{uri[:80]!r} fails with {type(error).__name__}: {error}; every "
                "method raises evalkit.errors.StorageError"
            ) from error


def _check_threads(trial: Trial) -> None:
    files = dict(trial.known)
    folder = trial.new_folder()
    for number in () if files else range(_THREADS):
        files[f"{folder}{number}"] = f"{number}".encode() * 500
        trial.put(f"{folder}{number}", files[f"{folder}{number}"])
    with ThreadPoolExecutor(_THREADS) as pool:
        names = [*files] * 4
        contents = pool.map(trial.read, names)
        for uri, content in zip(names, contents, strict=True):
            if content != files[uri]:
                raise LawBroken(f"{uri} read by one of several threads is another")


def _check_read_only(trial: Trial) -> None:
    if not trial.known:
        return
    uri = f"{next(iter(trial.known))}.written"
    try:
        trial.put(uri, b"one")
    except StorageError as error:
        if uri not in str(error):
            raise LawBroken(f"the refusal to write does not name {uri}") from error
    else:
        raise LawBroken(f"it writes {uri}; then check it without known=")


OF_READING = ("missing", "known", "listed", "errors", "threads", "read-only")
"""Laws of a place that only reads."""

STORAGE_LAWS: tuple[Law[Trial], ...] = (
    Law("missing", "where nothing is, it says so and does not fail.", _check_missing),
    Law("known", "what is there is read as it is.", _check_known),
    Law("written", "what was written is there, whole.", _check_written),
    Law("changed", "a file that was replaced has another version.", _check_changed),
    Law("kept", "a file is not replaced with overwrite=False.", _check_kept),
    Law("listed", "all files below a folder are listed.", _check_listed),
    Law("errors", "whatever the URI, it fails with a StorageError.", _check_errors),
    Law("threads", "several threads may use it at once.", _check_threads),
    Law("read-only", "one that only reads says so.", _check_read_only),
)
"""What holds of every place."""


class StorageLawError(LawError):
    """A store breaks a law; `law` is its name, one of `STORAGE_LAWS`."""


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
