"""What sections of the page say once, fold, explain, or leave out unless asked."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result as Done

import evalkit
from evalkit_analysis_compare import Comparison, compare
from evalkit_commands_report import comparison_section, gathering

from .conftest import Page

Invoke = Callable[..., Done]


def test_runs_are_compared_on_many_tags_only_when_asked(
    invoke: Invoke, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (gathering, comparison_section):
        monkeypatch.setattr(module, "MOST_COMPARED_TAGS", 3)
    said = "The runs are not compared on their 4 tags, which may take minutes"
    for option, is_compared in ((), False), (("--compare",), True):
        arguments = ("good", "bad", "--runs", str(runs), *option)
        assert invoke("report", *arguments).exit_code == 0
        text = Page((tmp_path / "report.html").read_text("utf-8")).text
        assert (said in text) is not is_compared
        assert ("accuracy by tag (" in text) is is_compared
        assert "good against bad" in text


def test_many_conclusions_on_tags_are_folded(results: list[evalkit.Result]) -> None:
    found = compare(*results[:2])
    [row, *_] = found.whole
    names = [f"t{number}" for number in range(250)]
    of_tags = [
        row._replace(tag=name, different=True, conclusion=f"so {name}.")
        for name in names
    ]
    wide = Comparison(found.to_dict(), [row, *of_tags], found.widest)
    page = Page(comparison_section.comparison_body(wide))
    said = [name for name in names if f"so {name}." in page.text]
    assert said == names[:205]
    words = "245 further tags with a difference, of which 200 are here"
    assert words in page.text
    few = Comparison(found.to_dict(), [row, *of_tags[:5]], found.widest)
    assert "further" not in Page(comparison_section.comparison_body(few)).text
