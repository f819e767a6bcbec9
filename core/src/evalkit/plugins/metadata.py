"""Reads what installed distributions say of themselves, and whether they fit this core.

Whatever lies in a folder called `*.dist-info`, reading it takes bounded time and
memory and ends with what it says or with `UnreadableMetadata`.

The ranges that are in use are compared here; whatever else a requirement may hold is
left to `packaging`, which takes longer to import than `evalkit list` takes to run.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import stat
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from evalkit.base.names import normalise_distribution

ENTRY_POINTS = "entry_points.txt"

MAX_BYTES = 1024 * 1024
"""Most that is read of one file; the largest in use have some ten thousand bytes."""

_LONGEST = 80


class UnreadableMetadata(Exception):
    """A file of a distribution that cannot be read; the message names the file."""


class EntryPoint(NamedTuple):
    """One line of `entry_points.txt`."""

    group: str
    name: str
    value: str


class Header(NamedTuple):
    """What the first lines of a distribution's metadata say; "" where nothing."""

    name: str = ""
    version: str = ""
    summary: str = ""
    requires: tuple[str, ...] = ()
    """The values of `Requires-Dist`, as they are written."""


class DistributionFiles:
    """The files that describe one distribution.

    Args:
        distribution: As importlib.metadata found it.

    Attributes:
        folder: The folder that holds them.
    """

    def __init__(self, distribution: importlib.metadata.Distribution) -> None:
        self._distribution = distribution
        # without it importlib.metadata has no way to say where a file lies
        self._path = getattr(distribution, "_path", None)
        self.folder = str(self._path or "an unknown folder")

    @property
    def folder_name(self) -> str:
        """The distribution's name as its folder spells it, normalised.

        By this name importlib.metadata finds a distribution too.
        """
        # as texts: this is asked of every distribution
        folder, name = os.path.split(self.folder.rstrip(os.sep))
        if name == "EGG-INFO":
            name = os.path.basename(folder)  # noqa: PTH119
        stem = os.path.splitext(name)[0]  # noqa: PTH122
        return normalise_distribution(stem.partition("-")[0])

    def is_empty(self) -> bool:
        """Tell whether there is nothing in it, as after a removal that failed."""
        names = ("METADATA", "PKG-INFO", ENTRY_POINTS)
        return (
            isinstance(self._path, Path)
            and not any(os.path.lexists(f"{self.folder}/{name}") for name in names)
            and not self._path.is_file()
        )

    def entry_points(self) -> str | None:
        """Read `entry_points.txt`.

        Returns:
            Its text; None where there is none.

        Raises:
            UnreadableMetadata: It is no file, not UTF-8, too large or not permitted.
        """
        raw = self._read(ENTRY_POINTS)
        if raw is None:
            return None
        if len(raw) > MAX_BYTES:
            raise UnreadableMetadata(
                f"its {ENTRY_POINTS} has more than {MAX_BYTES} bytes"
            )
        return _decode(ENTRY_POINTS, raw)

    def header(self) -> Header:
        """Read the first lines of `METADATA`, or of `PKG-INFO`.

        Raises:
            UnreadableMetadata: There is neither, or it cannot be read.
        """
        for name in ("METADATA", "PKG-INFO"):
            raw = self._read(name)
            if raw is not None:
                break
        else:
            raise UnreadableMetadata("it has no METADATA")
        # what follows the empty line is a README, which may be long and in any encoding
        head = raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0]
        return _parse_header(_decode(name, head))

    def _read(self, name: str) -> bytes | None:
        """Read the first `MAX_BYTES` + 1 bytes of a file; None where there is none."""
        try:
            if isinstance(self._path, Path):
                return _read_file(f"{self.folder}/{name}", name)
            text = self._distribution.read_text(name)
        except UnreadableMetadata:
            raise
        except OSError as error:
            raise UnreadableMetadata(
                f"its {name} cannot be read: {error.strerror or error}"
            ) from error
        except Exception as error:
            raise UnreadableMetadata(
                f"its {name} cannot be read: {type(error).__name__}: {error}"
            ) from error
        return None if text is None else text.encode()[: MAX_BYTES + 1]


def _read_file(path: str, name: str) -> bytes | None:
    # plain calls: this runs twice for each distribution, and pathlib's cost double
    try:
        status = os.stat(path)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
        raise UnreadableMetadata(f"its {name} is not a file")
    with open(path, "rb") as file:  # noqa: PTH123
        return file.read(min(status.st_size, MAX_BYTES) + 1)


def _decode(name: str, raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UnreadableMetadata(
            f"its {name} is not UTF-8: byte 0x{raw[error.start]:02x} in line {line}"
        ) from error


_LINE_GOES_ON = re.compile(r"\n[ \t]+")


def installed_header(name: str) -> Header:
    """Return what the metadata of an installed distribution say.

    Args:
        name: The distribution's name.

    Returns:
        The lines above its description.

    Raises:
        PackageNotFoundError: It is not installed.
    """
    found = importlib.metadata.distribution(name)
    text = found.read_text("METADATA")
    if text is None:  # an egg, whose requirements are in a file of their own
        return Header(name, found.version, requires=tuple(found.requires or ()))
    # importlib.metadata would parse it with the description, as if it were a mail
    head = text.partition("\n\n")[0]
    return _parse_header(_LINE_GOES_ON.sub(" ", head))


def _parse_header(text: str) -> Header:
    first: dict[str, str] = {}
    requires: list[str] = []
    for line in text.split("\n"):
        if not line:
            break
        key, colon, value = line.partition(":")
        key = key.lower()
        if key == "requires-dist":
            requires.append(value.strip())
        elif colon:
            first.setdefault(key, value.strip())
    return Header(
        first.get("name", ""),
        first.get("version", ""),
        first.get("summary", ""),
        tuple(requires),
    )


def parse_entry_points(text: str) -> tuple[list[EntryPoint], list[str]]:
    """Read the lines of `entry_points.txt`, each by itself.

    Args:
        text: The file's text.

    Returns:
        The entry points, and a sentence for each line that is not of its form.
    """
    found: list[EntryPoint] = []
    malformed: list[str] = []
    group: str | None = None
    is_group_broken = False
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        name, equals, value = line.partition("=")
        if line[0] == "[":
            is_group_broken = line[-1] != "]"
            group = line[1:-1].strip()
            if is_group_broken:
                malformed.append(f"line {number}, {quote(line)}, lacks its ']'")
        elif is_group_broken:
            pass  # one report for the group is enough
        elif group is None:
            malformed.append(f"line {number}, {quote(line)}, is before any [group]")
        elif not equals or not name.strip():
            malformed.append(
                f"line {number}, {quote(line)}, is not of the form name = object"
            )
        else:
            found.append(EntryPoint(group, name.rstrip(), value.lstrip()))
    return found, malformed


def quote(text: str) -> str:
    """Return a text from a file as it may be printed: quoted, escaped and short."""
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


CORE = "evalkit-core"

_ON_CORE = re.compile(r"evalkit[-_.]+core(?![-\w.])", re.IGNORECASE | re.ASCII)
_EXTRAS = r"(?:\[[a-z0-9]+(?:,[a-z0-9]+)*\])?"
_CLAUSE = r"(?:>=|<=|==|!=|<|>)\s*[0-9]{1,9}(?:\.[0-9]{1,9})*"
_PLAIN_RANGE = re.compile(rf"{_EXTRAS}\s*((?:{_CLAUSE}(?:\s*,\s*{_CLAUSE})*)?)\s*")
_PLAIN_CLAUSE = re.compile(r"([<>=!]=?)\s*([0-9.]+)")
_PLAIN_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})*")

_NAME = re.compile(r"[a-z0-9][-_.a-z0-9]*", re.IGNORECASE)


def required_distribution(requirement: str) -> str:
    """Return the normalised name of the distribution that a requirement is about.

    Args:
        requirement: A `Requires-Dist`.

    Returns:
        The name; "" for a text that does not begin with one.
    """
    name = _NAME.match(requirement)
    return normalise_distribution(name[0]) if name else ""


_NOT_OURS = f"which is another project; evalkit's distribution is {CORE}"


class Verdict(NamedTuple):
    """What one requirement says about the evalkit-core that is running."""

    excludes: bool
    """Whether it excludes that version."""
    message: str = ""
    """Why it does, or why it cannot be read; "" for a requirement that is met."""


class CoreCheck:
    """Compares what distributions require with the evalkit-core that is running.

    Args:
        running: Its version; looked up in its metadata by default.
    """

    def __init__(self, running: str | None = None) -> None:
        self._given = running
        self._verdicts: dict[str, Verdict] = {}

    @cached_property
    def running(self) -> str | None:
        """The version of evalkit-core; None where it is not known."""
        if self._given is not None:
            return self._given

        try:
            # a core whose own metadata are broken has no version to be compared
            return installed_header(CORE).version or None
        except Exception:
            return None

    def verdicts(self, requires: Iterable[str]) -> Iterator[Verdict]:
        """Judge those requirements that are about evalkit-core.

        Args:
            requires: The `Requires-Dist` of a distribution.

        Yields:
            A verdict for each that is not met or cannot be read.
        """
        for text in requires:
            if not _ON_CORE.match(text):
                if required_distribution(text) == "evalkit":
                    yield Verdict(False, f"it requires {quote(text)}, {_NOT_OURS}")
                continue
            if text not in self._verdicts:
                self._verdicts[text] = self._judge(text)
            if self._verdicts[text].message:
                yield self._verdicts[text]

    def _judge(self, text: str) -> Verdict:
        if self.running is None:
            return Verdict(False)
        admits = _admits_plainly(text, self.running)
        if admits is None:
            try:
                admits = _admits(text, self.running)
            except Exception as error:  # also what a hostile text makes of a parser
                reason = str(error).partition("\n")[0].rstrip(":. ")
                return Verdict(
                    False, f"its requirement {quote(text)} cannot be read: {reason}"
                )
        if admits:
            return Verdict(False)
        return Verdict(
            True,
            f"it requires {quote(text)}, but {CORE} {self.running} is running; upgrade "
            f"the plugin or {CORE}, whichever is older",
        )


def _admits_plainly(text: str, running: str) -> bool | None:
    """Compare plain numbers; None where there is more to it."""
    name = _ON_CORE.match(text)
    plain = name and _PLAIN_RANGE.fullmatch(text, name.end())
    if not plain or not _PLAIN_VERSION.fullmatch(running):
        return None
    version = _release(running)
    for operator, number in _PLAIN_CLAUSE.findall(plain[1]):
        bound = _release(number)
        holds = {
            ">=": version >= bound,
            "<=": version <= bound,
            "==": version == bound,
            "!=": version != bound,
            "<": version < bound,
            ">": version > bound,
        }[operator]
        if not holds:
            return False
    return True


def _release(version: str) -> tuple[int, ...]:
    parts = [int(part) for part in version.split(".")]
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def _admits(text: str, running: str) -> bool:
    """Ask `packaging`."""
    from packaging.requirements import Requirement
    from packaging.version import InvalidVersion, Version

    requirement = Requirement(text)
    if requirement.marker is not None and not requirement.marker.evaluate(
        {"extra": ""}
    ):
        return True
    try:
        version = Version(running)
    except InvalidVersion:  # it cannot be compared, which is not the plugin's fault
        return True
    return requirement.specifier.contains(version, prereleases=True)
