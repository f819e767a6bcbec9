"""Private names of core that distributions import: a list that only shrinks.

What left core stands on names that are not public yet. `private_names.txt` has each of
them; it is empty once core offers what they need. After a change that needs fewer,
write it again:

    .venv/bin/python tests/test_private_names.py > tests/private_names.txt
"""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("private_names.txt")


def private_modules() -> tuple[str, ...]:
    """Return the modules of core that nobody else may import, as the contract has them.

    `evalkit.runs.*` stands for all modules below `evalkit.runs`.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        contract
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["name"].endswith("import public modules only")
    )
    return tuple(contract["forbidden_modules"])


def is_private(module: str, private: tuple[str, ...]) -> bool:
    """Say whether a module of core is private."""
    return any(
        module.startswith(name.removesuffix("*"))
        if name.endswith(".*")
        else module == name or module.startswith(f"{name}.")
        for name in private
    )


def private_names() -> set[str]:
    """Return the private names that distributions import, as `folder: module.name`."""
    private = private_modules()
    names = set()
    for path in ROOT.glob("plugins/*/*/src/**/*.py"):
        folder = "/".join(path.relative_to(ROOT / "plugins").parts[:2])
        if "templates" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and is_private(
                node.module or "", private
            ):
                names |= {f"{folder}: {node.module}.{one.name}" for one in node.names}
    return names


@pytest.mark.slow
def test_distributions_import_no_further_private_name() -> None:
    assert sorted(private_names()) == LIST.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    print(*sorted(private_names()), sep="\n")
