"""Builds the documentation as a site, in `build/site`: `make docs` calls it.

The pages of `docs` can be read where they stand. For the site they are copied to
`build/pages`, together with the change log and the README of each distribution and
example; links to what is no page of the site become plain text with the path.
`zensical.toml` holds the navigation.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CONFIGURATION = ROOT / "zensical.toml"
PAGES = ROOT / "build" / "pages"

BESIDE = {
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "core/README.md": "distributions/core.md",
    "cli/README.md": "distributions/cli.md",
}
"""Files outside of `docs` that are pages of the site, too."""

COPIED = ("*.md", "*.json", "*.css")

_ITEM = re.compile(r"(?:-|\d\.) ")
_FENCE = re.compile(r"(?ms)^( *)```.*?^\1```$")
_ROW_OF_TABLE = re.compile(r"(?m)^\|.*$")
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\[([^\]\[]*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def sources(root: Path = ROOT) -> dict[Path, str]:
    """Return the place in the site of each file that belongs to it.

    Args:
        root: The repository.
    """
    docs = root / "docs"
    found = {
        path: path.relative_to(docs).as_posix()
        for pattern in COPIED
        for path in sorted(docs.rglob(pattern))
    }
    found |= {root / name: place for name, place in BESIDE.items()}
    for path in sorted(root.glob("plugins/*/*/README.md")):
        kind, name = path.parts[-3:-1]
        found[path] = f"distributions/{kind}-{name}.md"
    for path in sorted(root.glob("examples/*/README.md")):
        found[path] = f"examples/{path.parent.name}.md"
    return found


def page_text(text: str, path: Path, places: dict[Path, str]) -> str:
    """Return the text of a page with links that hold in the site.

    Args:
        text: The text of the file.
        path: The file in the repository.
        places: What `sources` says.
    """
    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [_prose(text[end : fence.start()], path, places), fence[0]]
        end = fence.end()
    return _indented("".join([*parts, _prose(text[end:], path, places)]))


def _prose(text: str, path: Path, places: dict[Path, str]) -> str:
    """Change links, and the bars in the code of tables, which need no escape here."""
    linked = _linked(text, path, places)
    return _ROW_OF_TABLE.sub(
        lambda row: _CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0]), linked
    )


def _indented(text: str) -> str:
    """Indent what belongs to an item of a list by four, which the generator needs."""
    added, is_code, lines = "", False, []
    for line in text.splitlines():
        item = _ITEM.match(line)
        if line.startswith("```"):
            added, is_code = "", not is_code
        elif not is_code and item:
            added = " " * (4 - len(item[0]))
        elif line and not line.startswith("  "):
            added = ""
        lines.append(added + line if line.startswith("  ") else line)
    return "\n".join(lines) + "\n"


def _linked(text: str, path: Path, places: dict[Path, str]) -> str:
    def changed(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(path.parent / link[2]))
        place = _place(target, places)
        if place is None:
            shown = target.relative_to(ROOT).as_posix()
            return link[1] if shown in link[1] else f"{link[1]} (`{shown}`)"
        away = os.path.relpath(place, Path(places[path]).parent)
        return f"[{link[1]}]({Path(away).as_posix()}{link[3] or ''})"

    return _LINK.sub(changed, text)


def _place(target: Path, places: dict[Path, str]) -> str | None:
    if target == ROOT / "README.md":
        return "index.md"
    return places.get(target) or places.get(target / "README.md")


def navigation() -> list[str]:
    """Return the pages of the navigation in their order."""
    project = tomllib.loads(CONFIGURATION.read_text(encoding="utf-8"))["project"]
    return [*_leaves(project["nav"])]


def _leaves(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
        return
    for each in node.values() if isinstance(node, dict) else node:
        yield from _leaves(each)


def write_pages(folder: Path) -> None:
    """Write all that the generator reads.

    Args:
        folder: A folder, which is made anew.
    """
    shutil.rmtree(folder, ignore_errors=True)
    places = sources()
    for path, place in places.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            text = path.read_text(encoding="utf-8")
            target.write_text(page_text(text, path, places), encoding="utf-8")
        else:
            shutil.copyfile(path, target)


def main() -> int:
    """Build the site; every warning is an error."""
    missing = {*sources().values()} - {*navigation()}
    if pages := sorted(page for page in missing if page.endswith(".md")):
        print(f"not in nav of {CONFIGURATION.name}: {', '.join(pages)}")
        return 1
    write_pages(PAGES)
    shutil.rmtree(ROOT / "build" / "site", ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=ROOT, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
