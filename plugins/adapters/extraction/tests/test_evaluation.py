"""Extractors in an evaluation, in what a run records, and in a run that is rescored."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import BaseModel

import evalkit
from evalkit_adapters_rows import Rows


class _Question(BaseModel):
    uid: str
    question: str
    choices: list[str]


class _Reply(BaseModel):
    id: str
    answer: str
    note: str | None = None


class Quiz(evalkit.TaskIO):
    """Which option is right?"""

    Input = _Question
    Output = _Reply
    answer_field = "answer"
    choices_field = "choices"
    scored_fields = ("note",)
    perf_metric = "accuracy"
    example: Mapping[str, Any] = {"uid": "1", "question": "?", "choices": ["x", "y"]}


_TOWNS = ["Paris", "York", "New York", "Rome"]


class Towns(evalkit.Dataset):
    """Eight questions."""

    name = "towns"
    task = Quiz
    version = "1"

    def load(self, split: str) -> list[dict[str, Any]]:
        return [
            {
                "uid": str(number),
                "question": "?",
                "choices": _TOWNS,
                "answer": _TOWNS[number % 4],
                "tags": ["even" if number % 2 == 0 else "odd"],
            }
            for number in range(8)
        ]


_TEXTS = [
    "Answer: A",
    "Answer: (B) because New York is nice",
    "I think New York.",
    "Apple",
    " ",
    "Rome or Paris",
    "<think>Paris</think>Answer: **C**",
    "D) Rome",
]
_STAGES = "without-thinking|after:Answer:,otherwise=text|choice"
_WANTED = ["Paris", "York", "New York", None, None, None, "New York", "Rome"]


def _said(texts: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"id": str(n), "answer": text} for n, text in enumerate(texts)]


def _write(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    elif path.suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path)
    else:
        pl.DataFrame(rows).write_csv(path)
    return path


@pytest.mark.parametrize("suffix", ["rows", ".jsonl", ".parquet", ".csv"])
def test_answers_are_taken_out_whatever_the_form(suffix: str, tmp_path: Path) -> None:
    rows: Any = _said(_TEXTS)
    if suffix != "rows":
        rows = _write(rows, tmp_path / f"said{suffix}")
    result = evalkit.evaluate(Towns, rows, rows=Rows(extract=_STAGES))
    assert result.examples is not None
    assert result.examples["pred"].to_list() == _WANTED
    assert result["accuracy"].value == 5 / 8
    found = result.record.extraction
    assert found is not None
    counts = (found.responses, found.unique, found.ok, found.empty, found.unparsed)
    assert counts == (8, 8, 5, 1, 2)
    assert (found.text, found.chosen_by, found.error) == (_STAGES, "user", 0)
    assert result.counts["unparsed"] == 3
    assert dict(result.record.unparsed) == {
        "choice: no option is named": 1,
        "choice: several options are named": 1,
        "the response is empty": 1,
    }
    kinds = [each.name for each in result.record.components if each.kind == "adapters"]
    assert kinds == ["without-thinking", "after", "choice"]


def test_the_order_of_rows_does_not_matter() -> None:
    rows = _said(_TEXTS)
    one, other = (
        evalkit.evaluate(Towns, pl.DataFrame(each), rows=Rows(extract=_STAGES))
        for each in (rows, rows[::-1])
    )
    assert one.examples is not None
    assert other.examples is not None
    assert one.examples.equals(other.examples)


@pytest.mark.slow
def test_what_is_found_is_part_of_the_runs_identity() -> None:
    rows = _said(_TEXTS)
    ids = {
        evalkit.evaluate(Towns, rows, rows=Rows(extract=each)).run_id
        for each in (None, "choice", "choice:where=whole", "strip|choice")
    }
    assert len(ids) == 4


def test_data_sets_and_tasks_declare_extractors_and_users_win() -> None:
    class Asked(Quiz):
        extract = "choice"

    class OfTask(Towns):
        task = Asked

    class OfDataset(OfTask):
        extract: Any = [
            {"kind": "after", "configuration": {"cue": "Answer:"}},
            "choice",
        ]

    said = _said(["Answer: A"] * 8)
    made = {
        name: evalkit.evaluate(
            dataset, said, rows=Rows(extract=extract)
        ).record.extraction
        for name, dataset, extract in (
            ("task", OfTask, None),
            ("data set", OfDataset, None),
            ("user", OfDataset, "strip|choice"),
            ("nobody", OfDataset, "none"),
        )
    }
    assert made.pop("nobody") is None
    for name, found in made.items():
        assert found is not None
        assert found.chosen_by == name
    texts = [found.text for found in made.values() if found]
    assert (texts[0], texts[2]) == ("choice", "strip|choice")
    kinds = [stage["kind"] for stage in json.loads(texts[1])]
    assert kinds == ["after", "choice"]


def test_alternatives_keep_their_answers_or_vote() -> None:
    several = [{"answer": text} for text in ("A", "(B)", "b", "zzz")]
    said = [{"id": str(n), "responses": several} for n in range(8)]
    all_ = evalkit.evaluate(Towns, said, rows=Rows(extract="choice"))
    voted = evalkit.evaluate(Towns, said, rows=Rows(extract="choice|majority"))
    assert all_.examples is not None
    assert voted.examples is not None
    answers = ["Paris", "York", "York", None]
    assert all_.examples["responses"].to_list() == [answers] * 8
    assert all_.examples["pred"].to_list() == ["Paris"] * 8
    assert voted.examples["pred"].to_list() == ["York"] * 8
    assert "responses" not in voted.examples.columns
    again = evalkit.evaluate(Towns, all_, rows=Rows(extract="choice|majority"))
    assert again.fingerprint == voted.fingerprint
    assert again.examples is not None
    assert again.examples["pred"].to_list() == ["York"] * 8


def test_other_faults_of_a_response_still_count() -> None:
    said = [*_said(_TEXTS[:6]), {"id": "6", "answer": "A", "note": 5}, {"id": "7"}]
    result = evalkit.evaluate(
        Towns, said, rows=Rows(extract=_STAGES), on_invalid="skip"
    )
    assert (result.counts["invalid"], result.counts["scored"]) == (2, 6)
    assert {problem.id for problem in result.problems} == {"6", "7"}
    reported = [*_said(_TEXTS[:7]), {"id": "7", "answer": "A", "error": "timeout"}]
    result = evalkit.evaluate(
        Towns, reported, rows=Rows(extract=_STAGES), on_invalid="skip"
    )
    assert result.counts["invalid"] == 1


def test_errors_as_seahelm_drops_and_replaces_them() -> None:
    """errors-001 and -003 of its oracle: rows without a response, left out or wrong."""
    said = _said(["A", None, "C", "D", "A", "B", "C", "D"])
    dropped = evalkit.evaluate(
        Towns, said, rows=Rows(extract="choice"), on_invalid="skip"
    )
    assert (dropped["accuracy"].value, dropped["accuracy"].n) == (1, 7)
    replaced = evalkit.evaluate(
        Towns, said, rows=Rows(extract="choice"), on_invalid="wrong"
    )
    assert (replaced["accuracy"].value, replaced["accuracy"].n) == (7 / 8, 8)


@pytest.mark.slow
def test_a_run_is_rescored_by_other_extractors(tmp_path: Path) -> None:
    said = _said(_TEXTS)
    run = evalkit.evaluate(
        Towns, said, rows=Rows(extract="choice:where=whole"), out=tmp_path
    )
    assert run["accuracy"].value == 0
    again = evalkit.evaluate(Towns, run.path, rows=Rows(extract=_STAGES), out=tmp_path)
    direct = evalkit.evaluate(Towns, said, rows=Rows(extract=_STAGES))
    assert again.fingerprint == direct.fingerprint
    assert again.examples is not None
    assert direct.examples is not None
    assert again.examples.sort("id").equals(direct.examples.sort("id"))
    assert again.scores == direct.scores
    once_more = evalkit.evaluate(Towns, again.path)
    assert once_more.fingerprint == again.fingerprint
    assert again.record.counts == direct.record.counts
    assert again.record.unparsed == direct.record.unparsed
    assert again.record.extraction == direct.record.extraction
    assert again.notices == direct.notices
    verified = evalkit.verify(again.run_id, folder=tmp_path)
    assert verified.agrees
    more = evalkit.rescore(again.run_id, ["macro-f1"], folder=tmp_path)
    assert more.record.extraction == again.record.extraction


class _Sum(BaseModel):
    id: str
    answer: float


class Sums(Quiz):
    """What is the sum?"""

    Output = _Sum
    choices_field = None
    scored_fields = ()
    answer_kind = "number"


@pytest.mark.parametrize(
    "said",
    [
        _said([3.5, "so 1.5", 2.5]),
        _said([3.5, 1.5, 2.5]),
        pl.DataFrame(_said([3.5, 1.5, 2.5])),
    ],
)
def test_numbers_are_answers_already(said: Any) -> None:
    data = [
        {"uid": str(n), "question": "?", "choices": [], "answer": n + 0.5}
        for n in range(3)
    ]
    run = evalkit.evaluate(
        data=data, task=Sums, predictions=said, rows=Rows(extract="final-number")
    )
    assert run["accuracy"].value == 2 / 3
    found = run.record.extraction
    assert found is not None
    assert (found.responses, found.unique, found.ok) == (3, 3, 3)
    again = evalkit.evaluate(
        data=data, task=Sums, predictions=run, rows=Rows(extract="strip|final-number")
    )
    assert again["accuracy"].value == 2 / 3
    assert again.record.counts.unparsed == 0


def test_a_run_without_responses_is_refused(tmp_path: Path) -> None:
    withheld = evalkit.evaluate(
        Towns,
        _said(_TEXTS),
        rows=Rows(extract="choice"),
        include_examples=False,
        out=tmp_path,
    )
    assert withheld.examples is not None
    assert not any("response" in name for name in withheld.examples.columns)
    assert withheld.path is not None
    assert not (withheld.path / "responses.parquet").exists()
    for run in (withheld, withheld.path):
        with pytest.raises(evalkit.EvalkitError, match="the run holds no responses"):
            evalkit.evaluate(Towns, run, rows=Rows(extract="choice"))


@pytest.mark.slow
def test_runs_of_parts_are_put_together(tmp_path: Path) -> None:
    said = _said(_TEXTS)
    parts = [
        evalkit.evaluate(
            Towns, said, rows=Rows(extract=_STAGES), filters={"tag": tag}, out=tmp_path
        )
        for tag in ("even", "odd")
    ]
    merged = evalkit.merge([part.run_id for part in parts], folder=tmp_path)
    whole = evalkit.evaluate(Towns, said, rows=Rows(extract=_STAGES))
    assert merged.record.extraction == whole.record.extraction


def test_an_extractor_of_ones_own() -> None:
    class Loud:
        """Take what is written in capitals."""

        version = "1"

        def extract_text(self, text: str, choices: Any, labels: Any) -> Any:
            if text == "broken":
                raise evalkit.AdapterError("it is broken")
            return text.title() if text.isupper() else None

    said = _said(["PARIS", "york", "NEW YORK", "broken", "PARIS", "YORK", "?", "ROME"])
    result = evalkit.evaluate(Towns, said, rows=Rows(extract=[{"kind": Loud}]))
    assert result["accuracy"].value == 5 / 8
    assert dict(result.record.unparsed) == {
        "Loud: there is no answer": 2,
        "Loud: it is broken": 1,
    }
    found = result.record.extraction
    assert found is not None
    assert (found.ok, found.unparsed, found.error) == (5, 2, 1)


def test_extractors_of_columns_and_of_several_answers() -> None:
    class Small:
        version = "1"

        def extract_texts(self, texts: pl.Series) -> pl.DataFrame:
            return pl.DataFrame({"value": texts.str.to_titlecase()})

    class Last:
        version = "1"

        def choose_answer(self, answers: Sequence[str | None]) -> str | None:
            return answers[-1]

    several = [{"answer": text} for text in ("rome", "PARIS")]
    said = [{"id": str(n), "responses": several} for n in range(8)]
    result = evalkit.evaluate(
        Towns, said, rows=Rows(extract=[{"kind": Small}, {"kind": Last}])
    )
    assert result["accuracy"].value == 2 / 8


_SOLVED = {
    "6b_finetuning": 286,
    "6b_verification": 515,
    "175b_finetuning": 458,
    "175b_verification": 742,
}


@pytest.mark.known_result
@pytest.mark.parametrize("extract", ["final-number", None])
@pytest.mark.slow
def test_gsm8k_from_the_publishers_file(
    extract: str | None, external_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cobbe et al. 2021: the authors' own judgement of four models."""
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(external_data))
    path = external_data / "gsm8k" / "example_model_solutions.jsonl"
    for model, solved in _SOLVED.items():
        result = evalkit.evaluate(
            "gsm8k",
            path,
            rows=Rows(
                map_predictions={"id": "#row", "answer": f"{model}.solution"},
                extract=extract,
            ),
        )
        score = result["exact-match"]
        assert score.value is not None
        assert (round(score.value * 1319), score.n) == (solved, 1319)


@pytest.mark.parametrize("alternatives", [False, True])
def test_answers_are_numbers_where_the_task_takes_numbers(alternatives: bool) -> None:
    texts = ["about 4.5.", "nothing", "$1,200"]
    rows = [{"uid": str(n), "value": 4.5} for n in range(3)]
    answers: list[Any] = [{"value": text} for text in texts]
    said = [
        {"id": str(n), **({"responses": [each]} if alternatives else each)}
        for n, each in enumerate(answers)
    ]
    result = evalkit.evaluate(
        data=rows,
        predictions=said,
        task="regression",
        rows=Rows(extract="final-number"),
        model="m",
    )
    assert result.examples["pred"].to_list() == [4.5, None, 1200.0]
    assert result.counts["unparsed"] == 1
    assert result["mae"].value is None  # no number is the worst
