"""Samples that lm-evaluation-harness wrote; `made_by/make_lm_eval.py` made them."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit_adapters_rows import Rows, as_pipeline, file_rows

FOLDER = Path(__file__).parent / "lm_eval"
PROBLEMS = FOLDER / "samples_word_problems.jsonl"
REPEATED = FOLDER / "samples_word_problems_repeated.jsonl"
REVIEWS = FOLDER / "samples_reviews.jsonl"
SCORES = json.loads((FOLDER / "results.json").read_text())


def through(adapter: str, *rows: Any) -> list[dict[str, Any]]:
    pipeline = as_pipeline(adapter)
    assert pipeline is not None
    return list(pipeline(rows))


def adapted(path: Path, adapter: str) -> list[dict[str, Any]]:
    return through(adapter, *(dict(row.values or {}) for row in file_rows(path)))


def sample(**changes: Any) -> dict[str, Any]:
    first = next(iter(file_rows(REVIEWS))).values
    return {**(first or {}), **changes}


def test_texts_are_read_as_a_filter_left_them() -> None:
    assert adapted(PROBLEMS, "lm-eval:filter=first-number,id=doc.key") == [
        {"id": "m1", "answer": "8"},
        {"id": "m2", "answer": "5"},
        {"id": "m3", "answer": "12"},
        {"id": "m4", "answer": "4"},
    ]
    assert adapted(PROBLEMS, "lm-eval:filter=none")[1] == {
        "id": 1,
        "answer": " So the answer is 5.",
    }
    raw = adapted(PROBLEMS, "lm-eval:filter=first-number,answers=raw,strip=true")
    assert raw[1]["answer"] == "So the answer is 5."
    assert len(adapted(PROBLEMS, "lm-eval")) == 8  # rows of every filter


def test_repeats_are_ranked_alternatives() -> None:
    assert adapted(REPEATED, "lm-eval:field=text")[0] == {
        "id": 0,
        "responses": [{"text": " 7"}, {"text": " 8"}],
    }


def test_the_likeliest_choice_is_the_answer() -> None:
    found = adapted(REVIEWS, "lm-eval:id=doc.key,field=label")
    labels = ["positive", "negative", "positive"]
    assert [row["label"] for row in found] == labels
    assert found[0]["id"] == "s1"


def test_choices_by_length_are_those_of_acc_norm() -> None:
    # -4.5 / 8 letters of "negative" is more than -4.0 / 7 letters of "neutral"
    row = sample(filtered_resps=[["-5.0", "False"], ["-4.5", "False"], ["-4.0", "F"]])
    for name, wanted in (("acc", "neutral"), ("acc_norm", "negative")):
        assert through(f"lm-eval:choose={name}", row)[0]["answer"] == wanted


def test_documents_are_examples() -> None:
    assert adapted(PROBLEMS, "lm-eval-docs:filter=none,target=gold")[0] == {
        "key": "m1",
        "question": "Ann has 3 eggs and buys 5. How many eggs has she?",
        "answer": "8",
        "tags": ["operation:add"],
        "uid": 0,
        "gold": "8",
    }


@pytest.mark.parametrize("target", [1, "1", "negative"])
def test_a_target_that_is_a_number_is_the_text_of_the_choice(target: Any) -> None:
    [row] = through("lm-eval-docs:target=label", sample(target=target))
    assert row["label"] == "negative"


@pytest.mark.parametrize("version", ["0.4.1", "0.4.7", "0.4.13"])
def test_choices_of_all_versions_are_read(version: str) -> None:
    numbers = FOLDER / f"samples_numbers-{version}.jsonl"
    assert adapted(numbers, "lm-eval") == [
        {"id": 0, "answer": "2"},
        {"id": 1, "answer": "1"},  # all -inf
        {"id": 2, "responses": []},  # all NaN
    ]
    docs = adapted(numbers, "lm-eval-docs:target=label")
    assert [row["label"] for row in docs] == ["2", "3", "1"]
    several = FOLDER / f"samples_several-{version}.jsonl"
    docs = adapted(several, "lm-eval-docs:target=label")
    assert [row["label"] for row in docs] == [["1", "3"]] * 3


def test_reported_cases_are_read(cases: Path) -> None:
    answers = adapted(cases / "32b-lmeval-mc-inf.jsonl", "lm-eval")
    assert [row["answer"] for row in answers] == ["aa", "aa", "bbbb", "aa"]
    answers = adapted(cases / "38-lmeval-nested.jsonl", "lm-eval:id=doc.id")
    assert answers == [{"id": str(n), "answer": "loc: kisumu"} for n in (0, 1)]


def test_a_line_that_is_cut_off_harms_no_other(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text(REVIEWS.read_text() + "{")
    adapters = {"data": "lm-eval-docs", "predictions": "lm-eval:field=label"}
    rows = Rows(adapters=adapters, map={"statement": "text"})
    result = evalkit.evaluate(REVIEWS, path, task="sentiment", rows=rows)
    assert result["accuracy"].n == 3


def test_contexts_are_compared_where_continuations_are_equal() -> None:
    arguments = [["The cup", " is big."], ["The box", " is big."]]
    row = sample(arguments=arguments, filtered_resps=[["-2", ""], ["-1", ""]])
    assert through("lm-eval", row)[0]["answer"] == "The box"


@pytest.mark.parametrize("target", [7, "[1, 7]", "unknown", "1"])
def test_targets_that_name_no_choice_are_refused(target: Any) -> None:
    # the first, "1", is the likeliest, and right as `acc` has it
    arguments = [["Which?", f" {number}"] for number in (1, 2)]
    values = [["-1", ""], ["-2", ""]]
    row = sample(arguments=arguments, filtered_resps=values, acc=1.0, target=target)
    with pytest.raises(evalkit.AdapterError, match="names none of the 2 choices"):
        through("lm-eval-docs:target=label", row)


def test_scores_are_those_of_the_harness() -> None:
    of_numbers = evalkit.evaluate(
        PROBLEMS,
        PROBLEMS,
        task="math-qa",
        rows=Rows(
            adapters={
                "data": "lm-eval-docs:filter=none",
                "predictions": "lm-eval:filter=first-number",
            }
        ),
        by=["operation"],
        min_n=1,
    )
    wanted = SCORES["word_problems"]["exact_match,first-number"]
    assert of_numbers["exact-match"].value == wanted
    assert of_numbers.by_tag.height >= 4
    docs = [
        {"kind": "lm-eval-docs"},
        {"kind": "Rename", "configuration": {"text": "statement"}},
    ]
    of_choices = evalkit.evaluate(
        REVIEWS,
        REVIEWS,
        task="sentiment",
        rows=Rows(adapters={"data": docs, "predictions": "lm-eval:field=label"}),
    )
    assert of_choices["accuracy"].value == pytest.approx(SCORES["reviews"]["acc,none"])


def test_a_filter_that_no_row_has_is_not_taken_for_an_empty_file() -> None:
    adapters = {"data": "lm-eval-docs:filter=none", "predictions": "lm-eval:filter=x"}
    with pytest.raises(evalkit.AlignmentError, match="the adapters left no row"):
        evalkit.evaluate(
            PROBLEMS, PROBLEMS, task="math-qa", rows=Rows(adapters=adapters)
        )
    adapters = {**adapters, "data": "lm-eval-docs:filter=x"}
    with pytest.raises(evalkit.DataError, match="'x', the filters are first-number, n"):
        evalkit.evaluate(
            PROBLEMS, PROBLEMS, task="math-qa", rows=Rows(adapters=adapters)
        )


def test_a_run_records_the_adapters_and_is_verified(tmp_path: Path) -> None:
    result = evalkit.evaluate(
        REVIEWS,
        REVIEWS,
        task="text-classification",
        rows=Rows(
            adapters={
                "data": [
                    {"kind": "lm-eval-docs"},
                    {"kind": "Rename", "configuration": {"text": "statement"}},
                ],
                "predictions": "lm-eval:field=label",
            }
        ),
        out=tmp_path,
    )
    [adapter] = result.record.predictions.adapters
    assert adapter.kind == "lm-eval"
    assert adapter.distribution == "evalkit-adapters-peers"
    assert adapter.configuration["field"] == "label"
    assert evalkit.verify(result.path, predictions=REVIEWS).agrees


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"filtered_resps": None}, "'filtered_resps' must be a list, got null"),
        ({"filtered_resps": []}, "has 0 values for 3 choices"),
        ({"filtered_resps": [["a", ""]] * 3}, "must hold log-likelihoods"),
        ({"arguments": [["A text"]]}, "log-likelihoods of one text, and no answer"),
        ({"arguments": [["A", " text"]]}, "log-likelihoods of one text, and no"),
        ({"arguments": {}}, "is no sample of"),
    ],
)
def test_rows_that_are_no_samples_are_refused(
    changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(evalkit.AdapterError, match=problem):
        through("lm-eval", sample(**changes))


def test_texts_that_are_none_are_refused() -> None:
    row = next(iter(file_rows(PROBLEMS))).values or {}
    with pytest.raises(evalkit.AdapterError, match="has no answer"):
        through("lm-eval", {**row, "filtered_resps": []})
    with pytest.raises(evalkit.AdapterError, match="must be a text, got a number"):
        through("lm-eval", {**row, "filtered_resps": [5]})


@pytest.mark.parametrize(
    ("adapter", "problem"),
    [
        ("lm-eval:id=doc.nothing", "there is no 'doc.nothing': 'nothing' is not among"),
        ("lm-eval:id=doc.key.x", "a value that is a text"),
        ("lm-eval-docs:id=doc.tags.4", "the 1 items of a list"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(adapter: str, problem: str) -> None:
    with pytest.raises(evalkit.AdapterError, match=problem):
        adapted(REVIEWS, adapter)
