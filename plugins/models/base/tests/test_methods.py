"""What is asked by each method, and what comes of the replies."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import evalkit
from evalkit_models_base import (
    Asked,
    Completion,
    Continuation,
    Model,
    Predicted,
    Reply,
    Request,
    Token,
    predict,
    text_reply,
)

QUIZ = [
    {"uid": "1", "question": "Sun?", "choices": ["star", "planet"], "answer": "A"},
    {"uid": "2", "question": "Mars?", "choices": ["moon", "planet"], "answer": "B"},
]
JOINT = {"method": "joint", "query": "{question}\n{choices}", "cue": "Answer:"}


class Scripted(Model):
    """A model that answers as a function says, and keeps what it was asked."""

    abilities = ("text", "chat", "logprobs", "continuations")
    batch_requests = 100

    def __init__(
        self, answer: Callable[[Request], Reply | str], context: int | None = None
    ) -> None:
        self._answer = answer
        self.context_length = context
        self.asked: list[Request] = []

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.asked += requests
        found = map(self._answer, requests)
        return [text_reply(each) if isinstance(each, str) else each for each in found]


def ask(
    model: Scripted,
    prompt: Mapping[str, Any],
    data: Sequence[Mapping[str, Any]] = QUIZ,
    task: Any = "multiple-choice",
    **more: Any,
) -> Predicted:
    quiet = Asked(is_cached=False)
    return predict(
        model=model, data=data, task=task, prompt=prompt, asked=quiet, **more
    )


def accuracy(predicted: Predicted, task: Any = "multiple-choice", **more: Any) -> Any:
    data = more.pop("data", QUIZ)
    result = evalkit.evaluate(
        data=data, predictions=predicted.rows, task=task, model="m", **more
    )
    return result["accuracy"].value


def continued(logprobs: Mapping[str, float], tokens: int = 1) -> Reply:
    """Reply with log-probabilities of given texts."""
    found = [Continuation(logprob=each, tokens=tokens) for each in logprobs.values()]
    return Reply(continuations=tuple(found))


# --- joint


def test_letters_in_the_order_of_the_data_are_left_to_the_extractor() -> None:
    model = Scripted(lambda request: "(A), I think")
    found = ask(model, JOINT)
    assert [row["answer"] for row in found.rows] == ["(A), I think"] * 2
    assert accuracy(found) == 0.5


def shown_options(request: Request) -> dict[str, str]:
    """Return the options of a request by letter."""
    content = request.messages[-1].content
    lines = [line.split(". ") for line in content.split("\n") if ". " in line]
    return {letter: option for letter, option in lines}


@pytest.mark.parametrize("letters", ["ABCD", "1234", ["i", "ii", "iii", "iv"], "กขคง"])
@pytest.mark.parametrize("form", ["{}", "({})", "{}.", "**{}**", "{}. {}"])
def test_letters_that_only_the_prompt_knows_are_read_here(
    letters: Any, form: str
) -> None:
    """A model that knows all answers is right, in whatever order it saw them."""
    rights = {f"Is {n} right?": f"option {n * 7 % 4} of {n}" for n in range(12)}
    data = [
        {
            "uid": str(n),
            "question": question,
            "choices": [f"option {m} of {n}" for m in range(4)],
            "answer": right,
        }
        for n, (question, right) in enumerate(rights.items())
    ]

    def answer(request: Request) -> str:
        question = request.messages[-1].content.split("\n")[0]
        options = shown_options(request)
        right = rights[question]
        letter = next(k for k, option in options.items() if option == right)
        return form.format(letter, right)

    model = Scripted(answer)
    choices = {"order": "shuffled", "letters": letters, "seed": 3}
    found = ask(model, {**JOINT, "choices": choices}, data)
    assert [row["answer"] for row in found.rows] == [*rights.values()]
    assert accuracy(found, data=data) == 1.0
    orders = {
        tuple(o.split()[1] for o in shown_options(r).values()) for r in model.asked
    }
    assert len(orders) > 3
    again = Scripted(answer)
    ask(again, {**JOINT, "choices": choices}, data[5:])
    assert again.asked == model.asked[5:]  # the order depends on the example alone


def test_a_text_without_a_letter_is_unparsed_and_not_guessed() -> None:
    model = Scripted(lambda request: "I do not know. Bananas!")
    found = ask(model, {**JOINT, "choices": {"order": "shuffled"}})
    assert [row["answer"] for row in found.rows] == ["", ""]
    result = evalkit.evaluate(
        data=QUIZ, predictions=found.rows, task="multiple-choice", model="m"
    )
    assert result["accuracy"].value == 0.0


def token(**alternatives: float) -> Reply:
    named = {text.replace("_", " "): each for text, each in alternatives.items()}
    first = Token(text="?", logprob=-1.0, alternatives=named)
    return Reply(completions=(Completion(text="?", tokens=(first,)),))


def test_letters_by_their_log_probabilities() -> None:
    """` A` and `A` are the same letter, whose probability is the sum of both."""
    model = Scripted(
        lambda request: token(
            B=math.log(0.3), A=math.log(0.2), _A=math.log(0.2), the=-3.0
        )
    )
    prompt = {**JOINT, "generate": {"logprobs": 4, "max_tokens": 1}}
    first, second = ask(model, prompt).rows
    assert [each["answer"] for each in first["responses"]] == ["star", "planet"]
    assert [each["logprob"] for each in first["responses"]] == pytest.approx(
        [math.log(0.4), math.log(0.3)]
    )
    assert [each["answer"] for each in second["responses"]] == ["moon", "planet"]


def test_letters_stand_in_the_place_of_the_end_where_nothing_is_written() -> None:
    letters = {"A": math.log(0.25), "B": math.log(0.5)}
    blank = Token(text=" ", logprob=-0.1, alternatives={"A": -9.0, "B": -8.0})
    end = Token(text="", logprob=-0.2, alternatives=letters)
    prompt = {**JOINT, "generate": {"logprobs": 2, "max_tokens": 2}}

    def asked(*tokens: Token) -> Any:
        text = "".join(each.text for each in tokens)
        reply = Reply(completions=(Completion(text=text, tokens=tokens),))
        return ask(Scripted(lambda request: reply), prompt).rows[0]

    assert [each["logprob"] for each in asked(blank, end)["responses"]] == [
        letters["B"],
        letters["A"],
    ]
    assert asked(blank, blank)["error"] == (
        "the model wrote blanks only, in the place of a letter"
    )


def test_labels_of_which_nothing_was_told_have_no_probability() -> None:
    data = [{"uid": "1", "statement": "Good.", "label": "positive"}]
    prompt = {
        **{"method": "joint", "query": "{statement}\n{choices}", "cue": "Letter:"},
        "generate": {"logprobs": 3, "max_tokens": 1},
    }
    all_told = token(A=-0.5, B=-1.0, C=-3.0)
    (row,) = ask(Scripted(lambda request: all_told), prompt, data, "sentiment").rows
    assert sum(row["prob"].values()) == pytest.approx(1)
    some = token(A=-0.5, B=-1.0, x=-3.0)
    found = ask(Scripted(lambda request: some), prompt, data, "sentiment")
    assert "prob" not in found.rows[0]
    assert [each["label"] for each in found.rows[0]["responses"]] == [
        *("positive", "negative")
    ]
    (notice,) = found.notices
    assert notice == "1 answer told nothing of some labels, and got no prob"


def test_fewer_log_probabilities_than_asked_are_an_error() -> None:
    model = Scripted(lambda request: token(A=-0.1))
    prompt = {**JOINT, "generate": {"logprobs": 4}}
    found = ask(model, prompt)
    assert [row["error"] for row in found.rows] == [
        "4 log-probabilities were asked for, 1 came"
    ] * 2


def test_a_reply_whose_likeliest_tokens_are_no_letters_is_read_as_a_text() -> None:
    def answer(request: Request) -> Reply:
        said = Token(text="planet", logprob=-0.1, alternatives={"x": -1.0, "y": -2.0})
        return Reply(completions=(Completion(text="planet", tokens=(said,)),))

    found = ask(Scripted(answer), {**JOINT, "generate": {"logprobs": 2}})
    assert [row["answer"] for row in found.rows] == ["planet", "planet"]
    assert found.notices[-1] == "2 answers had no letter among the likeliest tokens"


# --- separate and calibrated

SEPARATE = {"method": "separate", "query": "{question}", "cue": "Answer:"}


def test_options_one_by_one() -> None:
    wanted = {" star": -1.0, " planet": -3.0, " moon": -4.0}
    model = Scripted(
        lambda request: continued(
            {each: wanted[each] for each in request.continuations}
        )
    )
    found = ask(model, SEPARATE)
    assert [request.prompt for request in model.asked] == [
        "Sun?\nAnswer:",
        "Mars?\nAnswer:",
    ]
    assert model.asked[0].continuations == (" star", " planet")
    assert found.rows[0] == {
        "id": "1",
        "responses": [
            {"answer": "star", "logprob": -1.0},
            {"answer": "planet", "logprob": -3.0},
        ],
    }
    assert accuracy(found) == 1.0


@pytest.mark.parametrize(
    ("normalise", "best"),
    [
        ("sum", "ab"),
        ("tokens", "abcdefgh"),
        ("bytes", "äää"),
        ("characters", "abcdefgh"),
    ],
)
def test_log_probabilities_by_length(normalise: str, best: str) -> None:
    """Over 1, 6 and 5 tokens; 2, 6 and 8 bytes; 2, 3 and 8 characters."""
    data = [
        {
            "uid": "1",
            "question": "?",
            "choices": ["ab", "äää", "abcdefgh"],
            "answer": "A",
        }
    ]
    found = ((-2.0, 1), (-4.5, 3), (-6.4, 5))
    model = Scripted(
        lambda request: Reply(
            continuations=tuple(Continuation(logprob=a, tokens=b) for a, b in found)
        )
    )
    (row,) = ask(model, {**SEPARATE, "normalise": normalise}, data).rows
    assert row["responses"][0]["answer"] == best


def test_probabilities_of_labels() -> None:
    data = [{"uid": "1", "statement": "Good.", "label": "positive"}]
    logprobs = {"positive": -1.0, "negative": -2.0, "neutral": -4.0}
    model = Scripted(lambda request: continued(logprobs))
    prompt = {**SEPARATE, "query": "{statement}"}
    found = ask(model, prompt, data, "sentiment")
    total = sum(map(math.exp, logprobs.values()))
    shares = {label: math.exp(each) / total for label, each in logprobs.items()}
    assert found.rows[0]["prob"] == pytest.approx(shares)
    result = evalkit.evaluate(
        data=data,
        predictions=found.rows,
        task="sentiment",
        metrics=["log-loss"],
        model="m",
    )
    assert result["log-loss"].value == pytest.approx(-math.log(shares["positive"]))


def test_options_are_calibrated_by_the_cue_alone() -> None:
    """What is likely anyway counts for less: `planet` is 2 likelier after `Mars?`."""

    def answer(request: Request) -> Reply:
        is_bare = request.prompt == "Answer:"
        first, second = (-1.0, -6.0) if is_bare else (-1.0, -4.0)
        return continued({"a": first, "b": second})

    model = Scripted(answer)
    found = ask(model, {**SEPARATE, "method": "calibrated", "instructions": "Say it."})
    assert [request.prompt for request in model.asked[:2]] == [
        "Say it.\n\nSun?\nAnswer:",
        "Answer:",
    ]
    assert len(model.asked) == 4
    assert found.rows[1]["responses"] == [
        {"answer": "planet", "logprob": -4.0},
        {"answer": "moon", "logprob": -1.0},
    ]


# --- ranking and language modelling


class Search(BaseModel):
    uid: str
    query: str
    documents: list[str]


class Found(BaseModel):
    id: str
    items: list[str]
    scores: list[float] | None = None


class Searching(evalkit.TaskIO):
    Input, Output = Search, Found
    answer_field, answer_kind, perf_metric = "items", "ranked", "ndcg"
    choices_field = "documents"
    scored_fields = ("scores",)
    example = {"uid": "1", "query": "rain", "documents": ["a", "b"]}


def test_options_are_ranked_by_the_probability_of_yes() -> None:
    data = [
        {
            "uid": "1",
            "query": "rain",
            "documents": ["sun", "rain", "fog"],
            "items": ["rain"],
        }
    ]
    yes = {"sun": 0.1, "rain": 0.9, "fog": 0.5}
    prompt = {
        "method": "ranking",
        "query": "Passage: {choice}\nQuery: {query}",
        "instructions": "Does the passage answer the query?",
        "cue": "Answer:",
    }

    def answer(request: Request) -> Reply:
        assert request.continuations == (" Yes", " No")
        share = yes[str(request.prompt).split("Passage: ")[1].split("\n")[0]]
        # another tenth of the probability is that of other words
        return continued({"y": math.log(0.9 * share), "n": math.log(0.9 * (1 - share))})

    model = Scripted(answer)
    found = ask(model, prompt, data, Searching)
    assert len(model.asked) == 3
    assert found.rows[0]["items"] == ["rain", "fog", "sun"]
    assert found.rows[0]["scores"] == pytest.approx([0.9, 0.5, 0.1])


LANGUAGE = {"method": "language-modelling", "query": "{text}"}


class Passage(BaseModel):
    uid: str
    text: str


class Probability(BaseModel):
    id: str
    logprob: float
    num_tokens: int
    num_bytes: int


class Language(evalkit.TaskIO):
    Input, Output = Passage, Probability
    answer_kind = "none"
    scored_fields = ("logprob", "num_tokens", "num_bytes")
    perf_metric = "bits-per-byte"
    example = {"uid": "1", "text": "It rains."}
    label_field_converter = {"id": "uid"}
    pred_field_converter = {"id": "id", "pred": "logprob"}


def letters(request: Request) -> Reply:
    """Give every character the probability 1/2, as a token of its own."""
    return Reply(
        continuations=tuple(
            Continuation(logprob=-len(text) * math.log(2), tokens=len(text))
            for text in request.continuations
        )
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text("ab \n", min_size=1, max_size=30), min_size=1, max_size=30))
def test_texts_are_taken_apart_without_loss(words: list[str]) -> None:
    text = "".join(words)
    assume(text.strip())  # a text of blanks alone is refused
    model = Scripted(letters, context=20)
    data = [{"uid": "1", "text": text}]
    found = ask(model, LANGUAGE, data, Language, count_tokens=len)
    assert "".join(each.continuations[0] for each in model.asked) == text
    assert found.rows[0]["logprob"] == pytest.approx(-len(text) * math.log(2))
    assert found.rows[0]["num_tokens"] == found.rows[0]["num_bytes"] == len(text)
    before = ""
    for request in model.asked:
        assert before.endswith(str(request.prompt))
        before += request.continuations[0]
        assert len(str(request.prompt)) + len(request.continuations[0]) <= 20


# --- generation


def test_several_completions_are_alternatives() -> None:
    def answer(request: Request) -> Reply:
        texts = ["star", "planet", "star"][: request.completions]
        return Reply(completions=tuple(Completion(text=text) for text in texts))

    prompt = {"query": "{question}", "generate": {"completions": 3, "temperature": 1}}
    found = ask(Scripted(answer), prompt)
    assert found.rows[0]["responses"] == [
        {"answer": "star"},
        {"answer": "planet"},
        {"answer": "star"},
    ]
    assert accuracy(found) == 0.5


def test_log_probabilities_of_what_is_generated() -> None:
    tokens = (Token(text="st", logprob=-0.5), Token(text="är", logprob=-0.25))
    reply = Reply(completions=(Completion(text="stär", tokens=tokens),))
    prompt = {"query": "{question}", "generate": {"logprobs": 0}}
    row = ask(Scripted(lambda request: reply), prompt).rows[0]
    assert row["logprob"] == -0.75
    assert (row["num_tokens"], row["num_bytes"], row["num_characters"]) == (2, 5, 4)
    bare = text_reply("star")
    (first, _) = ask(Scripted(lambda request: bare), prompt).rows
    assert first["error"] == "log-probabilities were asked for, and none came"


def test_a_conversation() -> None:
    prompt = {
        "system": "You know {labels}.",
        "instructions": "Rate it.",
        "turns": [
            {"role": "user", "content": "I have a statement."},
            {"role": "assistant", "content": "Which one?"},
        ],
        "query": "{statement}",
        "cue": "Label:",
        "shots": {"examples": [{"statement": "Bad.", "answer": "negative"}]},
    }
    model = Scripted(lambda request: "neutral")
    data = [{"uid": "1", "statement": "So so.", "label": "neutral"}]
    ask(model, prompt, data, "sentiment")
    assert [(each.role, each.content) for each in model.asked[0].messages] == [
        ("system", "You know positive, negative, neutral."),
        ("user", "Rate it.\n\nI have a statement."),
        ("assistant", "Which one?"),
        ("user", "Bad.\nLabel:"),
        ("assistant", "negative"),
        ("user", "I have a statement."),
        ("assistant", "Which one?"),
        ("user", "So so.\nLabel:"),
    ]


# --- letters that could be something else


@pytest.mark.parametrize(
    ("order", "letters", "options"),
    [
        ("given", "ABCD", ["B", "A", "D", "C"]),
        ("shuffled", "abAB", ["B", "A", "D", "C"]),
        ("shuffled", "1234", ["x", "y", "z", "w"]),
        ("given", "abAB", ["C", "C++", "C#", "Java"]),
        ("shuffled", "ABCD", ["C", "C++", "C#", "Java"]),
    ],
)
@pytest.mark.parametrize("form", ["{}", "({})", "{}. {}", "**{}**"])
def test_a_letter_is_read_where_options_are_letters(
    order: str, letters: str, options: Sequence[str], form: str, tmp_path: Path
) -> None:
    """What is asked for is a letter: `B` is none of the options in its own right."""
    data = [
        {"uid": str(n), "question": f"{n}?", "choices": [*options], "answer": n % 4}
        for n in range(8)
    ]

    def answer(request: Request) -> str:
        said = request.messages[-1].content.split("\n")
        right = options[int(said[0].rstrip("?")) % 4]
        (letter,) = (each[0] for each in said if each[3:] == right)
        return form.format(letter, right)

    choices = {"letters": letters, "order": order}
    found = ask(Scripted(answer), {**JOINT, "choices": choices}, data)
    result = scored(found, tmp_path, data=data, task="multiple-choice")
    assert result["accuracy"].value == 1.0


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ("a", "one"),
        ("A", "two"),
        ("(A)", "two"),
        ("A) because", "two"),
        ("B", "three"),
        ("A) or a)", ""),
        ("b: no, (A)", ""),
    ],
)
def test_letters_that_differ_in_case_are_told_apart(reply: str, read: str) -> None:
    data = [{"uid": "1", "question": "?", "choices": ["one", "two", "three"]}]
    choices = {"letters": "aAb"}
    data = [{**each, "answer": 0} for each in data]
    found = ask(Scripted(lambda request: reply), {**JOINT, "choices": choices}, data)
    assert found.rows[0]["answer"] == read


# --- what the extractor of a run makes of options


def scored(predicted: Predicted, folder: Path, **more: Any) -> Any:
    """Score a file of predictions, read as the system beside it says."""
    file = predicted.save(folder / "m.jsonl")
    return evalkit.evaluate(predictions=str(file), metrics=["accuracy"], **more)


@pytest.mark.parametrize("logprobs", [None, 2])
@pytest.mark.parametrize("order", ["given", "shuffled"])
def test_options_are_not_read_again_by_what_looks_for_a_cue(
    order: str, logprobs: int | None, tmp_path: Path
) -> None:
    def answer(request: Request) -> Reply:
        lines = request.messages[-1].content.split("\n")
        letter = next(line[0] for line in lines if line[3:] in ("star", "planet"))
        other = "B" if letter == "A" else "A"
        named = {letter: -0.1, other: -3.0}
        tokens = (Token(text=letter, logprob=-0.1, alternatives=named),)
        said = Completion(text=f"Answer: {letter}", tokens=tokens if logprobs else None)
        return Reply(completions=(said,))

    data = [
        {**row, "choices": [row["choices"][n], "fog"]} for n, row in enumerate(QUIZ)
    ]
    data = [{**row, "answer": 0} for row in data]
    prompt = {
        **JOINT,
        "query": "{question}\n{choices}",
        "choices": {"order": order},
        "extract": "after:Answer:|choice",
        "generate": {"logprobs": logprobs},
    }
    found = ask(Scripted(answer), prompt, data)
    result = scored(found, tmp_path, data=data, task="multiple-choice")
    assert result["accuracy"].value == 1.0


def test_a_reply_that_names_no_label_is_unparsed_and_not_invalid(
    tmp_path: Path,
) -> None:
    data = [{"uid": "1", "statement": "Good.", "label": "positive"}]
    prompt = {"method": "joint", "query": "{statement}\n{choices}", "cue": "Letter:"}
    found = ask(Scripted(lambda request: "Well."), prompt, data, "sentiment")
    result = scored(found, tmp_path, data=data, task="sentiment")
    assert result.record.counts.unparsed == 1
    assert result["accuracy"].value == 0.0


def test_extractors_of_a_file_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stages = "- kind: after\n  configuration: {cue: 'Answer:'}\n- choice\n"
    (tmp_path / "stages.yaml").write_text(stages)
    found = ask(
        Scripted(lambda request: "Answer: A"), {**JOINT, "extract": "stages.yaml"}
    )
    (tmp_path / "stages.yaml").unlink()
    assert [each["kind"] for each in found.system["extract"]] == ["after", "choice"]
    result = scored(found, tmp_path, data=QUIZ, task="multiple-choice")
    assert result["accuracy"].value == 0.5


# --- what is said of a prompt


SHOWN = [
    {"question": "Io?", "choices": ["moon", "star"], "answer": "moon"},
    {"question": "Eris?", "choices": ["moon", "planet"], "answer": "planet"},
]


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ({}, {"shots": {"count": 0}}),
        ({}, {"shots": {"seed": 3, "draw": "random"}}),
        ({}, {"choices": {"seed": 4, "letters": "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}}),
        ({}, {"generate": {"temperature": 0, "stop": []}, "turns": [], "form": "chat"}),
        ({}, {"calibration": "Answer:"}),
        (
            {"shots": {"examples": SHOWN}},
            {"shots": {"examples": SHOWN, "count": 2, "draw": "first", "seed": 8}},
        ),
        (
            {"shots": {"examples": SHOWN, "count": 1, "draw": "random"}},
            {"shots": {"examples": SHOWN, "count": 1, "draw": "random", "seed": 0}},
        ),
    ],
)
def test_what_would_be_so_anyway_may_be_written_out(short: Any, long: Any) -> None:
    model = Scripted(lambda request: "A")
    systems = [ask(model, {**JOINT, **each}).system["prompt"] for each in (short, long)]
    assert systems[0] == systems[1]


def test_a_character_of_several_tokens_is_measured_by_the_text() -> None:
    pieces = tuple(Token(text="\ufffd", logprob=-0.5) for _ in range(3))
    reply = Reply(completions=(Completion(text="漢", tokens=pieces),))
    prompt = {"query": "{question}", "generate": {"logprobs": 0}}
    row = ask(Scripted(lambda request: reply), prompt).rows[0]
    assert (row["num_tokens"], row["num_bytes"], row["num_characters"]) == (3, 3, 1)
    assert row["logprob"] == -1.5


@pytest.mark.parametrize("logprob", [3.0, 1e-4])
def test_no_probability_is_more_than_1(logprob: float) -> None:
    said = Token(text="A", logprob=logprob, alternatives={"A": logprob, "B": -9.0})
    reply = Reply(completions=(Completion(text="A", tokens=(said,)),))
    more = {"generate": {"logprobs": 2}}
    generated = ask(Scripted(lambda request: reply), {"query": "{question}", **more})
    ranked = ask(Scripted(lambda request: reply), {**JOINT, **more})
    if logprob > 1:
        wrong = "a log-probability is 3, and none is more than 0"
        assert [row["error"] for row in (*generated.rows, *ranked.rows)] == [wrong] * 4
        return
    assert generated.rows[0]["logprob"] == 0
    assert ranked.rows[0]["responses"][0]["logprob"] == 0


def test_options_that_are_as_probable_as_the_best_are_counted() -> None:
    model = Scripted(lambda request: continued({"first": -1.0, "second": -1.0}))
    found = ask(model, SEPARATE)
    assert [row["responses"][0]["answer"] for row in found.rows] == ["star", "moon"]
    assert found.notices == (
        "2 answers had several best options, of which the first counts",
    )


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ('Sure: ["a"]', ["a"]),
        ("[NaN]", "[NaN]"),
        ("[1e999]", "[1e999]"),
        ('["\\ud800"]', '["\\ud800"]'),
        ("none", "none"),
    ],
)
def test_a_list_is_read_where_a_file_can_hold_it(reply: str, read: Any) -> None:
    prompt = {"query": "{question}", "answers": "json"}
    found = ask(Scripted(lambda request: reply), prompt)
    assert found.rows[0]["answer"] == read
