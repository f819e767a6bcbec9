"""What a notebook shows of runs and comparisons."""

from pathlib import Path

import pytest

import evalkit
from evalkit_analysis_compare import compare
from evalkit_commands_report.confusion_section import confusion_of, confusion_table
from evalkit_commands_report.gathering import Shown

from .conftest import HOSTILE, Page


@pytest.mark.slow
def test_a_run_is_shown_with_its_scores_and_without_a_script(runs: Path) -> None:
    result = evalkit.read_run(evalkit.find_run(HOSTILE, runs))
    html = result._repr_html_()
    page = Page(html)
    assert page.open == []
    assert page.scripts == []
    assert HOSTILE in page.text
    assert HOSTILE not in html
    values = {
        (a["data-metric"], a.get("data-tag")): a["value"]
        for a, _ in page.numbers
        if a.get("data-field") == "value" and a.get("data-aggregate") is None
    }
    for row in result.by_tag.filter(metric="accuracy").to_dicts():
        assert values["accuracy", row["tag"]] == repr(row["value"])


def test_a_comparison_is_shown_with_its_conclusions(runs: Path) -> None:
    found = compare("good", HOSTILE, runs=runs, tags=False)
    page = Page(found._repr_html_())
    assert page.scripts == []
    for row in found.whole:
        assert row.conclusion in page.text


def test_without_the_display_there_is_a_plain_table(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_DISABLE_PLUGINS", "evalkit-commands-report")
    result = evalkit.read_run(evalkit.find_run(HOSTILE, runs))
    page = Page(result._repr_html_())
    assert [tag for tag, _ in page.elements][:2] == ["table", "caption"]
    assert f"data, {HOSTILE}: complete" in page.text
    assert str(result["accuracy"].value) in page.text
    found = compare("good", HOSTILE, runs=runs, tags=False)
    page = Page(found._repr_html_())
    assert found.whole[0].conclusion in page.text


@pytest.mark.slow
def test_a_notebook_shows_both(runs: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.v4.new_notebook()
    path = str(evalkit.find_run("good", runs))
    for code in (
        f"import evalkit; r = evalkit.read_run({path!r})",
        "r",
        "from evalkit_analysis_compare import compare; "
        f"compare('good', 'bad', runs={str(runs)!r}, tags=False)",
        "r.by_tag",
    ):
        notebook.cells.append(nbformat.v4.new_code_cell(code))
    nbclient.NotebookClient(notebook, timeout=120).execute()
    run, comparison, tags = (
        cell.outputs[0].data["text/html"] for cell in notebook.cells[1:]
    )
    assert "All examples" in Page(run).text
    assert "good against bad" in Page(comparison).text
    assert "ci_high" in tags


def test_shares_of_mistakes_are_those_of_their_answers() -> None:
    labels = [f"l{number:02}" for number in range(30)]
    rows = [
        {"uid": f"{n}-{label}", "statement": "x", "label": label}
        for label in labels
        for n in range(5)
    ]
    said = [
        {"id": row["uid"], "label": "l01" if row["uid"] == "0-l00" else row["label"]}
        for row in rows
    ]
    result = evalkit.evaluate(data=rows, predictions=said, task="text-classification")
    run = Shown(result, "m", 0)
    confusion = confusion_of(run)
    assert not isinstance(confusion, str)
    page = Page(confusion_table(run, confusion))
    assert "30 labels, too many for a matrix: 1 kind of mistakes" in page.text
    [(attributes, shown)] = page.numbers
    assert (shown, attributes["title"]) == ("1", "20.0% of the answers l00")
