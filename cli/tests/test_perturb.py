import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from evalkit import Edit
from evalkit_cli.printing.edit_marks import marked

CODE = """
import re
from pathlib import Path

import evalkit
from evalkit import Parameters


class Shout(evalkit.Perturbation):
    class Parameters(Parameters):
        preset: str = "medium"

    families = {"robustness"}
    version = "1"
    label_effect = {"hs": "uncertain", "*": "invariant"}

    def find_edits(self, texts):
        return [
            [(0, 1, text[:1].upper())] if self.parameters.preset != "mild" else []
            for text in texts
        ]


class Worded(Shout):
    def find_edits(self, texts):
        return [
            [(found.start(), found.end(), "n") for found in re.finditer("[0-9]", text)]
            for text in texts
        ]


class Noisy(Shout):
    def find_edits(self, texts):
        print("printed by a plugin")
        return super().find_edits(texts)


"""

Invoke = Callable[..., Result]
ROWS = [
    {"uid": "1", "statement": "a good film", "label": "positive"},
    {"uid": "2", "statement": "Bad", "label": "negative"},
]


@pytest.fixture(autouse=True)
def _shouting(fake_distribution: Callable[..., Any]) -> None:
    fake_distribution(
        CODE,
        {
            "evalkit.perturbations": {
                "loud": "Shout",
                "noisy": "Noisy",
                "worded": "Worded",
            }
        },
        name="shouting",
        version="1.0",
    )


@pytest.fixture
def data(write_rows: Callable[..., str]) -> str:
    return write_rows("data.jsonl", ROWS)


def perturb(invoke: Invoke, *arguments: str) -> Result:
    found = ("--data", "data.jsonl", "--task", "sentiment", *arguments)
    return invoke("perturb", *found)


def test_what_changed_and_what_to_do_next(invoke: Invoke, data: str) -> None:
    done = perturb(invoke, "--perturbation", "loud", "-o", "out.jsonl")
    assert done.exit_code == 0, done.output
    assert done.stdout == (
        "perturbation  changed  of  share  rows  label effect\n"
        "loud                1   2  50.0%     1  invariant\n"
        "\n"
        "loud\n"
        "  1 statement: [a→A] good film\n"
        "\n"
        "1 row written to out.jsonl: look at them before you trust scores\n"
        "next, let your model predict out.jsonl, then:\n"
        "  evalkit eval --data data.jsonl --task sentiment --predictions MODEL.jsonl"
        " \\\n"
        "    --perturbed out.jsonl --perturbed-predictions PREDICTED.jsonl\n"
    )
    (line,) = Path("out.jsonl").read_text().splitlines()
    assert json.loads(line)["uid"] == "1_Loud"


def test_mapped_columns_are_named_in_what_to_do_next(
    invoke: Invoke,
    fake_distribution: Callable[..., Any],
    write_rows: Callable[..., str],
) -> None:
    write_rows("own.jsonl", [{"id": "a", "text": "a good film", "label": "positive"}])
    own = ("--data", "own.jsonl", "--task", "sentiment", "--map", "statement=text")
    done = invoke("perturb", *own, "--perturbation", "loud", "-o", "out.jsonl")
    assert done.exit_code == 0, done.output
    assert f"  evalkit eval {' '.join(own)} --predictions" in done.stdout
    invoke("inputs", *own, "-o", "sent.jsonl")
    sent = Path("sent.jsonl").read_text()
    assert json.loads(sent) == {"uid": "a", "statement": "a good film"}


def test_a_dataset_of_a_server_is_perturbed_here_and_sent_by_one_command(
    invoke: Invoke, write_rows: Callable[..., str]
) -> None:
    uri = write_rows("data.2.jsonl", ROWS)  # a store keeps a later version so
    words = ("--task", "sentiment", "--perturb-prefix", "robustness")
    done = invoke("perturb", "--s3-uri", uri, *words, "-o", "robustness-data.jsonl")
    assert done.exit_code == 0, done.output
    assert done.stdout.endswith(
        "next, send it to the server, and request evaluations of all models:\n"
        "  evalkit host dataset robustness-data.jsonl --original data"
        " --perturb-prefix robustness\n"
    )
    again = invoke("perturb", "--s3-uri", "robustness-data.jsonl", *words)
    assert (again.exit_code, again.stdout) == (1, "")
    assert "is perturbed already (it has input_id)" in again.stderr
    both = invoke("perturb", "sample-nli", "--s3-uri", uri, *words)
    assert "--s3-uri takes no DATASET and no --data" in both.stderr


@pytest.mark.slow
def test_default_names(invoke: Invoke, data: str) -> None:
    perturb(invoke, "--perturbation", "loud:preset=hard", "-q")
    assert Path("loud-data.jsonl").exists()
    done = invoke("perturb", "sample-nli", "--perturb-prefix", "robustness", "-q")
    assert done.exit_code == 0, done.output
    assert Path("robustness-sample-nli.jsonl").exists()
    assert "loud " in done.stdout
    assert "next" not in done.stdout
    assert perturb(invoke, "--perturbation", "loud:preset=hard").exit_code == 1
    perturb(invoke, "--perturbation", "loud:preset=hard+loud", "-q")
    assert Path("loud+loud-data.jsonl").exists()


def test_a_preset_is_handed_on(invoke: Invoke, data: str) -> None:
    done = perturb(invoke, "--perturbation", "loud", "--preset", "mild")
    assert "loud:preset=mild        0   2   0.0%     0  invariant" in done.stdout
    assert "nothing was changed: loud-data.jsonl is empty" in done.stdout


NUMBERS = [
    {"uid": str(number), "statement": f"{number} films", "label": "positive"}
    for number in range(30)
]


def test_a_perturbation_of_which_protection_leaves_nothing_is_told(
    invoke: Invoke, write_rows: Callable[..., str]
) -> None:
    write_rows("data.jsonl", NUMBERS)
    done = perturb(invoke, "--perturbation", "worded", "--perturbation", "lowercase")
    told = "worded, lowercase changed nothing. Code, digits, mark-up, placeholders and"
    assert told in done.stdout
    more = ("--perturbation", "worded", "--overwrite")
    done = perturb(invoke, *more, "--unprotected", "digits")
    assert "changed nothing" not in done.stdout
    assert "worded{unprotected=digits}       30  30  100.0%" in done.stdout


def test_json(invoke: Invoke, data: str) -> None:
    done = perturb(invoke, "--perturbation", "loud", "--json")
    (count,) = json.loads(done.stdout)["perturbations"]
    assert (count["perturbation"], count["changed"]) == ("loud", 1)


def test_hurtful_texts_are_masked_unless_asked(invoke: Invoke, data: str) -> None:
    arguments = ("--data", "data.jsonl", "--task", "hs", "--perturbation", "loud")
    Path("data.jsonl").write_text('{"uid": "1", "statement": "an insult, 1 of 2"}\n')
    done = invoke("perturb", *arguments)
    assert "1 statement: [a→A]· ······, · ·· ·" in done.stdout
    assert "--show-text shows them" in done.stdout
    done = invoke("perturb", *arguments, "--show-text", "--overwrite")
    assert "1 statement: [a→A]n insult, 1 of 2" in done.stdout
    assert "--show-text" not in done.stdout
    done = invoke("perturb", *arguments, "--pairs", "0", "--overwrite")
    assert "statement:" not in done.stdout
    assert "--show-text" not in done.stdout


def test_json_has_no_hurtful_text_unless_asked(invoke: Invoke, data: str) -> None:
    Path("data.jsonl").write_text('{"uid": "1", "statement": "an insult"}\n')
    arguments = ("--data", "data.jsonl", "--task", "hs", "--perturbation", "loud")
    done = invoke("perturb", *arguments, "--json")
    assert "insult" not in done.stdout
    done = invoke("perturb", *arguments, "--json", "--show-text", "--overwrite")
    assert "An insult" in done.stdout


def test_what_was_chosen_is_chosen_in_the_next_command(
    invoke: Invoke, data: str
) -> None:
    chosen = ("--split", "all", "--filter", "answer=positive", "-n", "5")
    done = perturb(invoke, "--perturbation", "loud", *chosen)
    expected = "sentiment --split all --filter answer=positive --limit 5 --predictions"
    assert expected in done.stdout


def test_fields_variants_edits_and_what_is_not_protected(
    invoke: Invoke, data: str
) -> None:
    Path("data.jsonl").write_text('{"uid": "1", "statement": "x", "more": "a1"}\n')
    options = ("--perturbation", "loud", "-q", "--fields", "more, statement")
    perturb(invoke, *options, "-o", "1.jsonl", "--edits")
    row = json.loads(Path("1.jsonl").read_text())
    assert (row["statement"], row["more"]) == ("X", "a1")
    assert row["edits"] == {"statement": [[0, 1, "X"]]}
    perturb(invoke, *options, "-o", "2.jsonl", "--unprotected", "digits,urls")
    assert json.loads(Path("2.jsonl").read_text())["more"] == "A1"
    perturb(invoke, *options, "-o", "3.jsonl", "--variants", "3", "--seed", "7")
    assert len(Path("3.jsonl").read_text().splitlines()) == 1
    done = perturb(invoke, *options, "-o", "4.jsonl", "--unprotected", "numbers")
    assert done.exit_code == 1
    assert "there is no protected kind 'numbers'" in done.stderr


def test_again(invoke: Invoke, data: str) -> None:
    perturb(invoke, "--perturbation", "loud", "-o", "once.jsonl")
    arguments = (
        "--data",
        "once.jsonl",
        "--task",
        "sentiment",
        "--perturbation",
        "loud",
    )
    done = invoke("perturb", *arguments, "-o", "twice.jsonl")
    assert done.exit_code == 1
    assert "uid '1_Loud' is perturbed already" in done.stderr
    assert invoke("perturb", *arguments, "-o", "twice.jsonl", "--again").exit_code == 0
    arguments = (*arguments[:-1], "lowercase")
    again = invoke("perturb", *arguments, "-o", "thrice.jsonl", "--again")
    assert again.exit_code == 0
    assert "evalkit eval ORIGINALS --predictions MODEL.jsonl" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "say how to perturb: --perturbation NAME"),
        (("--perturbation", "loud", "--json", "-o", "-"), "both need the standard out"),
        (("--perturbation", "loud", "--variants", "0"), "--variants"),
    ],
)
def test_wrong_usage(
    invoke: Invoke, data: str, arguments: tuple[str, ...], words: str
) -> None:
    done = perturb(invoke, *arguments)
    assert done.exit_code == 2
    assert words in done.stderr


def test_an_unknown_perturbation_suggests_the_nearest(
    invoke: Invoke, data: str
) -> None:
    done = perturb(invoke, "--perturbation", "lound")
    assert done.exit_code == 1
    assert "did you mean loud?" in done.stderr


@pytest.mark.slow
def test_rows_on_stdout_are_nothing_but_rows(data: str) -> None:
    command = [sys.executable, "-m", "evalkit_cli", "perturb", "--data", data]
    options = ["--task", "sentiment", "--perturbation", "lowercase", "-o", "-"]
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, check=True
    )
    assert [json.loads(line)["uid"] for line in done.stdout.splitlines()] == [
        "2_Lowercase"
    ]
    assert "lowercase           1   2  50.0%" in done.stderr
    assert "1 row written\n" in done.stderr


def test_what_a_plugin_prints_goes_to_stderr(invoke: Invoke, data: str) -> None:
    done = perturb(invoke, "--perturbation", "noisy", "--json")
    assert json.loads(done.stdout)["examples"] == 2


def test_families_are_completed(invoke: Invoke) -> None:
    from evalkit_cli.main import cli

    command = cli.commands["perturb"]
    (option,) = [each for each in command.params if each.name == "families"]
    with command.make_context("perturb", ["x", "--family", "y"]) as context:
        found = option.shell_complete(context, "f")
    assert [each.value for each in found] == ["fairness"]


@pytest.mark.parametrize(
    ("text", "edits", "shown"),
    [
        ("he saw", [(0, 2, "she")], "[he→she] saw"),
        ("ab", [(1, 1, "\u200b")], "a[→<U+200B>]b"),
        ("a\tb\nc", [(0, 1, "x")], "[a→x]\\tb\\nc"),
        ("x" * 100, [(50, 51, "y")], "…" + "x" * 30 + "[x→y]" + "x" * 30 + "…"),
        ("a", [], ""),
    ],
)
def test_edits_are_marked(
    text: str, edits: list[tuple[int, int, str]], shown: str
) -> None:
    assert marked(text, [Edit(*edit) for edit in edits], masked=False) == shown


def test_edits_that_would_show_a_masked_text_are_masked_too() -> None:
    edits = [Edit(0, 3, "xyz"), Edit(4, 7, "XY1")]
    assert marked("abc def ghi", edits, masked=True) == "[···→···] [···→···] ···"
    assert marked("abc def ghi", edits[:1], masked=True) == "[abc→xyz] ··· ···"


def test_of_many_edits_the_first_ones_are_shown() -> None:
    text = "word " * 200
    edits = [Edit(n, n + 4, "x") for n in range(0, 1_000, 5)]
    shown = marked(text, edits, masked=False)
    assert shown.startswith("[word→x] [word→x] ")
    assert shown.endswith("… and 151 more edits")
