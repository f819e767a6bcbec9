"""The versions of what a distribution requires, directly and through others."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from evalkit.plugins.libraries import libraries_of


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install distributions that require each other."""
    requires = {
        "top": ["middle", "Absent_One"],
        "middle": ["bottom; python_version >= '3'", "top"],
        "bottom": ['never ; extra == "test"'],
        "never": [],
        "fast": ['speed; extra == "c" and python_version > "3"', "bottom"],
        "speed": [],
    }
    for name, texts in requires.items():
        info = tmp_path / f"{name}-0.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0"]
        lines += [f"Requires-Dist: {text}" for text in texts]
        (info / "METADATA").write_text("\n".join(lines) + "\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize(
    ("requires", "names"),
    [
        ((), []),
        (("bottom>=1,<2",), ["bottom"]),
        (("Top",), ["bottom", "middle", "top"]),
        (('never; extra == "neural"',), ["never"]),
        (("fast",), ["bottom", "fast"]),
        (("fast[c,d]",), ["bottom", "fast", "speed"]),
        (("fast", "fast[ c ] >= 1"), ["bottom", "fast", "speed"]),
        (("absent", "!", ""), []),
    ],
)
def test_what_is_installed_of_all_that_is_required(
    requires: tuple[str, ...], names: list[str]
) -> None:
    assert libraries_of(requires) == dict.fromkeys(names, "1.0")


def test_core_and_what_it_requires_are_left_out() -> None:
    assert libraries_of(("evalkit-core>=0.1", "Evalkit_Core")) == {}
    assert libraries_of(("numpy",)) == {"numpy": importlib.metadata.version("numpy")}
