"""`docs/architecture.md` names the rooms, layers and modules that there are."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "core" / "src" / "evalkit"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TABLES = re.findall(r"(?m)^\|(?!---)(.+)\|$", PAGE)


def children() -> set[str]:
    """List the rooms and modules directly below `evalkit`."""
    return {
        path.stem
        for path in CORE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    } - {"__init__"}


def layers_of_the_page() -> list[set[str]]:
    start = next(place for place, row in enumerate(TABLES) if "layer" in row)
    rows = []
    for row in TABLES[start + 1 :]:
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) != 3:
            break
        rows.append(set(re.findall(r"`(\w+)`", cells[1])))
    return rows


def layers_of_the_contract() -> list[set[str]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        each
        for each in settings["tool"]["importlinter"]["contracts"]
        if each["type"] == "layers" and each.get("containers") == ["evalkit"]
    )
    assert contract["exhaustive"]
    return [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]


def test_the_page_has_every_room_in_its_layer() -> None:
    assert layers_of_the_page() == layers_of_the_contract()
    assert set.union(*layers_of_the_page()) == children()


NAMED = sorted(
    set(re.findall(r"`((?:[\w-]+/)*[\w-]+\.(?:py|json))`", PAGE))
    | set(re.findall(r"`((?:cli|docs)/[\w/.]+)`", PAGE))
)


@pytest.mark.parametrize("named", NAMED)
def test_every_file_that_the_page_names_exists(named: str) -> None:
    assert (CORE / named).exists() or (ROOT / named).exists()


def test_the_page_names_files() -> None:
    assert len(NAMED) > 20


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("plugins/kinds.py", "Kind"),
        ("runs/score_columns.py", "Score"),
        ("runs/record.py", "RunRecord"),
        ("runs/recording.py", "make_result"),
        ("runs/folders.py", "find_damage"),
        ("reading/formats.py", "Format"),
        ("reading/files.py", "ROW_READERS"),
        ("predictions/responses.py", "ResponseReader"),
        ("predictions/alignment.py", "Alignment"),
        ("plugins/binding.py", "Guard"),
        ("workflows/evaluation.py", "evaluate_with"),
        ("runs/options.py", "EvaluationOptions"),
        ("scoring/records.py", "AggregateScore"),
    ],
)
def test_the_names_that_the_page_sends_to_are_defined_there(
    file: str, name: str
) -> None:
    assert f"`{file}`" in PAGE
    assert f"`{name}" in PAGE
    tree = ast.parse((CORE / file).read_text(encoding="utf-8"))
    assert name in {
        *(node.name for node in tree.body if hasattr(node, "name")),
        *(
            target.id
            for node in tree.body
            for target in getattr(node, "targets", [getattr(node, "target", None)])
            if isinstance(target, ast.Name)
        ),
    }
