"""The files that a public repository has beside code and documentation."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"


def test_the_workflow_calls_what_make_has_and_what_our_own_ci_calls() -> None:
    workflow = yaml.safe_load((GITHUB / "workflows/test.yml").read_text("utf-8"))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    called = [step["run"] for step in steps if "run" in step]
    assert called == ["make demo", "make test", "make test-slow"]
    own = (ROOT / ".ci/run").read_text("utf-8").splitlines()
    assert [line for line in own if line.startswith("make ")] == called
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert {line.removeprefix("make ") for line in called} <= {*targets}
    assert workflow["permissions"] == {"contents": "read"}


def test_the_templates_of_issues_say_what_they_are_for() -> None:
    pages = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.md"))
    assert len(pages) == 3
    for page in pages:
        _, head, body = page.read_text("utf-8").split("---\n", 2)
        assert set(yaml.safe_load(head)) == {"name", "about", "labels"}
        assert body.count("**") >= 6
    assert (GITHUB / "PULL_REQUEST_TEMPLATE.md").is_file()


def test_no_link_of_the_pages_at_the_root_leads_nowhere() -> None:
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text("utf-8")
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
            assert (ROOT / target).exists(), f"{name}: {target}"
