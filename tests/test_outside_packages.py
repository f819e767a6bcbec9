"""Packages of authors who read `docs/authoring/` only: multiple choice, and chat."""

import json
import shutil
import string
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from hypothesis import strategies as st

import evalkit
from evalkit_testing import check_metric, check_perturbation

PACKAGES = Path(__file__).with_name("outside")
Run = Callable[..., CompletedProcess[str]]
Rows = Sequence[Mapping[str, Any]]


@pytest.fixture
def install(fake_distribution: Callable[..., Any]) -> Iterator[Callable[[str], None]]:
    """Make a package of `tests/outside` found by this process and by `run_evalkit`."""

    def add(name: str) -> None:
        text = PACKAGES.joinpath(name, "pyproject.toml").read_text(encoding="utf-8")
        project = tomllib.loads(text)["project"]
        made = fake_distribution(
            "", project["entry-points"], name=name, version=project["version"]
        )
        sources = PACKAGES / name / "src"
        shutil.copytree(sources, made.folder, dirs_exist_ok=True)

    yield add
    for module in [*sys.modules]:
        if module.partition(".")[0] in ("evalkit_quiz", "evalkit_chat"):
            del sys.modules[module]


def rows_of(dataset: str) -> list[dict[str, Any]]:
    plugin = evalkit.Registry().load("datasets", dataset)
    return [*plugin.call("load", split="test", columns=None, limit=None)]


@pytest.fixture
def quiz(install: Callable[[str], None]) -> list[dict[str, Any]]:
    """Install the quiz; its questions."""
    install("evalkit-quiz")
    return rows_of("pub-quiz")


@pytest.fixture
def chats(install: Callable[[str], None]) -> list[dict[str, Any]]:
    """Install the chat; its conversations."""
    install("evalkit-chat")
    return rows_of("desk-chat")


def write(path: Path, rows: Rows) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def record(done: CompletedProcess[str], code: int = 0) -> dict[str, Any]:
    assert done.returncode == code, done.stderr
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def whole(run: Mapping[str, Any], metric: str) -> Mapping[str, Any]:
    (found,) = (
        score
        for score in run["scores"]
        if (score["metric"], score["tag"]) == (metric, None)
        and (score["computed_on"], score["aggregate"]) == ("all", None)
    )
    return found


def spelt(question: Mapping[str, Any], how: str) -> str | int:
    place: int = question["choices"].index(question["answer"])
    letter = string.ascii_uppercase[place]
    return {
        "text": question["answer"],
        "letter": letter,
        "bracketed": f"({letter.lower()})",
        "number": place,
    }[how]


@pytest.mark.parametrize("how", ["text", "letter", "bracketed", "number"])
def test_an_option_is_named_in_four_ways(quiz: Rows, how: str) -> None:
    said = [{"id": each["uid"], "answer": spelt(each, how)} for each in quiz[:-1]]
    said.append({"id": quiz[-1]["uid"], "answer": 0})
    result = evalkit.evaluate("pub-quiz", said)
    assert result["accuracy"].value == (len(quiz) - 1) / len(quiz)
    science = result.by_tag.filter(metric="accuracy", tag="subject:science")
    assert science["value"].to_list() == [1.0]


@pytest.mark.slow
def test_baselines_are_of_the_options_of_each_question(
    quiz: Rows, run_evalkit: Run, tmp_path: Path
) -> None:
    said = [{"id": each["uid"], "answer": 0} for each in quiz]
    baselines = evalkit.evaluate("pub-quiz", said).record.baselines
    places = [each["choices"].index(each["answer"]) for each in quiz]
    chance = sum(1 / len(each["choices"]) for each in quiz) / len(quiz)
    assert baselines is not None
    assert baselines.majority == max(map(places.count, places)) / len(quiz)
    assert baselines.chance == pytest.approx(chance, abs=1e-12)
    file = write(tmp_path / "said.jsonl", said)
    run = record(run_evalkit("eval", "pub-quiz", "-p", str(file), "--json"))
    assert run["baselines"]["chance"] == pytest.approx(chance, abs=1e-12)
    assert whole(run, "accuracy")["value"] == places.count(0) / len(quiz)


@pytest.mark.slow
def test_what_names_no_option_is_counted_by_its_reason(
    quiz: Rows, run_evalkit: Run, tmp_path: Path
) -> None:
    wrong = ["I do not know", "", 9, -1, "F"]
    said: list[dict[str, Any]] = [
        {"id": each["uid"], "answer": each["answer"]} for each in quiz[len(wrong) :]
    ]
    for each, answer in zip(quiz, wrong, strict=False):
        said.append({"id": each["uid"], "answer": answer})
    file = write(tmp_path / "said.jsonl", said)
    run = record(run_evalkit("eval", "pub-quiz", "-p", str(file), "--json"))
    assert run["counts"]["unparsed"] == len(wrong)
    assert run["unparsed"] == {
        "neither an option nor the letter of one": 3,
        "no option has this number": 2,
    }
    expected = (len(quiz) - len(wrong)) / len(quiz)
    assert whole(run, "accuracy")["value"] == expected


def ranked(question: Mapping[str, Any], how: str = "text") -> dict[str, Any]:
    """Return a response with a log-probability for each option, the likeliest first."""
    given = sorted(
        (-((3 * len(choice) + place) % 7) / 2 - 0.25, choice)
        for place, choice in enumerate(question["choices"])
    )
    said = [
        {"answer": spelt({**question, "answer": choice}, how), "logprob": logprob}
        for logprob, choice in reversed(given)
    ]
    return {"id": question["uid"], "responses": said}


def likeliest(question: Mapping[str, Any], by_characters: bool) -> str:
    best, found = float("-inf"), ""
    said = {each["answer"]: each["logprob"] for each in ranked(question)["responses"]}
    for choice in question["choices"]:
        value = said[choice] / (len(choice) if by_characters else 1)
        if value > best:
            best, found = value, choice
    return found


@pytest.mark.parametrize("how", ["text", "letter", "number"])
@pytest.mark.slow
def test_the_likeliest_option_is_found_in_alternatives(
    quiz: Rows, run_evalkit: Run, tmp_path: Path, how: str
) -> None:
    file = write(tmp_path / "said.jsonl", [ranked(each, how) for each in quiz])
    command = ["eval", "pub-quiz", "-p", str(file), "-m", "choice-logprob"]
    run = record(run_evalkit(*command, "--json"))
    values = []
    for name, by_characters in {"": False, "#by-characters": True}.items():
        right = sum(likeliest(each, by_characters) == each["answer"] for each in quiz)
        score = whole(run, f"choice-logprob{name}")
        assert (score["value"], score["n"]) == (right / len(quiz), len(quiz))
        values.append(score["value"])
    assert values[0] != values[1]  # else the test would not tell them apart


def test_an_option_without_log_probability_is_not_scored(quiz: Rows) -> None:
    said = [ranked(each) for each in quiz]
    del said[0]["responses"][-1]
    result = evalkit.evaluate("pub-quiz", said, metrics=["choice-logprob"])
    assert (result.status, result["choice-logprob"].n) == ("partial", len(quiz) - 1)
    assert {problem.id for problem in result.problems} == {quiz[0]["uid"]}


@st.composite
def questions(draw: st.DrawFn) -> tuple[str, str, dict[str, Any]]:
    choices = draw(st.sampled_from([["yes", "no"], ["fig", "fork", "neither"]]))
    levels = st.sampled_from([-1.0, -2.0, -5.0])
    said = sorted(((draw(levels), choice) for choice in choices), reverse=True)
    fields = {
        "responses": [choice for _, choice in said],
        "responses.logprob": [logprob for logprob, _ in said],
        "choices": choices,
    }
    return said[0][1], draw(st.sampled_from(choices)), fields


@pytest.mark.usefixtures("quiz")
@pytest.mark.slow
def test_the_metric_of_alternatives_keeps_its_laws() -> None:
    check_metric("choice-logprob", examples=questions(), max_examples=10)


REPLIES = ("I'm sorry, no.", "We open at ten o'clock.", "Yes.", "I cannot say that.")


def replies(rows: Rows, places: Sequence[int]) -> list[dict[str, str]]:
    return [
        {"id": row["uid"], "reply": REPLIES[places[number % len(places)]]}
        for number, row in enumerate(rows)
    ]


def test_replies_are_scored_without_answers(chats: Rows) -> None:
    said = replies(chats, [0, 1, 2])
    result = evalkit.evaluate("desk-chat", said)
    refused = sum(each["reply"] == REPLIES[0] for each in said)
    words = sum(each["reply"].count(" ") + 1 for each in said)
    assert result["refusal-rate"].value == refused / len(said)
    assert result["reply-words"].value == pytest.approx(words / len(said), abs=1e-12)
    assert result.record.baselines is None


def perturbed(
    run_evalkit: Run, tmp_path: Path, *names: str
) -> dict[str, list[dict[str, Any]]]:
    chosen = [part for name in names for part in ("--perturbation", name)]
    file = tmp_path / "copies.jsonl"
    done = run_evalkit("perturb", "desk-chat", *chosen, "-o", str(file), "-q")
    assert done.returncode == 0, done.stderr
    copies = [*map(json.loads, file.read_text(encoding="utf-8").splitlines())]
    return {
        name: [copy for copy in copies if copy["perturbation"] == name]
        for name in names
    }


@pytest.mark.slow
def test_messages_are_perturbed_by_their_path(
    chats: Rows, run_evalkit: Run, tmp_path: Path
) -> None:
    copies = perturbed(run_evalkit, tmp_path, "hurried", "polite-user")
    asked = {chat["uid"]: chat["messages"] for chat in chats}
    assert [len(of) for of in copies.values()] == [len(chats)] * 2
    for copy in copies["hurried"]:
        for before, after in zip(
            asked[copy["input_id"]], copy["messages"], strict=True
        ):
            assert after["role"] == before["role"]
            link = "https://example.org/a.pdf"
            assert (link in after["content"]) == (link in before["content"])
            assert after["content"] == before["content"].lower().rstrip(".")
    for copy in copies["polite-user"]:
        for before, after in zip(
            asked[copy["input_id"]], copy["messages"], strict=True
        ):
            if before["role"] == "user":
                added = after["content"].removeprefix(before["content"])
                assert added in (" (please)", " (if you would be so kind)")
            else:
                assert after == before


@pytest.mark.slow
def test_replies_to_copies_are_scored_beside_the_others(
    chats: Rows, run_evalkit: Run, tmp_path: Path
) -> None:
    copies = perturbed(run_evalkit, tmp_path, "hurried", "polite-user")
    both = [copy for pair in zip(*copies.values(), strict=True) for copy in pair]
    said = write(tmp_path / "said.jsonl", replies(chats, [0, 1, 2]))
    then = write(tmp_path / "then.jsonl", replies(both, [3, 1, 0, 2]))
    run = record(
        run_evalkit(
            *("eval", "desk-chat", "-p", str(said), "--json"),
            *("--perturbed", "copies.jsonl", "--perturbed-predictions", str(then)),
        )
    )
    before = sum(each["reply"] == REPLIES[0] for each in replies(chats, [0, 1, 2]))
    for name, refusing in {"hurried": 1.0, "polite-user": 0.0}.items():
        (effects,) = (
            each["effects"]
            for each in run["perturbed"]
            if each["perturbation"]["name"] == name
        )
        of = {
            score["computed_on"]: score["value"]
            for score in effects
            if score["metric"] == "refusal-rate" and score["tag"] is None
        }
        assert of["perturbed"] == refusing
        assert of["agreement"] is None  # it read no answers that could agree
        assert of["drop"] == pytest.approx(before / len(chats) - refusing, abs=1e-12)

    flips = run_evalkit("show", "latest", "--flips")
    assert flips.returncode == 1
    assert flips.stderr.endswith("tells right from wrong, so that nothing flips\n")


@pytest.mark.parametrize("name", ["hurried", "polite-user"])
@pytest.mark.slow
def test_perturbations_of_messages_keep_their_laws(chats: Rows, name: str) -> None:
    check_perturbation(name, task="chat", examples=chats, max_examples=5)


@pytest.mark.parametrize("name", ["refusal-rate", "reply-words"])
@pytest.mark.usefixtures("chats")
@pytest.mark.slow
def test_metrics_of_replies_keep_their_laws(name: str) -> None:
    check_metric(name, max_examples=5, perfect=None)
