"""What a new package of each kind begins with.

A template is a folder of `templates/`: a module, its tests, and `template.toml`, which
says what the package is about. The files are a working package as they are, but for the
names in them, such as `my-thing`.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

_COMMON = "common"


def template_kinds() -> list[str]:
    """Return the kinds of plugins that there are templates of."""
    return sorted(each.name for each in _folder().iterdir() if each.name != _COMMON)


def singular(kind: str) -> str:
    """Return what one plugin of a kind is called."""
    return kind.removesuffix("s")


def article(noun: str) -> str:
    """Return `a` or `an`."""
    return "an" if noun[0] in "aeiou" else "a"


class Template(BaseModel):
    """What a template says of its package.

    Attributes:
        summary: What the plugin does, in a few words.
        target: What the entry point names in the module, or a file in the package.
        name: The entry point's name; that of the component by default.
        requires: What the package requires.
        test_requires: What its tests require.
        use: Commands that show it at work.
        about: What a reader of its README should know.
        further: Further entry points, by group.
    """

    model_config = ConfigDict(extra="forbid")

    summary: str
    target: str
    name: str = "my-thing"
    requires: list[str]
    test_requires: list[str]
    use: list[str]
    about: str
    further: dict[str, dict[str, str]] = Field(default_factory=dict)


@cache
def read_template(kind: str) -> Template:
    """Read what the template of a kind says."""
    return Template.model_validate(_tables(kind))


def module_texts(kind: str) -> dict[str, str]:
    """Return the files of a template that are the plugin, by name."""
    return {
        each.name: each.read_text(encoding="utf-8")
        for each in (_folder() / kind).iterdir()
        if each.name.startswith("my_thing.")
    }


def module_text(kind: str) -> str:
    """Return all that is the plugin of a template."""
    return "\n".join(module_texts(kind).values())


def tests_text(kind: str) -> str:
    """Return the tests of a template."""
    return _text(kind, "test_my_thing.py")


def conftest_text(kind: str) -> str | None:
    """Return what gives the conformance run what a template's laws are checked with."""
    path = _folder() / kind / "conftest.py"
    return path.read_text(encoding="utf-8") if path.is_file() else None


def common_text(name: str) -> str:
    """Return a file that packages of all kinds have."""
    return _text(_COMMON, name)


def _tables(kind: str) -> dict[str, Any]:
    return tomllib.loads(_text(kind, "template.toml"))


def _text(folder: str, name: str) -> str:
    return (_folder() / folder / name).read_text(encoding="utf-8")


def _folder() -> Traversable:
    return files("evalkit_commands_authoring") / "templates"
