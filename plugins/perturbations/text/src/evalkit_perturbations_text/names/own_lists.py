"""Lists of names that users bring in files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from evalkit import DataError
from evalkit_perturbations_text.grammar.tokens import Tokens
from evalkit_perturbations_text.names.groups import NameGroup
from evalkit_perturbations_text.names.lists import first_names

Kind = Literal["first", "last"]

_GENDERS = ("female", "male")


def read_names(path: Path, kind: Kind, *, needs_gender: bool = False) -> NameGroup:
    """Read a user's list of names."""
    from evalkit.catalog import local_file

    path = local_file(path)
    found: dict[str, list[str]] = {"female": [], "male": [], "": []}
    lines: dict[str, int] = {}
    for number, line in enumerate(_read(path).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        place = f"{path}, line {number}"
        name, gender = _split(place, line, kind)
        earlier = lines.setdefault(name.lower(), number)
        if earlier != number:
            raise DataError(f"{place}: {name!r} is on line {earlier} already")
        gender = gender or _known_gender(name, kind)
        if needs_gender and not gender:
            raise DataError(
                f"{place}: the gender of {name!r} is not known; write a tab and female "
                "or male behind it, or choose preserve_gender=false"
            )
        found[gender].append(name)
    if not lines:
        raise DataError(f"{path}: the list of names is empty; add at least one")
    female, male, other = (tuple(names) for names in found.values())
    if kind == "last":
        return NameGroup((), (), other)
    return NameGroup(female, male, (), other)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: the list of names cannot be read: {error}; give the path of a "
            "file in UTF-8 with a name in each line"
        ) from error


def _split(place: str, line: str, kind: Kind) -> tuple[str, str]:
    name, tab, gender = line.partition("\t")
    name, gender = name.strip(), gender.strip()
    if len(Tokens(name).forms) != 1 or not name[0].isalpha():
        raise DataError(f"{place}: {name!r} is not one word that begins with a letter")
    if tab and kind == "last":
        raise DataError(f"{place}: surnames stand alone, and a tab follows {name!r}")
    if gender and gender not in _GENDERS:
        raise DataError(f"{place}: {gender!r} is neither 'female' nor 'male'")
    return name, gender


def _known_gender(name: str, kind: Kind) -> str:
    gender = first_names().get(name.lower()) if kind == "first" else None
    return gender if gender in _GENDERS else ""
