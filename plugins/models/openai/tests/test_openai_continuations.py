"""Log-probabilities of given continuations, from echoed tokens."""

import math
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_servers import Answer, Got, serving
from model_servers import ask_openai as ask

from evalkit_models_base import Asked, Request, predict
from evalkit_models_openai.refusals import Unusable
from evalkit_models_openai.replies import Choice, continuation_of


def echoed(
    tokens: Sequence[str],
    logprobs: Sequence[float | None],
    *,
    offsets: Sequence[int] | None = None,
    text: str | None = None,
) -> dict[str, Any]:
    """Return what a server echoes: tokens of the text, and one generated token."""
    return {
        "index": 0,
        "text": "".join(tokens) if text is None else text,
        "finish_reason": "length",
        "logprobs": {
            "tokens": list(tokens),
            "token_logprobs": list(logprobs),
            "text_offset": list(
                offsets
                if offsets is not None
                else [0, *accumulate(map(len, tokens))][:-1]
            ),
            "top_logprobs": None,
        },
    }


def scored(prompt: str, continuation: str, choice: dict[str, Any]) -> tuple[float, int]:
    """Return the log-probability and how many tokens it is the sum of."""
    found = continuation_of(Choice.model_validate(choice), prompt, continuation)
    return found.logprob, found.tokens


texts = st.lists(st.text("ab é", min_size=1, max_size=3), min_size=1, max_size=5)
logarithms = st.floats(-50, 0)


@given(texts, texts, st.data())
def test_it_is_the_sum_over_the_tokens_after_the_prompt(
    before: list[str], after: list[str], data: st.DataObject
) -> None:
    tokens = [*before, *after, "x"]
    logprobs: list[float | None] = [None]
    logprobs += data.draw(
        st.lists(logarithms, min_size=len(tokens) - 1, max_size=len(tokens) - 1)
    )
    # of whatever was counted elsewhere nothing is read
    offsets = [number + 3 for number in range(len(tokens))]
    logprob, count = scored(
        "".join(before), "".join(after), echoed(tokens, logprobs, offsets=offsets)
    )
    wanted = sum(p for p in logprobs[len(before) : -1] if p is not None)
    assert math.isclose(logprob, wanted, abs_tol=1e-12)
    assert count == len(after)


@given(texts, st.data())
def test_a_token_across_the_boundary_is_refused(
    tokens: list[str], data: st.DataObject
) -> None:
    whole = "".join(tokens)
    place = data.draw(st.integers(1, max(1, len(whole) - 1)))
    ends = [*accumulate(map(len, tokens))]
    choice = echoed([*tokens, "x"], [-1.0] * (len(tokens) + 1))
    if place >= len(whole):
        return
    if place in ends:
        assert scored(whole[:place], whole[place:], choice)[1] == len(tokens) - (
            ends.index(place) + 1
        )
    else:
        with pytest.raises(Unusable, match="lies across the beginning") as raised:
            scored(whole[:place], whole[place:], choice)
        assert not raised.value.is_fatal


def test_a_special_token_before_the_prompt_is_left_out() -> None:
    choice = echoed(["<s>", "a", " b", "c"], [None, -9.0, -2.0, -1.0], text="a bc")
    assert scored("a", " b", choice) == (-2.0, 1)
    assert scored("", "a b", choice) == (-11.0, 2)


def test_parts_of_characters_are_placed_by_the_server() -> None:
    tokens = ["a", "bytes:\\xc3", "bytes:\\xa9", "!", "x"]
    choice = echoed(
        tokens, [None, -1.0, -2.0, -4.0, -8.0], offsets=[0, 1, 1, 2, 3], text="aé!x"
    )
    assert scored("a", "é!", choice) == (-7.0, 3)
    assert scored("aé", "!", choice) == (-4.0, 1)


def test_the_first_token_of_all_has_no_probability() -> None:
    with pytest.raises(Unusable, match="no prompt stands before it"):
        scored("", "ab", echoed(["a", "b", "x"], [None, -1.0, -1.0]))


def test_a_continuation_without_tokens_is_refused() -> None:
    with pytest.raises(Unusable, match="no tokens of its own"):
        scored("a", "", echoed(["a", "x"], [None, -1.0]))


@pytest.mark.parametrize(
    "choice",
    [
        echoed(["x"], [-1.0]),
        {"text": "ab", "logprobs": None},
        {"text": "abx", "logprobs": {"content": [{"token": "x", "logprob": -1.0}]}},
        echoed(["x"], [-1.0], text="abx"),
        echoed(["a", "b", "x"], [None, -1.0], offsets=[0, 1, 2]),
        echoed(["a", "b", "x"], [None, 2.0, -1.0]),
    ],
    ids=["ignored", "none", "llama.cpp", "of the end", "fewer", "above 1"],
)
def test_a_server_that_does_not_echo_is_refused(choice: dict[str, Any]) -> None:
    with pytest.raises(Unusable) as raised:
        scored("a", "b", choice)
    assert raised.value.is_fatal


def test_all_continuations_are_asked_for_in_one_call() -> None:
    request = Request(prompt="Is it?", continuations=(" yes", " no, never"))
    body = {
        "choices": [
            {
                **echoed(
                    ["Is", " it", "?", " no", ",", " never", "."],
                    [None, -1.0, -1.0, -0.5, -0.25, -0.125, -7.0],
                ),
                "index": 1,
            },
            echoed(["Is", " it", "?", " yes", "!"], [None, -1.0, -1.0, -2.0, -7.0]),
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2},
    }
    reply, sent = ask(request, body, api="completions")
    assert [(each.logprob, each.tokens) for each in reply.continuations] == [
        (-2.0, 1),
        (-0.875, 3),
    ]
    assert sent == {
        "model": "org/m",
        "prompt": ["Is it? yes", "Is it? no, never"],
        "max_tokens": 1,
        "echo": True,
        "logprobs": 1,
        "temperature": 0.0,
    }


def test_fewer_answers_than_continuations_are_refused() -> None:
    request = Request(prompt="a", continuations=("b", "c"))
    body = {"choices": [echoed(["a", "b", "x"], [None, -1.0, -1.0])]}
    reply, _ = ask(request, body, api="completions")
    assert reply.is_fatal
    assert not reply.continuations


def test_options_of_many_tokens_are_ranked_by_what_a_server_echoes() -> None:
    """Its tokens are words, which are the less probable the longer they are."""

    def logprob(word: str) -> float:
        return -0.125 * len(word)

    def echo(got: Got) -> Answer:
        choices = []
        for number, text in enumerate(got.body["prompt"]):
            words = re.findall(r"\s*\S+", text)
            told = [None, *map(logprob, words[1:]), -0.5]
            choices.append({**echoed([*words, " end"], told), "index": number})
        return Answer({"choices": choices[::-1]})

    options = ["a large red house", "an old mill by the river", "nothing of all that"]
    with serving(echo) as server:
        predicted = predict(
            data=[{"uid": "1", "question": "What is it?", "choices": options}],
            task="multiple-choice",
            model=f"openai:model=m,base_url={server.url}/v1,api=completions",
            prompt={"method": "separate", "query": "{question}", "cue": "Answer:"},
            asked=Asked(is_cached=False),
        )
    (row,) = predicted.rows
    wanted = sorted(
        ((-0.125 * (len(option) + 1), option) for option in options), reverse=True
    )
    assert [(r["logprob"], r["answer"]) for r in row["responses"]] == wanted
    (got,) = server.got
    assert got.body["prompt"] == [f"What is it?\nAnswer: {each}" for each in options]
