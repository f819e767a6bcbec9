"""Writes `docs/reference/laws.md`: the laws that `evalkit_testing` checks, by kind."""

from __future__ import annotations

from pathlib import Path

import evalkit_testing

PAGE = Path(__file__).parent / "reference" / "laws.md"

HEAD = """\
# Laws of plugins

What `evalkit_testing` checks ([how](../testing.md)). If a law is broken, the error
names it, shows the smallest data that break it, and says what usually mends it.
"""


def laws_page() -> str:
    """Return the page."""
    names = [name for name in evalkit_testing.__all__ if name.endswith("LAWS")]
    return "\n".join([HEAD, *map(_section, sorted(names, key=_title))])


def _title(name: str) -> str:
    return f"{name.removesuffix('LAWS').strip('_') or 'metric'} laws".capitalize()


def _section(name: str) -> str:
    rows = [
        f"| `{law.name}` | {_sentence(law.statement)} | {_sentence(law.mend)} |\n"
        for law in getattr(evalkit_testing, name)
    ]
    head = "| law | what holds | what usually mends it |\n|---|---|---|\n"
    return f"## {_title(name)}\n\n{head}{''.join(rows)}"


def _sentence(text: str) -> str:
    return text and f"{text[0].upper()}{text[1:].removesuffix('.')}."


if __name__ == "__main__":
    PAGE.write_text(laws_page(), encoding="utf-8")
