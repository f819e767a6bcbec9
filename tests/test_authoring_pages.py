"""Each kind of plugin has a page whose package works, and a contract that is true."""

import ast
import inspect
import re
import runpy
import tomllib
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from evalkit import Component
from evalkit.catalog import (
    Registry,
    all_kinds,
    find_component,
    find_components,
    kind_named,
)
from evalkit.places import forget_places, load_place
from evalkit_cli.printing import contracts

DOCS = Path(__file__).parents[1] / "docs"
HOOKS = DOCS / "reference" / "hooks.md"
WITH_CONTRACT = [kind.name for kind in all_kinds() if kind.hooks]
KINDS = [k for k in WITH_CONTRACT if (DOCS / "authoring" / f"{k}.md").is_file()]
WITH_PACKAGES = [kind for kind in KINDS if kind not in ("observers", "annotators")]
"""The others have tests of their own, in which more happens than a call."""


def page(kind: str) -> str:
    return (DOCS / "authoring" / f"{kind}.md").read_text(encoding="utf-8")


def blocks(kind: str, language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", page(kind))


def test_every_kind_has_a_page() -> None:
    assert WITH_CONTRACT == KINDS


def test_the_page_of_hooks_is_as_it_is_made() -> None:
    made = runpy.run_path(str(DOCS / "make_hooks_page.py"))["hooks_page"]()
    assert HOOKS.read_text(encoding="utf-8") == made, "run docs/make_hooks_page.py"


def _loaded(kind: str, name: str) -> Component:
    if kind != "storage":
        return Registry().load(kind, name).component
    forget_places()
    component = find_component(find_components(), kind, name)
    assert component is not None
    load_place(component)
    return component


@pytest.mark.slow
@pytest.mark.parametrize("kind", WITH_PACKAGES)
def test_the_package_of_a_page_can_be_used(
    kind: str,
    fake_distribution: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    project = tomllib.loads(blocks(kind, "toml")[0])["project"]
    ((group, names),) = project["entry-points"].items()
    ((name, value),) = names.items()
    assert group == f"evalkit.{kind}"
    code, *uses = blocks(kind, "python")
    assert value.partition(":")[0] == project["name"].replace("-", "_")
    fake_distribution(
        code, {group: {name: value.partition(":")[2]}}, name=project["name"]
    )
    assert _loaded(kind, name).distribution == project["name"]
    monkeypatch.chdir(tmp_path)
    assert uses
    for use in uses:
        assert "assert " in use
        exec(use, {})


@pytest.mark.parametrize("kind", KINDS)
def test_the_contract_names_every_hook_argument_and_attribute(kind: str) -> None:
    """Compared with the source of the spec classes, read in another way."""
    contract = kind_named(kind)
    shown = contracts.contract_page(kind)
    for name in contract.attributes.__annotations__:
        assert f"\n- `{name}` (" in shown
    hooks = {
        name: [*inspect.signature(function).parameters][1:]
        for name, function in vars(contract.spec).items()
        if not name.startswith("_")
    }
    for name, arguments in hooks.items():
        assert f"\n#### `{name}({', '.join(arguments)})`\n" in shown
    described = contracts.contract_of(kind)
    for hook in described["hooks"]:
        assert hook["documentation"]
    for attribute in described["attributes"]:
        assert attribute["documentation"]


def test_a_mark_says_since_when_there_is_something() -> None:
    source = '''
class Attributes:
    old: int
    """Kept."""
    new: str = ""
    """Told. Since 0.4."""
'''
    texts = dict(contracts._texts_of(ast.parse(source).body[0]))
    marks = {name: contracts._dated(text) for name, text in texts.items()}
    assert marks == {
        "old": {"documentation": "Kept.", "since": contracts.FIRST},
        "new": {"documentation": "Told.", "since": "0.4"},
    }

    def hook(self: Any, first: int, second: str) -> bool:
        """Do it. Since 0.2.

        Args:
            first: One.
            second: Two, in
                two lines. Since 0.3.

        Returns:
            Whether.

        Raises:
            ValueError: Never.
        """
        return bool(self)

    described = contracts._hook(hook, (("hook",),))
    assert described["required"]
    assert described["since"] == "0.2"
    assert described["documentation"] == "Do it."
    assert [
        (each["name"], each["documentation"], each["since"])
        for each in described["arguments"]
    ] == [("first", "One.", contracts.FIRST), ("second", "Two, in two lines.", "0.3")]
    assert described["returns"] == {"type": "bool", "documentation": "Whether."}
    assert described["raises"] == "ValueError: Never."
    shown = "\n".join(contracts._hook_blocks(described))
    assert "Do it. Since 0.2." in shown
    assert "- `second` (`str`): Two, in two lines. Since 0.3." in shown


@pytest.mark.slow
def test_show_prints_the_contract_of_a_kind(
    run_evalkit: Callable[..., CompletedProcess[str]],
) -> None:
    done = run_evalkit("show", "--contract", "observers")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("store", "observer", "data-set"):
        done = run_evalkit("show", "--contract", word)
        kind = {"store": "storage", "data-set": "datasets"}.get(word, f"{word}s")
        assert (done.stdout, done.returncode) == (contracts.contract_page(kind), 0)
    done = run_evalkit("show", "--contract", "metrik")
    assert done.returncode == 2
    assert "'metrik' is none of tasks, datasets, metrics," in done.stderr
    done = run_evalkit("show", "--contract", "command")
    assert done.returncode == 2
    assert "A command has no hooks: it is a click command (docs/commands" in done.stderr
    done = run_evalkit("show", "latest", "--contract", "metrics", "--json")
    assert done.returncode == 2
    assert "--contract and latest are two things to show" in done.stderr
