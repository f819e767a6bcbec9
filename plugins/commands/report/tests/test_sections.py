"""What sections of the page say once, fold, explain, or leave out unless asked."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result as Done

import evalkit
from evalkit_analysis_compare import Comparison, compare
from evalkit_commands_report import comparison_section, gathering
from evalkit_commands_report.gathering import gather
from evalkit_commands_report.numbers import flags_of
from evalkit_commands_report.perturbation_section import effect_table, effects_of
from evalkit_commands_report.provenance_section import problem_section

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


def test_flags_and_views_without_a_value_are_explained(
    results: list[evalkit.Result],
) -> None:
    score = results[0].scores[0]
    flags = flags_of([score._replace(flag="b"), score._replace(flag="a"), None])
    assert flags == '<p class="note">* a; b</p>'
    assert flags_of([score]) is None
    [run] = gather(results[:1], None)[0].runs
    effects = effects_of(run, "accuracy")
    assert "Worst" in Page(effect_table(run, effects)).text
    without = {
        name: {
            **views,
            "worst": views["worst"]._replace(value=None, reason="of whole sets"),
        }
        for name, views in effects.items()
    }
    page = Page(effect_table(run, without))
    assert "Worst: of whole sets." in page.text
    assert page.text.count("Worst") == 1


def test_notices_of_all_runs_are_said_once(results: list[evalkit.Result]) -> None:
    several = results[1:]
    [group] = gather(several, None)
    text = Page(problem_section(group, "g")).text
    common = set.intersection(*(set(result.notices) for result in several))
    assert common
    for notice in common:
        assert text.count(f"notice: {notice}") == 1
    assert "All runs" in text
    [alone] = gather(several[:1], None)
    text = Page(problem_section(alone, "g")).text
    assert "All runs" not in text
    assert all(f"notice: {notice}" in text for notice in several[0].notices)
