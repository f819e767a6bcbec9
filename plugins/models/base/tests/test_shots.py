"""Shots: from where, which ones, and never an example that is asked."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalkit
from evalkit import DataError, EvalkitError
from evalkit_models_base import (
    Asked,
    Model,
    Predicted,
    Reply,
    Request,
    Usage,
    predict,
    text_reply,
)

from .conftest import LABELS, PROMPT, Sentiments


def row(uid: str, statement: str, label: str = "positive") -> dict[str, Any]:
    return {"uid": uid, "statement": statement, "label": label}


TRAIN = [
    row(f"t{n}", f"statement {n}", LABELS[0 if n < 20 else n % 3]) for n in range(30)
]
TEST = [row(f"q{n}", f"question {n}") for n in range(4)]


class Keeping(Model):
    """A model that keeps what it is asked."""

    abilities = ("text",)

    def __init__(self, context: int | None = None) -> None:
        self.context_length = context
        self.asked: list[str] = []

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.asked += [str(request.prompt) for request in requests]
        return [text_reply("positive")] * len(requests)


def ask(
    model: Keeping,
    said: Mapping[str, Any],
    *,
    train: Sequence[Any] = TRAIN,
    test: Sequence[Any] = TEST,
    **more: Any,
) -> Predicted:
    return predict(
        Sentiments(train, test),
        model,
        prompt={**PROMPT, "shots": {"source": "train", **said}},
        asked=Asked(is_cached=False),
        **more,
    )


def shown(asked: str) -> list[tuple[str, str]]:
    """Return the statements of a prompt's shots, with the labels."""
    blocks = [block.split("\nLabel:") for block in asked.split("\n\n")[:-1]]
    return [(statement, label.strip()) for statement, label in blocks]


@pytest.mark.parametrize("draw", ["random", "balanced", "first"])
def test_all_rows_get_the_same_shots_in_each_run(draw: str) -> None:
    first, second = Keeping(), Keeping()
    found = ask(first, {"count": 5, "draw": draw})
    ask(second, {"count": 5, "draw": draw})
    assert first.asked == second.asked
    (shots,) = {tuple(shown(asked)) for asked in first.asked}
    assert len({*shots}) == 5
    (ids,) = found.system["prompt"]["shown"]
    labels = {each["uid"]: (each["statement"], each["label"]) for each in TRAIN}
    assert [labels[uid] for uid in ids] == [*shots]


@pytest.mark.parametrize("count", [3, 4, 6, 8])
def test_balanced_shots_have_each_label_equally_often(count: int) -> None:
    for seed in range(10):
        model = Keeping()
        ask(model, {"count": count, "draw": "balanced", "seed": seed})
        of_label = Counter(label for _, label in shown(model.asked[0]))
        assert max(of_label.values()) - min(of_label.values()) <= 1
        assert len(of_label) == 3


def test_trials_and_replications() -> None:
    model = Keeping()
    found = ask(model, {}, shots=2, trials=3, replications=2)
    assert len(model.asked) == 3 * 2 * len(TEST)
    names = [each["_replication_"] for each in found.rows]
    assert names == [
        f"{trial}.{time}" for trial in "123" for time in "12" for _ in TEST
    ]
    passes = [model.asked[n : n + len(TEST)] for n in range(0, 24, len(TEST))]
    assert passes[0] == passes[1] != passes[2]
    assert len({tuple(shown(each[0])) for each in passes}) == 3
    assert len(found.system["prompt"]["shown"]) == 3
    result = evalkit.evaluate(
        Sentiments(TRAIN, TEST), predictions=found.rows, model="m"
    )
    assert result.counts["scored"] == 24
    assert result.counts["replications"] == 6


def test_trials_that_are_cut_to_the_same_are_said() -> None:
    """Those of a long question lose all their shots, those of a short one none."""
    long, short = row("long", "why? " * 60), row("short", "why?")
    model = Keeping(context=108)
    found = ask(model, {}, shots=1, trials=3, test=[long, short], generate=SHORT)
    assert len({*model.asked}) == 1 + 3
    assert any(
        each.startswith("2 of 4 prompts of the second and later trials are those of an")
        for each in found.notices
    )
    wide = ask(Keeping(context=9_999), {}, shots=1, trials=3, generate=SHORT)
    assert not any("later trials" in each for each in wide.notices)


def test_what_is_asked_in_several_trials_is_taken_once() -> None:
    usage = Usage(input_tokens=10, output_tokens=1)

    class Paid(Keeping):
        def describe_request(self, request: Any) -> Any:
            return request.model_dump(mode="json")

        def generate(self, requests: Sequence[Request]) -> list[Reply]:
            super().generate(requests)
            return [text_reply("positive", usage=usage)] * len(requests)

    model = Paid(context=108)
    prompt = {**PROMPT, "shots": {"source": "train"}}
    more: dict[str, Any] = {"shots": 1, "trials": 3, "generate": SHORT}
    data = Sentiments(TRAIN, [row("long", "why? " * 60)])
    found = predict(data, model, prompt=prompt, **more)
    assert (len(model.asked), len(found.rows)) == (1, 3)
    assert found.usage["input_tokens"] == 10


SHORT = {"max_tokens": 1}


def test_trials_that_would_show_the_same() -> None:
    model = Keeping()
    ask(model, {"count": 2}, train=TRAIN[:3], trials=3)
    assert len({frozenset(shown(asked)) for asked in model.asked}) == 3
    with pytest.raises(DataError, match="ask for fewer trials"):
        ask(Keeping(), {"count": 2}, train=TRAIN[:3], trials=4)


STATEMENTS = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.sampled_from(["Good", "good ", "BAD", "bad", "a b", "a  B", "x", "y", "z"]),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda each: each[0],
)


@settings(max_examples=60, deadline=None)
@given(STATEMENTS, STATEMENTS, st.sampled_from(["random", "balanced"]))
@pytest.mark.slow
def test_nothing_is_shown_that_is_asked(
    train: list[tuple[int, str]], test: list[tuple[int, str]], draw: str
) -> None:
    def folded(text: str) -> str:
        return " ".join(text.lower().split())

    ids, texts = {uid for uid, _ in test}, {folded(text) for _, text in test}
    open_ = [t for t in train if t[0] not in ids and folded(t[1]) not in texts]
    given = {
        "train": [row(str(uid), text) for uid, text in train],
        "test": [row(str(uid), text) for uid, text in test],
    }
    model = Keeping()
    if not open_:
        with pytest.raises(DataError, match="0 examples can be shown"):
            ask(model, {"count": 1, "draw": draw}, **given)
        assert not model.asked
        return
    found = ask(model, {"count": len(open_), "draw": draw}, **given)
    said = sorted(statement for statement, _ in shown(model.asked[0]))
    assert said == sorted(text for _, text in open_)
    left_out = len(train) - len(open_)
    wanted = "of 'train' not shown, being asked too, by their id or text"
    assert (not left_out) or found.notices[-1].endswith(wanted)
    assert (not left_out) or found.notices[-1].startswith(f"{left_out} example")


def test_shots_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "shots.jsonl"
    more = [{**each, "why": f"reason {each['uid']}"} for each in TRAIN[:2]]
    file.write_text("".join(json.dumps(each) + "\n" for each in more))
    model = Keeping()
    predict(
        Sentiments([], TEST),
        model,
        prompt={
            **PROMPT,
            "answer": "{answer}, {why}",
            "shots": {"source": str(file), "count": 2, "draw": "first"},
        },
        asked=Asked(is_cached=False),
    )
    assert model.asked[0] == (
        "statement 0\nLabel: positive, reason t0\n\n"
        "statement 1\nLabel: positive, reason t1\n\n"
        "question 0\nLabel:"
    )


def test_answers_as_they_are_stored() -> None:
    """A shot may show a whole solution, of which the last number is scored."""

    class Solutions(Sentiments):
        task = "math-qa"

        def label_field_converter(self, example: Mapping[str, Any]) -> dict[str, Any]:
            return {
                "id": example["uid"],
                "answer": example["answer"].split()[-1],
                "tags": None,
            }

    rows = [
        {"uid": str(n), "question": f"2 + {n}?", "answer": f"It is {2 + n}"}
        for n in range(3)
    ]
    model = Keeping()
    prompt = {
        "query": "{question}",
        "cue": "Solution:",
        "answer": "{stored}, so {answer}",
        "shots": {"count": 1, "draw": "first"},
        "form": "text",
    }
    quiet = Asked(is_cached=False)
    predict(Solutions(rows[:1], rows[1:]), model, prompt=prompt, asked=quiet)
    assert model.asked[0] == "2 + 0?\nSolution: It is 2, so 2\n\n2 + 1?\nSolution:"


def test_shots_are_left_out_where_they_do_not_fit() -> None:
    """A shot has 29 characters, which are tokens here; a query has 17."""
    model = Keeping(context=100)
    prompt = {"count": 5, "draw": "first"}
    found = ask(model, prompt, count_tokens=len, generate={"max_tokens": 5})
    assert {len(shown(asked)) for asked in model.asked} == {2}
    assert all(len(asked) <= 95 for asked in model.asked)
    assert found.notices == (
        "4 of 4 prompts had shots left out, down to 2, so as to fit into 100 tokens",
    )


def test_the_input_is_cut_where_it_does_not_fit_alone() -> None:
    model = Keeping(context=20)
    long = [row("q0", "a" * 50), row("q1", "short")]
    found = ask(model, {}, test=long, count_tokens=len)
    assert model.asked == ["a" * 12 + "\nLabel:", "short\nLabel:"]
    assert found.notices == (
        "1 of 2 prompts had the end of the input cut off, so as to fit into 20 tokens",
    )


def test_what_cannot_be_cut_is_an_error() -> None:
    with pytest.raises(
        DataError, match="without its longest text the prompt has more than"
    ):
        ask(Keeping(context=5), {}, count_tokens=len)


@pytest.mark.parametrize("name", ["trials", "replications"])
def test_numbers_out_of_range(name: str) -> None:
    with pytest.raises(EvalkitError, match=f"{name} must be 1 or more, got 0"):
        ask(Keeping(), {}, **{name: 0})


def test_a_model_without_prompts_takes_no_shots() -> None:
    def positive(inputs: Sequence[Any]) -> list[str]:
        return ["positive"] * len(inputs)

    with pytest.raises(EvalkitError, match="neither a prompt nor shots"):
        predict(Sentiments([], TEST), positive, shots=2)
    found = predict(Sentiments([], TEST), positive, replications=2)
    assert [each["_replication_"] for each in found.rows] == ["1"] * 4 + ["2"] * 4


def test_copies_are_asked_as_their_originals_are() -> None:
    """With the same shots, also where fewer examples are asked."""
    copies = [
        {**each, "uid": f"{each['uid']}_Upper", "statement": each["statement"].upper()}
        for each in TEST
    ]
    originals, model = Keeping(), Keeping()
    dataset = Sentiments(TRAIN, TEST)
    prompt = {**PROMPT, "instructions": "{labels}", "shots": {"source": "train"}}
    quiet = Asked(is_cached=False)
    more: dict[str, Any] = {"prompt": prompt, "shots": 3, "trials": 2, "asked": quiet}
    predict(dataset, originals, **more)
    found = predict(
        data=copies,
        task="sentiment",
        model=model,
        copies_of={"dataset": dataset},
        **more,
    )
    assert model.asked == [
        each.replace("question", "QUESTION") for each in originals.asked
    ]
    assert found.rows[0]["id"] == "q0_Upper"


def test_an_example_that_never_fits_is_found_before_the_first_request() -> None:
    """What cannot be cut off is a list."""
    quiz = [
        {"uid": str(n), "question": "?", "choices": ["x" * size, "y"], "answer": 0}
        for n, size in enumerate((5, 5, 500))
    ]
    model = Keeping(context=100)
    prompt = {"query": "{question}\n{choices}", "method": "joint", "cue": "A:"}
    more = {"data": quiz, "task": "multiple-choice", "count_tokens": len}
    with pytest.raises(DataError, match="the example '2': without its longest text"):
        predict(model=model, prompt=prompt, asked=Asked(is_cached=False), **more)
    assert model.asked == []


def test_copies_that_say_what_a_shot_does_are_counted() -> None:
    """Their originals do not, and all are asked with the same shots."""
    train = [row("t1", "statement 1"), row("t2", "statement 2")]
    test = [row("q0", "statement 1!"), row("q1", "other"), row("q2", "Statement 2.")]
    copies = [
        {
            **each,
            "uid": f"{each['uid']}_Bare",
            "statement": each["statement"].rstrip("!."),
        }
        for each in test
    ]
    found = predict(
        data=copies,
        task="sentiment",
        model=Keeping(),
        copies_of={"dataset": Sentiments(train, test)},
        prompt={**PROMPT, "shots": {"source": "train", "count": 2}},
        asked=Asked(is_cached=False),
    )
    assert found.notices[-1] == "2 rows of copies say what a shot with its answer does"
