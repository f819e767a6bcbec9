"""Runs the code in the documentation."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "metrics").glob("*.md")),
]
DOCUMENTS = sorted((ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
LINKING = [
    *DOCUMENTS,
    *sorted(ROOT.glob("*.md")),
    *(ROOT / folder / "README.md" for folder in ("core", "cli")),
    *sorted(ROOT.glob("plugins/*/*/README.md")),
    *sorted(ROOT.glob("examples/*/README.md")),
    ROOT / "benchmarks" / "RESULTS.md",
]
"""Pages whose links are followed."""
COMMANDS = (
    *("list", "show", "validate", "inputs", "perturb", "eval", "runs", "compare"),
    *("plan", "rescore", "merge", "verify", "cite", "leaderboard", "site", "new"),
    *("doctor", "help"),
)


def blocks(page: Path, language: str) -> list[str]:
    """Give the code blocks of a language, without their indentation."""
    found = []
    for indent, name, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if name == language:
            found.append(re.sub(f"^{indent}", "", code, flags=re.MULTILINE))
    return found


def cases(language: str) -> list[object]:
    return [
        pytest.param(code, id=f"{page.parent.name}-{page.stem}-{number}")
        for page in PAGES
        for number, code in enumerate(blocks(page, language))
    ]


# each block is a module of its own, in a folder of its own; evalkit is imported once
RUN_BLOCKS = """
import contextlib, io, json, os, sys, traceback, types
blocks, outcomes = json.load(sys.stdin), []
for number, code in enumerate(blocks):
    os.mkdir(str(number))
    os.chdir(str(number))
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    printed, failure = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "block", "exec"), module.__dict__)
    except BaseException:
        failure = traceback.format_exc()
    outcomes.append((printed.getvalue(), failure))
    os.chdir("..")
json.dump(outcomes, sys.stdout)
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """Return what each block of Python printed, and how it failed."""
    codes = [code for page in PAGES for code in blocks(page, "python")]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN_BLOCKS],
        cwd=tmp_path_factory.mktemp("blocks"),
        input=json.dumps(codes),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(codes, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda p: p.stem
)
@pytest.mark.slow
@pytest.mark.xdist_group("blocks")
def test_python_blocks_run(page: Path, outcomes: dict[str, tuple[str, str]]) -> None:
    for code in blocks(page, "python"):
        printed, failure = outcomes[code]
        assert failure == "", f"{code}\n{failure}"
        lines = printed.splitlines()
        for text in re.findall(r"^print\(.*\)  # (.+)$", code, re.MULTILINE):
            assert text in lines, code


@pytest.mark.parametrize("transcript", cases("console"))
@pytest.mark.slow
def test_console_block_shows_the_real_output(transcript: str, tmp_path: Path) -> None:
    command, _, expected = transcript.partition("\n")
    command = command.removeprefix("$ ").removeprefix(".venv/bin/")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        shell=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "EVALKIT_OFFLINE": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    shown = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    pattern = ".*".join(re.escape(part) for part in expected.rstrip().split("..."))
    assert re.fullmatch(pattern, shown.rstrip(), re.DOTALL), shown


@pytest.mark.slow
def test_the_command_line_page_has_every_help_text() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert re.findall(r"^## `evalkit (\w+)`$", page, re.MULTILINE) == list(COMMANDS)
    for arguments in ([], *([command] for command in COMMANDS)):
        done = subprocess.run(
            [sys.executable, "-m", "evalkit_cli", *arguments, "--help"],
            env={**os.environ, "COLUMNS": "80"},
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        assert done.stdout.strip() in page, f"run docs/make_cli_page.py for {arguments}"


def test_every_local_link_leads_somewhere() -> None:
    for page in LINKING:
        text = BLOCK.sub("", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_link_to_a_section_finds_it() -> None:
    for page in LINKING:
        text = page.read_text(encoding="utf-8")
        for target, section in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text):
            other = page.parent / target if target else page
            assert section in sections(other), f"{page.name}: {target}#{section}"


def sections(page: Path) -> set[str]:
    """Give the names by which links find the headings of a page, as on GitHub."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading.lower()) for heading in headings]
    return {heading.strip().replace(" ", "-") for heading in plain}
