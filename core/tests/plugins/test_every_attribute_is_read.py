"""No attribute of the contract is read by nothing."""

import ast
from pathlib import Path

import pytest

import evalkit
from evalkit.catalog import all_kinds
from evalkit.runs.recording import _DESCRIBED

CORE = Path(evalkit.__file__).parent
ROOT = CORE.parents[2]
CLI = ROOT / "cli" / "src"
LEFT = [
    ROOT / "plugins" / name / "src"
    for name in (
        *("adapters/rows", "analysis/robustness", "annotators/columns"),
        *("commands/perturb", "commands/publish", "engines/dask", "models/base"),
    )
]
"""What obeys attributes beside core and the command line."""

_DECLARING = ("hookspecs.py", "classes.py", "dynabench.py", "annotator.py", "model.py")
"""Modules that name attributes and do nothing with them."""

_ATTRIBUTES = [
    (kind.name, name)
    for kind in all_kinds()
    for name in vars(kind.attributes).get("__annotations__", {})
]

_DATA_OF_OTHERS = {"changes", "tags", "description", "name", "example"}
"""Names that other objects have too; these are looked for as a bound plugin's."""

_BOUND = {"bound", "dataset", "task", "metric", "bound_task", "perturbation", "step"}


def reads(path: Path) -> set[str]:
    """Return what a module reads as an attribute, or by its name in a mapping."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            value = node.value
            owner = getattr(value, "attr", getattr(value, "id", ""))
            if node.attr not in _DATA_OF_OTHERS or owner in _BOUND:
                found.add(node.attr)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            value = node.value
            owner = getattr(value, "attr", getattr(value, "id", ""))
            if owner == "attributes":
                found.add(str(node.slice.value))
    return found


@pytest.fixture(scope="module")
def read() -> set[str]:
    modules = [path for each in (CORE, CLI, *LEFT) for path in each.rglob("*.py")]
    return set(_DESCRIBED).union(
        *(reads(each) for each in modules if each.name not in _DECLARING)
    )


@pytest.mark.parametrize(("kind", "name"), _ATTRIBUTES)
@pytest.mark.slow
def test_every_attribute_is_read(kind: str, name: str, read: set[str]) -> None:
    """`round_id`, `languages`, `changes`, `input_keys` and others were not."""
    assert name in read, f"{name} of {kind} is read by nothing"
