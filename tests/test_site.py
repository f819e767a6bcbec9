"""The site of the documentation: all pages are in it, and the reference is whole."""

import ast
import importlib
import importlib.util
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import evalkit
from evalkit.catalog import all_kinds

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
HOOKSPECS = ROOT / "core" / "src" / "evalkit" / "hookspecs.py"
DIRECTIVE = re.compile(r"(?m)^::: ([\w.]+)$")

MODULES = (*("catalog", "errors", "reporting", "runs"), *("scoring", "places"))

PACKAGES = (
    *("evalkit_adapters_rows", "evalkit_analysis_compare", "evalkit_analysis_upkeep"),
    *("evalkit_analysis_robustness", "evalkit_annotators_columns"),
    *("evalkit_commands_perturb", "evalkit_commands_publish", "evalkit_models_base"),
    *("evalkit_models_base.services", "evalkit_schemas_standard", "evalkit_testing"),
)
"""Distributions beside core whose names the reference has."""


@pytest.fixture(scope="module")
def site() -> ModuleType:
    path = ROOT / "docs" / "make_site.py"
    spec = importlib.util.spec_from_file_location("make_site", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def described(page: str) -> list[str]:
    return DIRECTIVE.findall((REFERENCE / f"{page}.md").read_text(encoding="utf-8"))


def hooks() -> dict[str, list[str]]:
    """Give the hooks of each spec class, read from the sources."""
    sources = [HOOKSPECS, *ROOT.glob("plugins/*/*/src/*/hookspecs.py")]
    sources += ROOT.glob("plugins/engines/*/src/*/engine.py")
    return {
        node.name: [
            each.name for each in node.body if isinstance(each, ast.FunctionDef)
        ]
        for source in sources
        for node in ast.parse(source.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Spec")
    }


def exported(module: ModuleType) -> list[str]:
    """Give the public names of a module."""
    own = [n for n, e in vars(module).items() if e.__class__ is type]
    names: list[str] = vars(module).get("__all__", own)
    return names


def test_every_page_is_in_the_navigation_once(site: ModuleType) -> None:
    pages = {place for place in site.sources().values() if place.endswith(".md")}
    listed = site.navigation()
    assert pages - {*listed} == set(), "add them to nav in zensical.toml"
    assert {*listed} - pages == set(), "nav in zensical.toml names what is no page"
    assert [page for page, times in Counter(listed).items() if times > 1] == []


def test_the_reference_has_every_public_name_of_evalkit() -> None:
    core = [name for name in described("evalkit") if name.startswith("evalkit.")]
    assert sorted(core) == sorted(f"evalkit.{name}" for name in evalkit.__all__)


def test_the_reference_has_every_name_of_the_public_modules() -> None:
    names = {
        f"evalkit.{module}.{name}"
        for module in MODULES
        for name in exported(importlib.import_module(f"evalkit.{module}"))
    }
    names |= {
        f"{package}.{name}"
        for package in PACKAGES
        for name in importlib.import_module(package).__all__
    }
    others = [name for name in described("evalkit") if not name.startswith("evalkit.")]
    found = [*others, *described("modules")]
    assert {*found} == names
    assert len(found) == len(names)


def test_every_hook_is_of_a_kind_whose_page_and_failures_are_tested() -> None:
    """`test_authoring_pages` and `test_hook_failures` go by the contracts of kinds."""
    written = {
        (spec, name) for spec, names in hooks().items() for name in names if names
    }
    assert written == {
        (kind.spec.__name__, name)
        for kind in all_kinds()
        if kind.load is None
        for name in kind.hooks
    }


def test_links_lead_to_pages_of_the_site_or_are_plain_text(site: ModuleType) -> None:
    page = ROOT / "docs" / "authoring" / "it.md"
    text = (
        "[a](../files.md#formats) [b](../../CHANGELOG.md) [c](../../examples/stories)\n"
        "[d](../../plugins/models/local) [e](https://example.org/)\n"
        "[f](../../README.md)\n```text\n[g](../../examples/stories)\n```\n"
    )
    places = {**site.sources(), page: "authoring/it.md"}
    moved = site.page_text(text, page, places)
    assert moved == (
        "[a](../files.md#formats) [b](../changes.md) c (`examples/stories`)\n"
        "[d](../distributions/models-local.md) [e](https://example.org/)\n"
        "[f](../index.md)\n```text\n[g](../../examples/stories)\n```\n"
    )


def test_what_belongs_to_an_item_of_a_list_is_in_it(site: ModuleType) -> None:
    page = ROOT / "docs" / "it.md"
    text = "- a\n  b\n\n  c\n  - d\n\n1. e\n\n   f\n\ng\n\n    h\n"
    assert site.page_text(text, page, {page: "it.md"}) == (
        "- a\n    b\n\n    c\n    - d\n\n1. e\n\n    f\n\ng\n\n    h\n"
    )
    code = "- a\n\n```yaml\n- b:\n  c\n```\n"
    assert site.page_text(code, page, {page: "it.md"}) == code


def test_a_bar_in_the_code_of_a_table_is_shown_without_escape(site: ModuleType) -> None:
    page = ROOT / "docs" / "it.md"
    text = "| `a\\|b` | c \\| d |\n\n`e\\|f`\n"
    moved = site.page_text(text, page, {page: "it.md"})
    assert moved == "| `a|b` | c \\| d |\n\n`e\\|f`\n"


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(site: ModuleType, tmp_path: Path) -> None:
    """In a copy, so that nothing of a build stays in the repository."""
    for name in ("core", "cli", "plugins", "examples", "docs"):
        ignored = shutil.ignore_patterns(".venv", "__pycache__", "*.pyc", "tests")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "zensical.toml"):
        shutil.copy(ROOT / name, tmp_path)
    done = subprocess.run(
        [sys.executable, tmp_path / "docs" / "make_site.py"],
        capture_output=True,
        encoding="utf-8",
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    built = tmp_path / "build" / "site"
    for page in site.navigation():
        assert (built / page).with_suffix(".html").is_file()
    html = {
        page: (built / "reference" / f"{page}.html").read_text(encoding="utf-8")
        for page in ("evalkit", "hooks", "modules")
    }
    for page, text in html.items():
        assert [name for name in described(page) if f'id="{name}"' not in text] == []
    fetched = re.compile(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"?https?:")
    for path in built.rglob("*.html"):
        assert not fetched.search(path.read_text(encoding="utf-8")), path
    for path in built.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(?:https?:)?//|@import", path.read_text())
