"""The page holds the numbers of its runs, and nothing of a user becomes code."""

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result as Done

import evalkit
from evalkit_analysis_compare import Comparison, compare
from evalkit_analysis_robustness import evaluate_perturbed, find_effects
from evalkit_commands_report import numbers
from evalkit_commands_report.bars import bar_lines
from evalkit_commands_report.gathering import gather
from evalkit_commands_report.page import make_page

from .conftest import HOSTILE, MODELS, Page

Invoke = Callable[..., Done]


@pytest.fixture(scope="module")
def html(results: list[evalkit.Result]) -> str:
    return make_page(gather(results, lambda found: compare(*found, min_n=5)))


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_every_score_of_a_tag_is_in_the_page(
    page: Page, results: list[evalkit.Result]
) -> None:
    group = page.data["group-0"]
    assert [run["id"] for run in group["runs"]] == [run.run_id for run in results]
    for number, result in enumerate(results):
        expected = {
            (row["metric"], row["tag"]): row for row in result.by_tag.to_dicts()
        }
        assert len(expected) == 2 * 8
        found = 0
        for metric, held in group["metrics"].items():
            columns = held["scores"][number]
            for place, tag in enumerate(held["tags"]):
                row = expected[metric, tag]
                assert columns["value"][place] == row["value"]
                assert columns["low"][place] == row["ci_low"]
                assert columns["high"][place] == row["ci_high"]
                assert columns["n"][place] == row["n"]
                found += 1
            assert held["whole"][number]["value"] == [result[metric].value]
            assert columns["limits"] == [0, 1]
            partly = {
                str(place)
                for place, tag in enumerate(held["tags"])
                if expected[metric, tag]["coverage"] < 1
            }
            assert set(columns["sizes"]) == partly
        assert found == len(expected)


def test_every_number_that_is_read_is_that_of_its_run(
    page: Page, results: list[evalkit.Result]
) -> None:
    by_id = {result.run_id: result for result in results}
    checked = 0
    for attributes, shown in page.numbers:
        about = {
            key[5:]: value for key, value in attributes.items() if key[:5] == "data-"
        }
        if "metric" not in about or "run" not in about:
            continue
        result = by_id[str(about["run"])]
        [score] = [
            score
            for score in (*result.scores, *find_effects(result).scores)
            if score.metric == about["metric"]
            and score.tag == about.get("tag")
            and score.aggregate == about.get("aggregate")
            and score.perturbation == about.get("perturbation")
            and score.computed_on == about["on"]
        ]
        exact = getattr(score, str(about["field"]))
        assert attributes["value"] == ("" if exact is None else repr(exact))
        _check_shown(shown, exact, score.scale, str(about["field"]))
        checked += 1
    assert checked > 300


def _check_shown(shown: str, exact: float | None, scale: float, field: str) -> None:
    """What is read is the number, rounded to the digits that are read."""
    found = re.search(r"-?\d*\.?\d+", shown)
    if exact is None or found is None:
        assert shown == "–"
        return
    is_scaled = field in ("value", "ci_low", "ci_high", "difference")
    is_scaled |= field in ("ci_low_adjusted", "ci_high_adjusted", "value_a", "value_b")
    number = exact * (scale if is_scaled else 1)
    number = min(max(number, -100), 100) if is_scaled else number
    places = len(found[0].partition(".")[2])
    assert float(found[0]) == pytest.approx(number, abs=0.501 * 10**-places)


def test_every_number_of_a_comparison_is_that_of_compare(
    page: Page, results: list[evalkit.Result]
) -> None:
    comparison = compare(*results, min_n=5)
    rows = {(row.model_b, row.metric, row.tag): row for row in comparison.rows}
    checked = 0
    for attributes, shown in page.numbers:
        if "data-first" in attributes:
            key = (
                str(attributes["data-second"]),
                str(attributes["data-metric"]),
                attributes.get("data-tag"),
            )
            field = str(attributes["data-field"])
            exact = getattr(rows[key], field)
            assert attributes["value"] == ("" if exact is None else repr(exact))
            _check_shown(shown, exact, rows[key].scale, field)
            checked += 1
    assert checked > 50
    for row in comparison.whole:
        assert row.conclusion in page.text
    for notice in comparison.notices:
        assert notice in page.text


def test_counts_confusions_and_reliability_are_those_of_the_run(
    page: Page, results: list[evalkit.Result]
) -> None:
    from evalkit.runs import count_confusion

    for result in results:
        mine = [
            (attributes, shown)
            for attributes, shown in page.numbers
            if attributes.get("data-run") == result.run_id
        ]
        counts = {a["data-count"]: int(s) for a, s in mine if "data-count" in a}
        assert counts == dict(result.counts)
        found = count_confusion(result)
        cells = {
            (a["data-answer"], a["data-prediction"]): int(s)
            for a, s in mine
            if "data-answer" in a
        }
        for label, row in zip(found.labels, found.counts, strict=True):
            for said, count in zip(found.predicted, row, strict=True):
                assert cells[label, said] == count
        bins = [(a, s) for a, s in mine if "data-bin" in a]
        assert (
            sum(int(s) for a, s in bins if a["data-field"] == "n")
            == (result.counts["scored"])
        )
        examples = result.examples
        assert examples is not None
        rows = examples.filter(status="scored").select("answer", "pred", "prob").rows()
        for attributes, _ in bins:
            low = float(str(attributes["data-bin"]))
            inside = [
                (prob[said], said == answer)
                for answer, said, prob in rows
                if low <= prob[said] < low + 1 / 15
            ]
            position = {"mean": 0, "right": 1}.get(str(attributes["data-field"]))
            if position is not None:
                mean = sum(pair[position] for pair in inside) / len(inside)
                assert float(str(attributes["value"])) == pytest.approx(mean)


def test_the_page_has_all_sections_and_says_what_is_known(page: Page) -> None:
    assert page.open == []
    for heading in (
        *("Scores", "By tag", "Comparison", "Perturbations", "Confusion"),
        *("Reliability", "Problems and notices", "Provenance"),
    ):
        assert heading in page.text
    assert "blur (uncertain: the answer may not hold)" in page.text
    assert "must be one of positive, negative, neutral" in page.text


def test_no_text_of_a_user_becomes_an_element_or_code(page: Page, html: str) -> None:
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert len(page.scripts) == 2
    assert HOSTILE in page.text
    assert HOSTILE not in html
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert "style" not in attributes


def test_the_policy_allows_the_pages_own_style_and_script_alone(html: str) -> None:
    page = Page(html)
    [policy] = [
        str(attributes["content"])
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; base-uri 'none'; form-action 'none'")
    assert "unsafe" not in policy
    [style] = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    for name, code in (("style", style), ("script", page.scripts[1])):
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert not re.search(r"(?:https?:)?//[a-z]", style + page.scripts[1])
    links = [a.get("href") or a.get("src") for _, a in page.elements]
    assert {link[0] for link in links if link} == {"#"}


def test_the_page_can_be_read_without_seeing_it(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert dict(page.elements[0][1])["lang"] == "en"
    ids = [a["id"] for _, a in page.elements if a.get("id")]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.elements:
        if tag == "th":
            assert attributes["scope"] in ("col", "row", "rowgroup")
        if tag in ("select", "input"):
            assert ("label", attributes["id"]) in {
                (name, each.get("for")) for name, each in page.elements
            }
        if tag == "svg":
            assert attributes.get("aria-hidden") or attributes.get("aria-label")
        for reference in (attributes.get("aria-labelledby"),):
            assert reference is None or reference in ids


def test_the_command_writes_one_file(
    invoke: Invoke, runs: Path, tmp_path: Path
) -> None:
    done = invoke("report", "good", "bad", "--runs", str(runs))
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.endswith("written to report.html\n")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    page = Page((tmp_path / "report.html").read_text("utf-8"))
    assert "good against bad" in page.text
    done = invoke("report", "good", "--runs", str(runs), "-o", "-", "-q")
    assert done.stdout.startswith("<!doctype html>")
    assert done.stderr == ""
    done = invoke("report", "good", "--runs", str(runs), "-o", "no/where.html")
    assert done.exit_code == 1
    assert done.stderr.endswith(
        "evalkit: error: no/where.html: cannot be written: No such file or directory\n"
    )


def test_a_page_is_written_whole_or_not_and_through_no_symlink(
    invoke: Invoke, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("other").write_text("as it was", "utf-8")
    Path("link.html").symlink_to("other")
    report = ("report", "good", "--runs", str(runs), "-q", "-o")
    done = invoke(*report, "link.html")
    assert (done.exit_code, Path("other").read_text("utf-8")) == (1, "as it was")
    assert "link.html: is a symlink, and is not replaced" in done.stderr

    def write_half(path: Path, content: bytes) -> None:
        path.write_text("half", "utf-8")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_half)
    done = invoke(*report, "other")
    assert (done.exit_code, Path("other").read_text("utf-8")) == (1, "as it was")
    assert done.stderr.endswith("other: cannot be written: No space left on device\n")
    assert {path.name for path in tmp_path.iterdir()} == {"other", "link.html"}


def test_metrics_can_be_chosen_and_pairs_and_comparison(
    invoke: Invoke, runs: Path, tmp_path: Path
) -> None:
    common = ("report", *MODELS, "--runs", str(runs))
    assert invoke(*common, "-m", "accuracy", "--all-pairs").exit_code == 0
    page = Page((tmp_path / "report.html").read_text("utf-8"))
    assert list(page.data["group-0"]["metrics"]) == ["accuracy"]
    assert f"bad against {HOSTILE}" in page.text
    assert invoke(*common, "--no-compare").exit_code == 0
    assert "against" not in Page((tmp_path / "report.html").read_text("utf-8")).text
    done = invoke(*common, "-m", "nonsense")
    assert done.exit_code == 1
    assert done.stderr.endswith(
        "evalkit: error: no run has a score 'nonsense'; there are: accuracy, "
        "exact-match\n"
    )


def test_a_refused_run_is_shown_with_its_counts(
    invoke: Invoke, runs: Path, refused: str, tmp_path: Path
) -> None:
    done = invoke("report", refused, "good", "--runs", str(runs))
    assert done.exit_code == 0
    text = Page((tmp_path / "report.html").read_text("utf-8")).text
    why = "the predictions were refused, so there are no scores: 31 missing, 1 invalid."
    assert why in text
    assert "Not compared: fewer than two runs have scores." in text
    done = invoke("report", refused, "--runs", str(runs))
    assert done.exit_code == 0
    text = Page((tmp_path / "report.html").read_text("utf-8")).text
    assert "By tag" not in text


def test_runs_of_several_data_sets_stand_one_below_the_other(
    invoke: Invoke, runs: Path, tmp_path: Path
) -> None:
    other = evalkit.evaluate(
        "sample-sentiment",
        [{"id": f"sent-{n:03}", "label": "positive"} for n in range(1, 9)],
        model="good",
        metrics=["accuracy"],
        limit=8,
        out="other",
    )
    paths = [str(evalkit.find_run("good", runs)), str(other.path)]
    assert invoke("report", *paths).exit_code == 0
    page = Page((tmp_path / "report.html").read_text("utf-8"))
    assert list(page.data) == ["group-0", "group-1"]
    done = invoke("report", *paths, "--format", "svg")
    assert done.exit_code == 1
    assert "a plot is of one data set and of comparable runs" in done.stderr


def test_runs_that_cannot_be_compared_are_shown_with_the_reason(
    results: list[evalkit.Result],
) -> None:
    def refuse(_: Any) -> Comparison:
        raise evalkit.AlignmentError(f"other data: {HOSTILE}")

    text = Page(make_page(gather(results, refuse))).text
    assert f"Not compared: other data: {HOSTILE}." in text


def test_of_too_many_tags_the_first_metric_is_kept_and_others_are_named(
    results: list[evalkit.Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbers, "MOST_SCORES", 40)
    page = Page(make_page(gather(results, None)))
    assert list(page.data["group-0"]["metrics"]) == ["accuracy"]
    assert (
        "Too many tags for one page: the scores of tags of exact-match are left out"
    ) in page.text


def test_bars_are_drawn_on_the_terminal(
    invoke: Invoke, runs: Path, refused: str
) -> None:
    done = invoke("report", "good", refused, "--runs", str(runs), "--bars")
    assert done.exit_code == 0
    title, whole, *tags = done.stdout.splitlines()
    good = evalkit.read_run(evalkit.find_run("good", runs))
    assert good.headline is not None
    metric = good.headline.metric
    assert title == f"{good.dataset}, good: {metric}, worst tags first"
    assert re.match(r"all examples +├─*●─*┤? +\d", whole)
    values = [float(re.search(r"([\d.]+) %", line)[1]) for line in tags[:8]]  # type: ignore[index]
    assert values == sorted(values)
    assert "good: refused" not in done.stdout
    assert f"{good.dataset}, refused: refused, so there are no scores" in done.stdout
    for wrong in (("-o", "x.html"), ("--format", "svg")):
        done = invoke("report", "good", "--runs", str(runs), "--bars", *wrong)
        assert done.exit_code == 2
        assert "--bars prints to the terminal" in done.stderr


def test_an_unknown_run_and_no_run_are_refused(invoke: Invoke, runs: Path) -> None:
    assert invoke("report").exit_code == 2
    done = invoke("report", "zz", "--runs", str(runs))
    assert done.exit_code == 1
    assert "evalkit: error: " in done.stderr


def test_predictions_without_a_probability_are_counted_as_examples(
    tmp_path: Path,
) -> None:
    data = [
        {"uid": str(n), "statement": "x", "label": "positive", "tags": []}
        for n in range(4)
    ]
    prob = {"positive": 0.8, "negative": 0.2, "neutral": 0.0}
    said = [{"id": str(n), "label": "positive", "prob": prob} for n in range(3)]
    result = evalkit.evaluate(
        data=data, predictions=said, task="sentiment", on_missing="wrong"
    )
    text = Page(make_page(gather([result], None))).text
    assert "3 predictions with a probability; 1 example without one left out" in text
    assert "a small one may be off the diagonal by chance" in text


def one_class(answers: Sequence[str], tag: str) -> evalkit.Result:
    rows = [
        {"uid": str(n), "statement": "x", "label": label, "tags": [tag] * (n % 2)}
        for n, label in enumerate(answers)
    ]
    said = [{"id": row["uid"], "label": "positive"} for row in rows]
    return evalkit.evaluate(data=rows, predictions=said, task="sentiment", min_n=3)


def test_what_an_asterisk_means_is_said() -> None:
    result = one_class(("negative", "positive") * 5, "odd")
    said = (
        "* labels without an example: neutral; one class: negative; one class: positive"
    )
    for shown in (make_page(gather([result], None)), result._repr_html_()):
        text = Page(shown).text
        assert "%*" in text
        assert said in text
    lines = list(bar_lines(gather([result], None), 100))
    assert said in lines
    alone = one_class(("positive",) * 8, "odd")
    text = Page(make_page(gather([alone], None))).text
    assert text.count("* one class: positive") == 2  # of the headline and by tag


def test_a_notebook_counts_the_tags_that_are_large_enough() -> None:
    rows = [
        {
            "uid": str(n),
            "statement": "x",
            "label": "positive",
            "tags": ["large", "small"] if n < 3 else ["large"],
        }
        for n in range(12)
    ]
    said = [{"id": row["uid"], "label": "positive"} for row in rows]
    result = evalkit.evaluate(data=rows, predictions=said, task="sentiment")
    words = "The 1 worst of 1 tag of at least 10 examples; .by_tag has all 2"
    assert words in Page(result._repr_html_()).text


def test_a_drop_of_fewer_originals_than_its_scores_says_so() -> None:
    rows = [{"uid": str(n), "statement": "x", "label": "positive"} for n in range(12)]
    copies = [
        {**row, "uid": f"{row['uid']}c", "input_id": row["uid"], "perturbation": "p"}
        | {"families": ["robustness"], "label_effect": "invariant"}
        for row in rows
    ]
    result = evaluate_perturbed(
        data=rows,
        predictions=[{"id": row["uid"], "label": "positive"} for row in rows[1:]],
        task="sentiment",
        on_missing="skip",
        perturbed=[copies],
        perturbed_predictions=[
            [{"id": row["uid"], "label": "positive"} for row in copies[:10]]
        ],
    )
    text = Page(make_page(gather([result], None))).text
    assert "(original: 11, perturbed: 10)" in text  # and 9 for the drop
