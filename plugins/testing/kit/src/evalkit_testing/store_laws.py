"""The laws of stores, which raise `LawBroken` where they do not hold."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from evalkit.storage import (
    IF_ABSENT,
    Condition,
    ObjectChangedError,
    ObjectExistsError,
    StoredObject,
    if_match,
)

from evalkit.errors import StorageError
from evalkit_models_base.services import Cleaner
from evalkit_testing.laws import Law, LawBroken
from evalkit_testing.store_trials import CONTENT, Trial

_NAMES = ("a b.txt", "a+b%20.txt", "é 日本.jsonl", "below/it/deep.txt", "z.txt")
_WRITERS = 6


def _check_missing(trial: Trial) -> None:
    with trial.folder() as folder:
        uri = f"{folder}nothing.txt"
        if (found := trial.store.stat(uri)) is not None:
            raise LawBroken(f"stat says {found} of {uri}, where nothing is")
        if listed := [*trial.store.list_objects(folder)]:
            raise LawBroken(f"below {folder}, where nothing is, there is {listed[0]}")
        if not trial.known:
            trial.store.delete(uri)


def _check_known(trial: Trial) -> None:
    for uri, content in trial.known.items():
        found = trial.found(uri)
        _compare(uri, content, found, trial.content(found))


def _check_written(trial: Trial) -> None:
    with trial.folder() as folder:
        uri = f"{folder}it.txt"
        for content in (b"first", b"", CONTENT):
            told, found = trial.put(uri, content), trial.found(uri)
            _compare(uri, content, found, trial.content(found))
            if (told.uri, told.size, told.etag) != (uri, found.size, found.etag):
                raise LawBroken(f"put says {told}, and stat {found}")


def _compare(uri: str, content: bytes, found: StoredObject, read: bytes) -> None:
    if found.uri != uri:
        raise LawBroken(f"what is at {uri} is said to be at {found.uri}")
    if found.size != len(content) or read != content:
        raise LawBroken(
            f"{uri} has {len(content)} bytes; stat says {found.size}, and {len(read)} "
            f"bytes are read{'' if len(read) != len(content) else ', others'}"
        )


def _check_ranges(trial: Trial) -> None:
    with trial.objects() as objects:
        for uri, content in objects.items():
            found, size = trial.found(uri), len(content)
            ranges = [(0, 1), (size // 3, 2 * size // 3), (size - 1, size), (0, size)]
            for start, stop in ranges:
                if not 0 <= start < stop <= size:  # of an object of a byte, or none
                    continue
                read = b"".join(trial.store.read(found, start, stop))
                if read != content[start:stop]:
                    raise LawBroken(
                        f"of {uri} the bytes {start} to {stop} are {read[:20]!r}, not "
                        f"{content[start:stop][:20]!r}"
                    )


def _check_digest(trial: Trial) -> None:
    with trial.objects() as objects:
        for uri, content in objects.items():
            digest = trial.found(uri).digest
            if digest is None or digest.startswith("maybe-"):
                continue
            known = {
                f"sha256:{hashlib.sha256(content).hexdigest()}",
                f"md5:{hashlib.md5(content, usedforsecurity=False).hexdigest()}",
            }
            if digest not in known:
                raise LawBroken(f"the digest of {uri} is said to be {digest}")


def _check_changed(trial: Trial) -> None:
    with trial.folder() as folder:
        uri = f"{folder}it.txt"
        trial.put(uri, b"one")
        before = trial.found(uri)
        trial.put(uri, b"another")
        if trial.found(uri).etag == before.etag:
            raise LawBroken(f"{uri} was replaced, and its etag is {before.etag} still")
        try:
            read = trial.content(before)
        except ObjectChangedError:
            return
        raise LawBroken(
            f"{uri} was replaced, and read gives {read!r}: raise ObjectChangedError"
        )


def _check_conditions(trial: Trial) -> None:
    with trial.folder() as folder:
        if not trial.store.honours_conditions(f"{folder}probe"):
            _refuse_half(trial, folder)
            return
        uri = f"{folder}it.txt"
        trial.put(uri, b"one", IF_ABSENT)
        first = trial.found(uri)
        _refused(trial, uri, IF_ABSENT, "as long as nothing is there")
        trial.put(uri, b"two", if_match(first))
        if trial.content(trial.found(uri)) != b"two":
            raise LawBroken(f"{uri} was written where it was unchanged, and is not so")
        _refused(trial, uri, if_match(first), "as long as it is unchanged")
        _refused(trial, f"{folder}no.txt", if_match(first), "as long as it is there")


def _refuse_half(trial: Trial, folder: str) -> None:
    """Have a store that honours no conditions refuse all that do not hold, or none.

    It may look before it writes, and not keep writers at once apart.
    """
    empty, full = f"{folder}empty.txt", f"{folder}it.txt"
    trial.put(empty, b"")
    trial.put(full, b"one")
    first = trial.found(full)
    trial.put(full, b"another")
    tries = {
        "over an empty object, as long as nothing is there": (empty, IF_ABSENT),
        "over an object, as long as nothing is there": (full, IF_ABSENT),
        "over a changed object, as long as it is unchanged": (full, if_match(first)),
        "where an object was, as long as it is there": (
            f"{folder}no.txt",
            if_match(first),
        ),
    }
    refused = {what: _is_refused(trial, *each) for what, each in tries.items()}
    if len({*refused.values()}) > 1:
        one = next(what for what, is_so in refused.items() if is_so)
        other = next(what for what, is_so in refused.items() if not is_so)
        raise LawBroken(
            f"it refuses to write {one}, but writes {other}: refuse every condition "
            "that does not hold, or ignore all"
        )


def _is_refused(trial: Trial, uri: str, condition: Condition) -> bool:
    try:
        trial.put(uri, b"overwritten", condition)
    except (ObjectExistsError, ObjectChangedError):
        return True
    return False


def _refused(trial: Trial, uri: str, condition: Condition, how: str) -> None:
    before = trial.store.stat(uri)
    try:
        trial.put(uri, b"overwritten", condition)
    except (ObjectExistsError, ObjectChangedError):
        if trial.store.stat(uri) == before:
            return
        raise LawBroken(f"{uri} was changed by a write that was refused") from None
    raise LawBroken(
        f"{uri} is written {how}, which is not so; where the server ignores "
        "conditions, honours_conditions must say so"
    )


def _check_races(trial: Trial) -> None:
    with trial.folder() as folder:
        if not trial.store.honours_conditions(f"{folder}probe"):
            return
        uri = f"{folder}it.txt"

        def write(number: int) -> bytes | None:
            content = f"by {number}".encode() * 1000
            try:
                trial.put(uri, content, IF_ABSENT)
            except ObjectExistsError:
                return None
            return content

        with ThreadPoolExecutor(_WRITERS) as pool:
            written = [each for each in pool.map(write, range(_WRITERS)) if each]
        if len(written) != 1:
            raise LawBroken(
                f"of {_WRITERS} writers at once {len(written)} believe that they wrote "
                f"{uri}"
            )
        if trial.content(trial.found(uri)) != written[0]:
            raise LawBroken(f"{uri} is not what its one writer wrote")


def _check_listed(trial: Trial) -> None:
    if trial.known:
        folders = {uri.rpartition("/")[0] + "/" for uri in trial.known}
        for folder in folders:
            listed = [each.uri for each in trial.store.list_objects(folder)]
            below = {uri for uri in trial.known if uri.startswith(folder)}
            _refuse_list(folder, listed, sorted(below))
        return
    with trial.folder() as folder:
        uris = [f"{folder}in/{name}" for name in _NAMES]
        for uri in (*uris, f"{folder}inner.txt", f"{folder}out.txt"):
            trial.put(uri, uri.encode())
        listed = [each.uri for each in trial.store.list_objects(f"{folder}in/")]
        if strange := {*listed} - {*uris}:
            raise LawBroken(f"below {folder}in/ it lists {min(strange)}")
        _refuse_list(f"{folder}in/", listed, uris)
        for uri in uris:
            if trial.content(trial.found(uri)) != uri.encode():
                raise LawBroken(f"{uri} is listed, and something else is read there")


def _refuse_list(folder: str, listed: Sequence[str], wanted: Sequence[str]) -> None:
    if lacking := {*wanted} - {*listed}:
        raise LawBroken(f"below {folder} it does not list {min(lacking)}")
    if listed != sorted(listed):
        raise LawBroken(f"below {folder} it lists {[*listed]}, which is not sorted")


def _check_deleted(trial: Trial) -> None:
    with trial.folder() as folder:
        uri, other = f"{folder}it.txt", f"{folder}it.txt.more"
        for each in (uri, other):
            trial.put(each, b"one")
        found = trial.found(uri)
        trial.store.delete(uri)
        if trial.store.stat(uri) is not None:
            raise LawBroken(f"{uri} was deleted, and is there")
        if trial.store.stat(other) is None:
            raise LawBroken(f"{uri} was deleted, and {other} with it")
        try:
            read = trial.content(found)
        except StorageError:
            return
        except Exception as error:
            raise LawBroken(
                f"{uri} was deleted, and read fails with {type(error).__name__}: "
                f"{error}; every method raises evalkit.errors.StorageError"
            ) from error
        raise LawBroken(f"{uri} was deleted, and read gives {read!r}")


def _check_errors(trial: Trial) -> None:
    with trial.folder() as folder:
        # none leads out of the folder: what lies there is not the law's
        for name in ("a" * 3000, "a/b/../../c", "a//b", "a\x00b", "\udcff"):
            uri = f"{folder}{name}"
            try:
                trial.store.stat(uri)
                [*trial.store.list_objects(f"{uri}/")]
                if not trial.known:
                    trial.put(uri, b"one")
                    trial.store.delete(uri)
            except StorageError as error:
                _refuse_secrets(trial, str(error))
            except Exception as error:
                raise LawBroken(
                    f"{uri[:80]!r} fails with {type(error).__name__}: {error}; every "
                    "method raises evalkit.errors.StorageError"
                ) from error


def _check_identity(trial: Trial) -> None:
    first, second = (trial.store.identity(trial.place) for _ in range(2))
    if not isinstance(first, str) or first != second:
        raise LawBroken(f"identity says {first!r}, and then {second!r}")
    _refuse_secrets(trial, first)


def _refuse_secrets(trial: Trial, text: str) -> None:
    if Cleaner(trial.secrets).finds(text):
        raise LawBroken(
            "it tells a secret; evalkit_models_base.services.Cleaner takes it out"
        )


def _check_threads(trial: Trial) -> None:
    with trial.folder() as folder:
        objects = dict(trial.known)
        for number in () if objects else range(_WRITERS):
            objects[f"{folder}{number}"] = f"{number}".encode() * 500
            trial.put(f"{folder}{number}", objects[f"{folder}{number}"])

        def read(uri: str) -> tuple[str, bytes]:
            return uri, trial.content(trial.found(uri))

        with ThreadPoolExecutor(_WRITERS) as pool:
            for uri, content in pool.map(read, [*objects] * 4):
                if content != objects[uri]:
                    raise LawBroken(f"{uri} read by one of several threads is another")


def _check_read_only(trial: Trial) -> None:
    if not trial.known:
        return
    uri = next(iter(trial.known))
    try:
        trial.put(f"{uri}.written", b"one")
    except StorageError as error:
        if "://" not in str(error):
            raise LawBroken(f"that it writes nothing it says as {error}") from error
    else:
        raise LawBroken(f"it writes {uri}.written; then check it without known=")
    try:
        trial.store.honours_conditions(f"{uri}.written")
    except StorageError:
        return
    raise LawBroken(
        "honours_conditions says something of writes, so that `-o` blames the server: "
        "raise the StorageError of put there, too"
    )


OF_READING = (
    *("missing", "known", "ranges", "digest", "listed", "errors", "identity"),
    *("threads", "read-only"),
)
"""Laws of a store that only reads."""

STORAGE_LAWS: tuple[Law[Trial], ...] = (
    Law("missing", "where nothing is, it says so and does not fail.", _check_missing),
    Law("known", "what is there is read as it is.", _check_known),
    Law("written", "what was written is there, whole.", _check_written),
    Law("ranges", "any range of an object is read.", _check_ranges),
    Law("digest", "a digest is that of the content.", _check_digest),
    Law(
        "changed",
        "an object that was replaced is not read as what it was.",
        _check_changed,
    ),
    Law(
        "conditions",
        "a write whose condition does not hold is refused.",
        _check_conditions,
    ),
    Law("races", "of several writers at once one wins.", _check_races),
    Law("listed", "all below a folder is listed, sorted.", _check_listed),
    Law("deleted", "what was deleted is gone, and nothing else.", _check_deleted),
    Law("errors", "whatever the URI, it fails with a StorageError.", _check_errors),
    Law("identity", "it says where it keeps things, and no secret.", _check_identity),
    Law("threads", "several threads may use it at once.", _check_threads),
    Law("read-only", "one that only reads says so.", _check_read_only),
)
"""What holds of every store."""
