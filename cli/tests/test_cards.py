"""The cards of `evalkit show KIND/NAME`: what they hold, and that it is true."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import evalkit
from evalkit import find_components
from evalkit.catalog import BoundTask, Registry
from evalkit_cli.printing.card_examples import metric_example
from evalkit_cli.printing.cards import WIDTH, print_card
from evalkit_commands_perturb import perturb

Invoke = Callable[..., Result]

WITHOUT_EXAMPLES = ("metrics/bertscore", "metrics/comet", "metrics/sp-bleu")
"""Those that need the file of a model."""

WITH_EXAMPLES = [
    found.id
    for found in find_components().components
    if found.kind in ("tasks", "metrics", "perturbations")
    and found.id not in WITHOUT_EXAMPLES
]

RANGE = re.compile(
    r"Range (-?[\d.]+|-infinity) to ([\d.]+|infinity),(?: in ([\w%/]+),)?"
    r" (?:0 is chance, )?(higher is|lower is|neither is) better"
)


@pytest.mark.parametrize("component", WITH_EXAMPLES)
def test_a_card_has_a_description_and_an_example(
    invoke: Invoke, component: str
) -> None:
    described = json.loads(invoke("show", component, "--json").stdout)
    assert described["documentation"].startswith(described["description"][:40])
    assert described["distribution"].startswith("evalkit-")
    example = described["example"]
    assert example
    assert "Example:" not in described["documentation"]
    rest = described["documentation"].partition("\n\n")[2]
    if component.startswith("perturbations/"):
        assert rest
        assert example["before"] != example["after"]
    if component.startswith("metrics/"):
        found = RANGE.search(" ".join(rest.split()))
        assert found
        attributes = described["attributes"]
        bounds = tuple(
            None if "infinity" in end else float(end) for end in found.group(1, 2)
        )
        low, high = attributes["bounds"] or (None, None)
        assert low == bounds[0]
        assert high in (bounds[1], None)
        assert attributes["unit"] == (found[3] or "")
        directions = {"higher is": True, "lower is": False, "neither is": None}
        assert attributes["higher_is_better"] is directions[found[4]]


@pytest.mark.parametrize(
    "component",
    [
        *("tasks/nli", "datasets/sample-hs", "metrics/f1", "metrics/pass-at-k"),
        *("perturbations/word-swap", "perturbations/styled-unicode", "adapters/map"),
        *("commands/cite", "schemas/run.Score"),
    ],
)
def test_no_line_is_longer_than_eighty_columns(invoke: Invoke, component: str) -> None:
    for options in ((), ("-v",)):
        done = invoke("show", component, *options)
        assert done.exit_code == 0, done.output
        assert max(map(len, done.stdout.splitlines())) <= WIDTH
        assert "\n\n\n" not in done.stdout


@pytest.mark.parametrize("component", [i for i in WITH_EXAMPLES if i[:5] == "tasks"])
def test_the_rows_of_a_task_are_valid(invoke: Invoke, component: str) -> None:
    example = json.loads(invoke("show", component, "--json").stdout)["example"]
    name = component.partition("/")[2]
    task = BoundTask.of(Registry().load("tasks", name))
    data, prediction = example["data"], example["prediction"]
    task.validate_input({key: data[key] for key in task.example})
    task.validate_output(prediction, None)
    assert prediction["id"] == data["uid"]
    if task.answer_kind != "none":
        assert data[task.answer_field or ""] == prediction[task.answer_field or ""]


def test_a_metric_names_what_it_reads(invoke: Invoke) -> None:
    lines = [line.split() for line in invoke("show", "metrics/ece").stdout.splitlines()]
    assert ["reads", "prob"] in lines
    lines = [
        line.split() for line in invoke("show", "metrics/ndcg").stdout.splitlines()
    ]
    reads = ["[responses],", "[references],", "[scores],", "[responses.score]"]
    assert ["reads", *reads] in lines


def test_the_computed_example_of_a_metric_is_true(
    invoke: Invoke, capsys: pytest.CaptureFixture[str]
) -> None:
    example = metric_example("macro-f1")
    scope = {"evalkit": evalkit, **example}
    result = eval(example["call"], scope)
    assert result["macro-f1"].value == example["values"]["macro-f1"]
    described = json.loads(invoke("show", "metrics/macro-f1", "--json").stdout)
    print_card(described | {"example": example}, verbose=False)
    shown = capsys.readouterr().out
    assert f"  predictions = {example['predictions']}\n" in shown
    assert "    macro-f1  73.33 %\n" in shown


def test_the_example_of_alternatives_is_what_they_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = metric_example("pass-at-k:k=2")
    for name, rows in (("data", "targets"), ("predictions", "predictions")):
        text = "".join(json.dumps(row) + "\n" for row in example[rows])
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = eval(example["call"], {"evalkit": evalkit})
    assert result.headline.value == 1.0 == example["values"][result.headline.metric]


def test_the_example_of_a_perturbation_is_what_it_writes(
    invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("color\tshape\n", encoding="utf-8")
    named = f"word-swap:mapping={path}"
    example = json.loads(invoke("show", f"perturbations/{named}", "--json").stdout)
    example = example["example"]
    row = {"uid": "1", "statement": example["before"]}
    (copy,) = perturb([row], named, fields=["statement"])
    assert copy["statement"] == example["after"]
    assert "the shape of her" in example["after"]


def test_a_data_set_is_cited_and_its_texts_are_not_shown(invoke: Invoke) -> None:
    shown = invoke("show", "datasets/hatecheck").stdout
    for line in (
        "  licence        CC-BY-4.0",
        "  warning        contains hateful statements and slurs",
        "@inproceedings{rottger-etal-2021-hatecheck,",
        "evalkit-datasets-hatecheck 0.1.0",
    ):
        assert f"{line}\n" in shown


def test_a_command_is_shown_by_its_help(invoke: Invoke) -> None:
    shown = invoke("show", "commands/cite").stdout
    assert "cite [OPTIONS] RUN\n" in shown
    assert shown.endswith("evalkit-commands-cite 0.1.0\n")
    assert invoke("show", "commands/eval").stdout.endswith("evalkit-cli 0.1.0\n")
    done = invoke("show", "commands/evil")
    assert done.exit_code == 2
    assert "evil" in done.stderr


def test_what_is_indented_or_a_list_stays_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    documentation = (
        f"One.\n\n{'word ' * 30}\n\n- a\n- b\n\n```\n  x\n```\n\nRaises:\n    E: If.\n"
    )
    described = {
        **{key: {} for key in ("example", "parameters", "attributes")},
        **{"id": "adapters/a", "documentation": documentation},
        **{"distribution": "d", "version": "1", "object": "m:a"},
    }
    print_card(described, verbose=False)
    shown = capsys.readouterr().out
    assert "- a\n- b\n" in shown
    assert "```\n  x\n```" in shown
    assert "Raises" not in shown
    assert max(map(len, shown.splitlines())) <= WIDTH


def test_a_card_of_an_annotator_says_what_it_gives(
    invoke: Invoke, fake_distribution: Callable[..., object]
) -> None:
    code = """
        import evalkit

        class Counts(evalkit.Annotator):
            version = "1"
            columns = ("words", "signs")
            reads = ("statement",)

            def annotate_example(self, fields):
                return {"words": 1, "signs": 2}
    """
    fake_distribution(code, {"evalkit.annotators": {"counts": "Counts"}})
    shown = invoke("show", "annotators/counts").stdout
    assert re.search(r"^  gives +words, signs$", shown, re.MULTILINE)
    assert re.search(r"^  reads +statement$", shown, re.MULTILINE)
