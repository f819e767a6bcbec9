"""`evalkit show`."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

Invoke = Callable[..., Result]


@pytest.mark.parametrize(
    ("component", "lines"),
    [
        (
            "tasks/sentiment",
            [
                "Is the statement positive, negative or neutral?",
                "facts",
                "  input          uid, statement",
                "  prediction     id, label, [prob]",
                "  labels         positive, negative, neutral",
            ],
        ),
        (
            "datasets/tiny",
            ["Four short reviews.", "  task     sentiment", "  version  7"],
        ),
        (
            "metrics/label-length",
            ["Length of the prediction, times a factor.", "parameters"],
        ),
        (
            "metrics/agreement",
            [
                "Share of predictions that equal the target.",
                "    agreement  0.75",
                "evalkit eval DATASET --predictions FILE -m agreement",
            ],
        ),
        (
            "perturbations/shuffle",
            ["Shuffles the words.", "  families  robustness", "  version   1"],
        ),
        ("observers/recorder", ["Writes down all that it is told."]),
    ],
)
def test_every_kind_is_described(
    invoke: Invoke, plugins: Any, component: str, lines: list[str]
) -> None:
    done = invoke("show", component)
    assert done.exit_code == 0
    shown = done.stdout.splitlines()
    assert shown[0] == component
    assert ("tiny-plugins 4.5.6" in shown) != (component == "tasks/sentiment")
    for line in lines:
        assert line in shown


def test_verbose_says_which_object_a_plugin_is(invoke: Invoke, plugins: Any) -> None:
    shown = invoke("show", "metrics/agreement", "-v").stdout
    assert f"{plugins.module}:get_agreement\n" in shown
    assert f"{plugins.module}:" not in invoke("show", "metrics/agreement").stdout


def test_json_holds_parameters_with_their_types_and_defaults(
    invoke: Invoke, plugins: Any
) -> None:
    described = json.loads(invoke("show", "metrics/label-length", "--json").stdout)
    assert described["distribution"] == "tiny-plugins"
    assert described["version"] == "4.5.6"
    assert described["parameters"]["factor"]["type"] == "number"
    assert described["parameters"]["factor"]["default"] == 1.0
    assert described["attributes"]["unit"] == "chars"
    assert described["attributes"]["bounds"] is None


def test_a_plugin_that_needs_a_parameter_is_described(
    invoke: Invoke, fake_distribution: Any
) -> None:
    code = '''
import evalkit


class Added(evalkit.Perturbation):
    """Adds a text."""

    class Parameters(evalkit.Parameters):
        text: str
        """What is added."""

    families = {"style"}
    version = "1"
    label_effect = {"*": "uncertain"}

    def perturb(self, text):
        return text + self.parameters.text
'''
    fake_distribution(code, {"evalkit.perturbations": {"added": "Added"}})
    done = invoke("show", "perturbations/added")
    assert done.exit_code == 0, done.output
    shown = done.stdout
    assert "Adds a text." in shown
    assert "  text  text, required\n" in shown
    assert "families  style\n" in shown
    assert "example" not in shown
    named = invoke("show", "perturbations/added:text=x", "--json").stdout
    assert json.loads(named)["parameters"]["text"]["required"] is True


def test_json_of_a_task_holds_the_schemas_of_input_and_output(invoke: Invoke) -> None:
    described = json.loads(invoke("show", "tasks/nli", "--json").stdout)
    schema = described["attributes"]["Input"]
    assert set(schema["required"]) == {"uid", "context", "hypothesis"}
    assert described["attributes"]["example"]["uid"] == "nli-1"


def test_json_of_a_data_set_holds_paths_and_sources_as_plain_values(
    invoke: Invoke,
) -> None:
    sample = json.loads(invoke("show", "datasets/sample-nli", "--json").stdout)
    predictions = sample["attributes"]["example_predictions"]
    assert all(path.endswith(".jsonl") for path in predictions.values())
    hatecheck = json.loads(invoke("show", "datasets/hatecheck", "--json").stdout)
    [source] = hatecheck["attributes"]["sources"].values()
    assert set(source) == {"url", "sha256", "license", "citation"}
    assert invoke("show", "datasets/hatecheck").exit_code == 0


def test_a_plugin_that_prints_does_not_spoil_json(
    invoke: Invoke, fake_distribution: Callable[..., Any]
) -> None:
    fake_distribution(
        "import datetime\nprint('hello')\nclass P:\n"
        "    families = {'own'}\n    version = '1'\n    label_effect = {}\n"
        "    def perturb(self, text): return text\n",
        {"evalkit.perturbations": {"loud": "P"}},
    )
    done = invoke("show", "perturbations/loud", "--json")
    assert json.loads(done.stdout)["id"] == "perturbations/loud"
    assert done.stderr == "hello\n"


def test_a_value_that_is_not_json_is_shown_as_text(
    invoke: Invoke, fake_distribution: Callable[..., Any]
) -> None:
    fake_distribution(
        "import datetime, evalkit\nfrom pydantic import BaseModel\n"
        "class Row(BaseModel):\n    uid: str\n"
        "class Said(BaseModel):\n    id: str\n"
        "class T(evalkit.TaskIO):\n"
        "    Input = Row\n    Output = Said\n    perf_metric = 'accuracy'\n"
        "    example = {'uid': '1', 'day': datetime.date(2024, 2, 29)}\n",
        {"evalkit.tasks": {"dated": "T"}},
    )
    described = json.loads(invoke("show", "tasks/dated", "--json").stdout)
    assert described["attributes"]["example"]["day"] == "2024-02-29"
    assert '"day": "2024-02-29"' in invoke("show", "tasks/dated").stdout
    assert described["example"]["prediction"] == {"id": "1"}


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("accuracy", "Did you mean metrics/accuracy?"),
        ("metric/accuracy", "Did you mean metrics/accuracy?"),
        ("qqqqqqqqqqqq", "KIND is one of tasks, datasets, metrics, perturbations"),
    ],
)
def test_a_name_without_its_kind_is_wrong_usage(
    invoke: Invoke, asked: str, hint: str
) -> None:
    done = invoke("show", asked)
    assert done.exit_code == 2
    assert "is not of the form KIND/NAME" in done.stderr
    assert hint in done.stderr


def test_an_unknown_name_suggests_the_nearest(invoke: Invoke) -> None:
    done = invoke("show", "metrics/acuracy")
    assert done.exit_code == 1
    assert done.stderr == (
        "evalkit: error: there is no metric 'acuracy'; did you mean accuracy "
        "or vqa-accuracy or vote-accuracy?\n"
    )


@pytest.mark.slow
def test_a_name_of_two_distributions_can_be_told_apart(
    invoke: Invoke, plugins: Any, fake_distribution: Callable[..., Any]
) -> None:
    fake_distribution(
        "def get_other(predictions, targets):\n    'Another one.'\n",
        {"evalkit.metrics": {"agreement": "get_other"}},
        name="zz-plugins",
    )
    done = invoke("show", "metrics/agreement")
    assert done.exit_code == 1
    assert "tiny-plugins 4.5.6, zz-plugins 1.2.3" in done.stderr
    assert "Name one as agreement@tiny-plugins" in done.stderr
    assert "Another one." in invoke("show", "metrics/agreement@zz-plugins").stdout
