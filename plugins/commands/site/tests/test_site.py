"""`evalkit site`: what its folder holds, and how it is written."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest
from click.testing import CliRunner
from click.testing import Result as Done

import evalkit
from evalkit.runs import list_runs
from evalkit_cli.main import cli

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e{{7*7}}"
LABELS = ("positive", "neutral", "negative")
N = 36

Invoke = Callable[..., Done]


class Page(HTMLParser):
    """A page as a browser reads it: its elements and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def values(self, name: str) -> list[str]:
        """Return the values of an attribute."""
        return [value for _, each in self.elements if (value := each.get(name))]


@pytest.fixture(autouse=True)
def _clean_place(clean_place: None) -> None: ...


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of runs of four models on two datasets."""
    folder = tmp_path_factory.mktemp("runs")
    rows = [
        {
            "uid": f"uid-{number}",
            "statement": "fine",
            "label": LABELS[number % 3],
            "tags": [f"length:{('short', 'long')[number % 2]}", HOSTILE],
        }
        for number in range(N)
    ]
    for name in ("news", HOSTILE.replace("/", "")):
        data = folder / f"{name}.jsonl"
        data.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        for place, model in enumerate(("good", "bad", HOSTILE, "short")):
            predictions = [
                {
                    "id": row["uid"],
                    "label": LABELS[number % 3 if number % 7 > place else 0],
                }
                for number, row in enumerate(rows)
            ]
            is_short = model == "short"
            evalkit.evaluate(
                data=data,
                task="sentiment",
                predictions=predictions[:-2] if is_short else predictions,
                model=model,
                on_missing="skip" if is_short else "error",
                include_examples=model != "bad",
                out=folder / "runs",
            )
    return folder / "runs"


@pytest.fixture(scope="session")
def site(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a site of these runs."""
    folder = tmp_path_factory.mktemp("site") / "public"
    done = CliRunner().invoke(cli, ["site", str(runs), "-o", str(folder), "-q"])
    assert done.exit_code == 0, done.output
    return folder


def pages(site: Path) -> Iterator[tuple[Path, Page]]:
    for path in sorted(site.rglob("*.html")):
        yield path, Page(path.read_text(encoding="utf-8"))


def index_of(site: Path) -> Any:
    script = (site / "data" / "index.js").read_text(encoding="utf-8")
    return json.loads(script.removeprefix("window.evalkitSite = ").rstrip(";\n"))


def contents(site: Path) -> dict[str, bytes]:
    files = (path for path in site.rglob("*") if path.is_file())
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in files}


def run_named(runs: Path, model: str, dataset: str = "news") -> Path:
    return next(
        run.path
        for run in list_runs(runs)
        if (run.record.model, run.record.dataset) == (model, dataset)
    )


def test_a_site_has_a_page_of_everything(site: Path) -> None:
    found = index_of(site)
    assert len(found["runs"]) == 8
    assert {run["model"] for run in found["runs"]} == {"good", "bad", HOSTILE, "short"}
    for run in found["runs"]:
        shown = Page((site / run["page"]).read_text()).text
        assert run["model"].replace("\u202e", r"\u202e") in shown
        assert (site / run["scores"]).is_file()
    assert len([*(site / "models").iterdir()]) == 4
    assert len([*(site / "datasets").iterdir()]) == 2
    start = Page((site / "index.html").read_text())
    assert "8 runs2 datasets4 models" in start.text
    assert [name for name in start.values("href") if name.startswith("boards/")]


def test_links_lead_to_files_and_places_of_the_site(site: Path) -> None:
    ids = {path: {*page.values("id")} for path, page in pages(site)}
    for path, page in pages(site):
        for target in (*page.values("href"), *page.values("src")):
            link, fragment = urldefrag(target)
            linked = (path.parent / unquote(link)).resolve() if link else path
            assert linked.is_file(), f"{path}: {target}"
            # a fragment of these pages is what a reader chose
            if fragment and linked.name not in ("compare.html", "runs.html"):
                assert fragment in ids[linked], f"{path}: {target}"


def test_texts_of_data_are_never_code(site: Path) -> None:
    for path, page in pages(site):
        for tag, attributes in page.elements:
            assert tag != "img", path
            assert not [name for name in attributes if name.startswith("on")], path
            is_data = attributes.get("type") == "application/json"
            assert tag != "script" or is_data or "src" in attributes, path
        [policy] = [value for value in page.values("content") if "default-src" in value]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "\u202e" not in path.read_text()
    for path in (site / "data").iterdir():
        assert not {*"<>\u202e"} & {*path.read_text(encoding="utf-8")}, path


def test_equal_runs_give_equal_bytes(
    site: Path, runs: Path, tmp_path: Path, invoke: Invoke
) -> None:
    shutil.copytree(runs, tmp_path / "elsewhere")
    assert invoke("site", "elsewhere", runs, "-o", "other").exit_code == 0
    assert contents(tmp_path / "other") == contents(site)


def test_a_site_is_replaced_as_a_whole(
    runs: Path, tmp_path: Path, invoke: Invoke
) -> None:
    some = tmp_path / "some"
    shutil.copytree(run_named(runs, "good").parent, some / "news")
    assert invoke("site", some, "-o", "public").exit_code == 0
    before = contents(tmp_path / "public")
    shutil.rmtree(run_named(some, "good"))
    done = invoke("site", some, "-o", "public", "--title", "Ours", "--json")
    assert json.loads(done.stdout)["runs"] == 3
    after = contents(tmp_path / "public")
    assert len(before) - len(after) == 3  # page and scores of the run, and of its model
    assert b"<title>Ours</title>" in after["index.html"]
    assert not [*tmp_path.glob(".public*")]


@pytest.mark.parametrize("name", ["notes.txt", "public/.git/HEAD", "public/CNAME"])
def test_other_files_are_never_replaced(
    name: str, runs: Path, tmp_path: Path, invoke: Invoke
) -> None:
    if name != "notes.txt":
        assert invoke("site", runs, "-o", "public").exit_code == 0
    out = Path(name).parts[0] if "/" in name else "."
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    before = contents(tmp_path)
    done = invoke("site", runs, "-o", out)
    assert done.exit_code == 1
    assert Path(name).name in done.stderr
    assert contents(tmp_path) == before


def test_a_site_that_cannot_be_written_leaves_the_earlier_one(
    runs: Path, tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert invoke("site", runs, "-o", "public").exit_code == 0
    before = contents(tmp_path)

    def rename(path: Path, target: Path) -> None:
        if path.name.endswith(".new"):
            raise OSError(28, "No space left on device")
        os.rename(path, target)  # noqa: PTH104

    monkeypatch.setattr(Path, "rename", rename)
    done = invoke("site", runs, "-o", "public", "--title", "New")
    assert done.exit_code == 1
    assert "public: cannot be written: No space left on device" in done.stderr
    assert contents(tmp_path) == before


def test_scores_that_are_not_comparable_are_apart(
    runs: Path, tmp_path: Path, invoke: Invoke
) -> None:
    shutil.copytree(runs / "news", tmp_path / "runs" / "news")
    path = run_named(tmp_path / "runs", "good") / "run.json"
    record = json.loads(path.read_text())
    record["data"]["version"] = "2"
    path.write_text(json.dumps(record))
    assert invoke("site").exit_code == 0
    page = Page((tmp_path / "public" / "datasets" / "news.html").read_text())
    assert "Not comparable with most scores: version: 1 and 2" in page.text
    found = index_of(tmp_path / "public")
    kinds = {run["model"]: run["kind"] for run in found["runs"]}
    assert kinds["bad"] == kinds[HOSTILE]
    [difference] = found["differences"][f"{kinds['good']}-{kinds['bad']}"]
    assert difference == ["version: 2 and 1", False, False]


def test_answers_are_a_bounded_sample_of_wrong_ones(
    site: Path, runs: Path, tmp_path: Path, invoke: Invoke
) -> None:
    def answers(folder: Path, model: str) -> list[str]:
        [run] = [
            run
            for run in index_of(folder)["runs"]
            if (run["model"], run["dataset"]) == (model, "news")
        ]
        return re.findall(r"uid-\d+", (folder / run["page"]).read_text())

    assert answers(site, "good")
    assert answers(site, "bad") == []  # the run kept no examples
    assert invoke("site", runs, "-o", "few", "--examples", "2").exit_code == 0
    assert len(answers(tmp_path / "few", "good")) == 2
    assert invoke("site", runs, "-o", "none", "--examples", "0").exit_code == 0
    assert answers(tmp_path / "none", "good") == []


def test_runs_that_cannot_be_read_are_named(
    runs: Path, tmp_path: Path, invoke: Invoke
) -> None:
    shutil.copytree(runs, tmp_path / "runs")
    damaged = run_named(tmp_path / "runs", "good")
    (damaged / "scores.parquet").write_bytes(b"PAR1")
    broken = run_named(tmp_path / "runs", "bad")
    (broken / "run.json").write_text("{")
    done = invoke("site", tmp_path / "runs", "--json")
    assert done.exit_code == 0
    problems = json.loads(done.stdout)["problems"]
    assert {*problems} == {f"news/{damaged.name}", f"news/{broken.name}"}
    shown = Page((tmp_path / "public" / "runs.html").read_text()).text
    for place, why in problems.items():
        assert f"notice: {place} cannot be read: {why}" in done.stderr
        assert f"{place}: {why}" in shown
    [board] = (tmp_path / "public/boards").iterdir()
    assert f"{damaged.name[-8:]} is left out: " in Page(board.read_text()).text
    assert str(tmp_path) not in "".join(page.text for _, page in pages(Path("public")))


def test_a_named_suite_has_a_leaderboard_or_is_an_error(
    runs: Path, tmp_path: Path, invoke: Invoke
) -> None:
    suite = tmp_path / "mine.yaml"
    suite.write_text("suite: mine\nof:\n  - data: news\n    metric: accuracy\n")
    done = invoke("site", runs, "--suite", suite, "--suite", suite, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["leaderboards"] == ["", "mine"]
    assert "good" in Page((tmp_path / "public/boards/mine.html").read_text()).text
    before = contents(tmp_path)
    assert invoke("site", runs, "--suite", "absent").exit_code == 1
    assert contents(tmp_path) == before


def test_a_folder_without_runs_is_an_error(tmp_path: Path, invoke: Invoke) -> None:
    done = invoke("site", tmp_path)
    assert done.exit_code == 1
    assert "no run that can be read" in done.stderr
    assert not (tmp_path / "public").exists()
    assert "nowhere: folder not found" in invoke("site", tmp_path, "nowhere").stderr
    assert invoke("site", "-o", "s3://bucket/site").exit_code == 2
