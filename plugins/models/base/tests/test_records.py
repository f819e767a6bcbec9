"""Every request is on record: in `requests.parquet`, as the model got it."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit_adapters_rows import Rows as MappedRows
from evalkit_models_base import (
    Asked,
    Completion,
    Continuation,
    Reply,
    Request,
    Token,
    Usage,
    predict,
    request_columns,
    text_reply,
)

Rows = list[dict[str, Any]]

PROMPT = {"query": "{statement}", "cue": "Label:", "form": "text"}
CHOICE = {**PROMPT, "query": "{statement}\n{choices}"}


def ask(rows: Rows, model: Any, prompt: Any = PROMPT, **more: Any) -> Any:
    asked = Asked(keeps_requests=True, **more.pop("asked", {}))
    given = {"data": rows, "task": "sentiment", **more}
    return predict(model=model, prompt=prompt, asked=asked, **given)


def test_the_record_holds_what_the_model_got(rows: Rows, scripted: Any) -> None:
    before = datetime.now(UTC)
    usage = Usage(input_tokens=8, output_tokens=2, thinking_tokens=1, cached_tokens=3)
    completion = Completion(text="neutral", finish_reason="stop")
    reply = Reply(completions=(completion,), usage=usage, model="m-2026")
    model = scripted(lambda text: reply)
    record = ask(rows, model).requests
    assert dict(record.schema) == request_columns()
    assert record["id"].to_list() == [row["uid"] for row in rows]
    sent = [each.model_dump(mode="json", exclude_defaults=True) for each in model.asked]
    assert [json.loads(text) for text in record["request"]] == sent
    digests = [hashlib.sha256(t.encode()).hexdigest() for t in record["request"]]
    assert record["digest"].to_list() == digests
    first = record.row(0, named=True)
    assert first["completions"] == [{"finish_reason": "stop", "tokens": None}]
    taken = [first[f"{name}_tokens"] for name in ("input", "output", "thinking")]
    assert (taken, first["cached_tokens"]) == ([8, 2, 1], 3)
    assert (first["model"], first["attempts"], first["cached"]) == ("m-2026", 1, False)
    assert (first["batch_size"], first["error"]) == (1, None)
    assert first["seconds"] <= first["batch_seconds"] + 1e-9
    assert before <= first["received"] <= datetime.now(UTC)


def test_only_digests_are_kept_unless_a_user_says_otherwise(
    rows: Rows, scripted: Any
) -> None:
    model = scripted(str.upper)
    kept = ask(rows, model)
    found = predict(data=rows, task="sentiment", model=model, prompt=PROMPT)
    assert found.requests is not None
    assert found.requests["request"].null_count() == 12
    assert found.requests["digest"].equals(kept.requests["digest"])
    # the reply's own facts come from the cache with it
    assert found.requests["cached"].all()
    assert found.requests["received"].equals(kept.requests["received"])


def test_attempts_and_failures_are_on_record(rows: Rows, scripted: Any) -> None:
    times: dict[str, int] = {}

    def answer(text: str) -> Any:
        times[text] = times.get(text, 0) + 1
        if "text 1\n" in text:
            return evalkit.TryAgain("busy", 0.001)
        late = "text 2\n" in text and times[text] < 3
        return TimeoutError() if late else "neutral"

    limits = {"retries": 3, "max_errors": 2}
    record = ask(rows[:4], scripted(answer), asked=limits).requests
    assert record["attempts"].to_list() == [1, 4, 3, 1]
    assert record["error"].to_list() == [None, "busy", None, None]


def test_log_probabilities_are_on_record_also_of_the_calibration(
    rows: Rows, scripted: Any
) -> None:
    def answer(text: str) -> Reply:
        return Reply(
            continuations=tuple(
                Continuation(
                    logprob=-n - 1.0,
                    tokens=2,
                    token_logprobs=(-n - 0.25, -0.75),
                    conditioning_tokens=len(text),
                )
                for n in range(3)
            )
        )

    prompt = {**PROMPT, "method": "calibrated", "choices": {"order": "sorted"}}
    model = scripted(answer)
    record = ask(rows[:1], model, prompt).requests
    # the task lists positive, negative, neutral
    assert record["options"].to_list() == [[1, 2, 0]] * 2
    assert record["calibration"].to_list() == [False, True]
    assert record["number"].to_list() == [0, 1]
    for row, request in zip(record.iter_rows(named=True), model.asked, strict=True):
        assert [each["logprob"] for each in row["continuations"]] == [-1.0, -2.0, -3.0]
        assert row["continuations"][1]["token_logprobs"] == [-1.25, -0.75]
        told = {each["conditioning_tokens"] for each in row["continuations"]}
        assert told == {len(request.prompt or "")}


def test_generated_tokens_are_on_record(rows: Rows, scripted: Any) -> None:
    token = Token(text=" B", logprob=-0.5, alternatives={" B": -0.5, " A": -2.0})
    completion = Completion(text=" B", tokens=(token,))
    model = scripted(lambda text: Reply(completions=(completion,)))
    prompt = {**CHOICE, "method": "joint", "generate": {"logprobs": 2}}
    record = ask(rows[:1], model, prompt).requests
    (told,) = record["completions"][0].to_list()
    assert told["tokens"] == [{"text": " B", "logprob": -0.5}]
    assert record["options"].to_list() == [[0, 1, 2]]


def test_shots_that_were_left_out_and_texts_that_were_cut_are_on_record(
    rows: Rows, scripted: Any
) -> None:
    shots = [{"statement": f"shot {n} " * 8, "answer": "neutral"} for n in range(3)]
    prompt = {**PROMPT, "shots": {"examples": shots}, "generate": {"max_tokens": 1}}
    rows = [
        {"uid": "short", "statement": "so", "label": "neutral"},
        {"uid": "middle", "statement": "so " * 30, "label": "neutral"},
        {"uid": "long", "statement": "so " * 200, "label": "neutral"},
    ]
    model = scripted(lambda text: "neutral")
    model.context_length = 100
    found = ask(rows, model, prompt, count_tokens=lambda text: len(text.split()))
    record = {row["id"]: row for row in found.requests.iter_rows(named=True)}
    for uid, request in zip(record, model.asked, strict=True):
        shown = [n for n in range(3) if f"shot {n}" in (request.prompt or "")]
        assert record[uid]["shots"] == [f"shot {n + 1}" for n in shown]
        assert record[uid]["shots_left_out"] == 3 - len(shown)
    assert record["short"]["shots_left_out"] == 0
    assert record["middle"]["shots_left_out"] == 0
    assert record["long"]["cut_field"] == "statement"
    left = len(rows[2]["statement"]) - record["long"]["cut_characters"]
    assert model.asked[2].prompt == rows[2]["statement"][:left] + "\nLabel:"
    said = found.system["prompt"]["fitted"]
    assert said == {
        "prompts": 3,
        "prompts_with_fewer_shots": 1,
        "shots_left_out": 3,
        "fewest_shots": 0,
        "prompts_cut": 1,
        "context_length": 100,
    }


def test_a_run_names_no_shots_that_were_never_sent(rows: Rows, scripted: Any) -> None:
    shots = [{"statement": f"shot {n} " * 20, "answer": "neutral"} for n in range(3)]
    prompt = {**PROMPT, "shots": {"examples": shots}, "generate": {"max_tokens": 1}}
    model = scripted(lambda text: "neutral")
    model.context_length = 60
    found = ask(rows, model, prompt, count_tokens=lambda text: len(text.split()))
    assert found.system["prompt"]["shown"] == [["shot 1"]]
    assert found.system["prompt"]["fitted"]["shots_left_out"] == 24


def test_a_run_keeps_the_record(rows: Rows, tmp_path: Path, scripted: Any) -> None:
    found = ask(rows, scripted(lambda text: "neutral"))
    path = found.save(tmp_path / "m.jsonl")
    how: dict[str, Any] = {"data": rows, "task": "sentiment", "out": tmp_path / "runs"}
    result = evalkit.evaluate(predictions=path, **how)
    assert result.path is not None
    stored = pl.read_parquet(result.path / "requests.parquet")
    assert stored.equals(found.requests)
    record = evalkit.read_run(result.path).record
    assert "requests.parquet" in record.files
    assert [*record.predictions.tables] == ["requests.parquet"]
    again = evalkit.evaluate(predictions=result.path, metrics=["accuracy"], **how)
    assert again.tables["requests.parquet"].equals(stored)
    assert again.path is not None
    more = evalkit.rescore(again.path, ["macro-f1"], out=tmp_path / "runs")
    assert more.tables["requests.parquet"].equals(stored)
    hidden = evalkit.evaluate(predictions=path, include_examples=False, **how)
    assert hidden.tables == {}


def test_a_record_of_other_requests_is_refused(
    rows: Rows, tmp_path: Path, scripted: Any
) -> None:
    path = ask(rows, scripted(lambda text: "neutral")).save(tmp_path / "m.jsonl")
    how: dict[str, Any] = {"data": rows, "task": "sentiment", "predictions": path}
    pl.DataFrame({"id": ["1"]}).write_parquet(tmp_path / "m.requests.parquet")
    with pytest.raises(evalkit.DataError, match=r"m\.requests\.parquet: not the table"):
        evalkit.evaluate(**how)
    (tmp_path / "m.requests.parquet").unlink()
    with pytest.raises(evalkit.DataError, match=r"m\.requests\.parquet: not the table"):
        evalkit.evaluate(**how)


def test_batches_are_on_record(rows: Rows) -> None:
    class Batching(evalkit.Model):
        abilities = ("text",)
        batch_requests = 5

        def generate(self, requests: list[Request]) -> list[Reply]:
            return [text_reply("neutral") for _ in requests]

    record = ask(rows, Batching()).requests
    assert record["batch_size"].to_list() == [5] * 10 + [2] * 2
    assert (record["batch_seconds"] >= record["seconds"]).all()


def test_inputs_of_a_model_without_prompts_are_on_record(rows: Rows) -> None:
    def answer(inputs: Any) -> list[str]:
        return ["neutral" for _ in inputs]

    asked = Asked(keeps_requests=True)
    given = {"data": rows, "task": "sentiment", "model": answer, "replications": 2}
    record = predict(asked=asked, **given).requests
    assert record is not None
    assert record["replication"].to_list() == ["1"] * 12 + ["2"] * 12
    first = json.loads(record["request"][0])
    assert first == {"uid": "0", "statement": "text 0"}


def test_seeds_differ_by_trial_and_repetition(rows: Rows, scripted: Any) -> None:
    shots = [{"statement": f"shot {n}", "answer": "neutral"} for n in range(6)]
    prompt = {**PROMPT, "shots": {"examples": shots, "count": 2, "draw": "random"}}
    prompt |= {"generate": {"seed": 7}, "trials": 2, "replications": 2}
    model = scripted(lambda text: "neutral")
    found = ask(rows[:1], model, prompt)
    assert [each.seed for each in model.asked] == [7, 8, 9, 10]
    assert found.requests["replication"].to_list() == ["1.1", "1.2", "2.1", "2.2"]
    assert found.requests["digest"].n_unique() == 4


def test_a_temperature_may_be_left_to_the_model(rows: Rows, scripted: Any) -> None:
    model = scripted(lambda text: "neutral")
    ask(rows[:1], model, {**PROMPT, "generate": {"temperature": None}})
    assert model.asked[0].temperature is None
    ask(rows[:1], model)
    assert model.asked[1].temperature == 0.0


def test_a_file_of_shots_is_read_as_the_data_are(
    rows: Rows, scripted: Any, tmp_path: Path
) -> None:
    for name, texts in (("data", ["a", "b"]), ("shots", ["c", "d"])):
        lines = [
            json.dumps({"uid": f"{name} {text}", "text": text, "label": "neutral"})
            for text in texts
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    source = {"source": str(tmp_path / "shots.jsonl"), "count": 1, "draw": "first"}
    model = scripted(lambda text: "neutral")
    given: dict[str, Any] = {
        "data": tmp_path / "data.jsonl",
        "rows": MappedRows(map={"statement": "text"}),
    }
    prompt = {**PROMPT, "shots": source}
    predict(task="sentiment", model=model, prompt=prompt, **given)
    assert [each.prompt for each in model.asked] == [
        "c\nLabel: neutral\n\na\nLabel:",
        "c\nLabel: neutral\n\nb\nLabel:",
    ]
