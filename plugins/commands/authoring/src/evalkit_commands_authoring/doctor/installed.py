"""Reads what is installed, whatever state it is in."""

from __future__ import annotations

import csv
import importlib.metadata
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

if TYPE_CHECKING:
    from evalkit.catalog import Catalog


GROUP = "evalkit."
"""How the groups of entry points begin in which plugins are declared."""

_MOST_BYTES = 1 << 22


def normalised(name: str) -> str:
    """Return a distribution's name in the one spelling that compares equal."""
    return re.sub(r"[-_.]+", "-", name).lower()


@dataclass(frozen=True)
class Installed:
    """A distribution, by the folder that holds its metadata.

    Attributes:
        folder: That folder.
    """

    folder: Path

    @cached_property
    def _header(self) -> list[tuple[str, str]]:
        text = self.read("METADATA") or self.read("PKG-INFO") or ""
        head = re.sub(r"\n[ \t]+", " ", text.partition("\n\n")[0])
        lines = (line.partition(":") for line in head.splitlines())
        return [(key.lower(), value.strip()) for key, colon, value in lines if colon]

    def _field(self, name: str) -> str:
        return next((value for key, value in self._header if key == name), "")

    @property
    def name(self) -> str:
        """The name as its metadata say, or else its folder."""
        stem = self.folder.name.removesuffix(".dist-info").removesuffix(".egg-info")
        return self._field("name") or normalised(stem.partition("-")[0])

    @property
    def version(self) -> str:
        """The version; `unknown` where its metadata do not say it."""
        return self._field("version") or "unknown"

    @property
    def requires(self) -> list[str]:
        """What it requires."""
        return [value for key, value in self._header if key == "requires-dist"]

    @property
    def requires_python(self) -> str:
        """The versions of Python that it is for; "" for any."""
        return self._field("requires-python")

    @property
    def origin(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"

    @cached_property
    def entry_points(self) -> dict[str, dict[str, str]]:
        """Names and their values, by group; only groups of evalkit's."""
        found: dict[str, dict[str, str]] = {}
        group = ""
        for line in map(str.strip, (self.read("entry_points.txt") or "").splitlines()):
            name, equals, value = line.partition("=")
            if line[:1] == "[":
                group = line[1:].rstrip("]").strip()
            elif equals and group.startswith(GROUP) and line[0] not in "#;":
                found.setdefault(group, {})[name.strip()] = value.strip()
        return found

    @property
    def modules(self) -> list[str]:
        """The modules that its entry points name, each once."""
        values = (
            value
            for group, names in self.entry_points.items()
            if group != f"{GROUP}known"
            for value in names.values()
        )
        found = (value.partition(":")[0].strip() for value in values)
        return [*dict.fromkeys(each for each in found if _is_module(each))]

    @cached_property
    def file_names(self) -> list[str]:
        """Names of its files in `RECORD`."""
        lines = csv.reader((self.read("RECORD") or "").splitlines())
        return [line[0] for line in lines if line]

    @cached_property
    def source_folder(self) -> Path | None:
        """The folder of an editable installation; None for another one."""
        try:
            found: Any = json.loads(self.read("direct_url.json") or "{}")
            is_editable = bool(found.get("dir_info", {}).get("editable"))
            address = urlsplit(str(found.get("url", "")))
        except (ValueError, AttributeError):
            return None
        if not is_editable or address.scheme != "file":
            return None
        return Path(url2pathname(unquote(address.path)))

    def file(self, name: str) -> Path:
        """Return where a file lies that the `RECORD` names."""
        return self.folder.parent / name

    def read(self, name: str) -> str | None:
        """Read a file of the metadata; None where there is none that can be read."""
        path = self.folder / name
        try:
            if not path.is_file():  # opening a pipe would wait for ever
                return None
            with path.open("rb") as stream:
                text = stream.read(_MOST_BYTES).decode("utf-8", "replace")
        except OSError:
            return None
        return text.replace("\r\n", "\n")


def _is_module(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def find_installed() -> list[Installed]:
    """Find all distributions on the path; of several of one name the first."""
    found: dict[str, Installed] = {}
    for each in _on_the_path():
        found.setdefault(normalised(each.name), each)
    return [found[name] for name in sorted(found)]


def _on_the_path() -> Iterator[Installed]:
    for distribution in importlib.metadata.distributions():
        folder = getattr(distribution, "_path", None)
        if isinstance(folder, Path):
            yield Installed(folder)


def is_of_evalkit(distribution: Installed) -> bool:
    """Tell whether a distribution is a part of evalkit, or holds plugins of it."""
    begins = normalised(distribution.name).startswith(("evalkit-", "evalkit_"))
    return begins or bool(distribution.entry_points)


@dataclass(frozen=True)
class Environment:
    """The environment, read when it is first asked for.

    Attributes:
        variables: The environment variables.
        own_commands: Names of the commands that the command line itself has.
    """

    variables: Mapping[str, str] = field(default_factory=lambda: {**os.environ})
    own_commands: frozenset[str] = frozenset()

    @cached_property
    def everything(self) -> list[Installed]:
        """All distributions."""
        return find_installed()

    @cached_property
    def of_evalkit(self) -> list[Installed]:
        """Those that are a part of evalkit, or hold plugins of it."""
        return [each for each in self.everything if is_of_evalkit(each)]

    @cached_property
    def catalog(self) -> Catalog:
        """What evalkit finds."""
        from evalkit.catalog import find_components

        return find_components()

    def named(self, name: str) -> Installed | None:
        """Return a distribution of evalkit's by its name; None if it is not there."""
        from evalkit_commands_authoring.doctor.installed import normalised

        found = (each for each in self.everything if normalised(each.name) == name)
        return next(found, None)
