"""No answer is older than what gives it: only whole requests have a cache."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_servers import Answer, Got, serving

from evalkit.errors import PluginError
from evalkit_models_base import Asked, Request, ask, predict

PROGRAM = """import json, sys
{}
for line in sys.stdin:
    print(json.dumps({}), flush=True)
"""

LABELS = ("positive", "negative")


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))


def label_of(model: Any, statement: str = "x") -> tuple[str, int]:
    rows = [{"uid": "1", "statement": statement}]
    found = predict(data=rows, task="sentiment", model=model, prompt=None)
    return found.rows[0]["label"], found.from_cache


def run(path: Path, first: str, answer: str, *words: str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(PROGRAM.format(first, answer))
    return f"command:run={' '.join([sys.executable, str(path), *words])}"


def edited_script(folder: Path, label: str) -> str:
    return run(folder / "program.py", "", repr(label))


def file_behind_an_option(folder: Path, label: str) -> str:
    (folder / "settings").write_text(label)
    read = "open(sys.argv[1].partition('=')[2]).read()"
    return run(folder / "program.py", "", read, f"--config={folder / 'settings'}")


def file_of_the_same_name(folder: Path, label: str) -> str:
    return run(folder / label / "program.py", "", repr(label))


def imported_helper(folder: Path, label: str) -> str:
    (folder / "helper.py").write_text(f"LABEL = {label!r}\n# {label}\n")
    return run(folder / "program.py", "import helper", "helper.LABEL")


def symlinked_helper(folder: Path, label: str) -> str:
    (folder / f"{label}.py").write_text(f"LABEL = {label!r}\n# {label}\n")
    (folder / "helper.py").unlink(missing_ok=True)
    (folder / "helper.py").symlink_to(folder / f"{label}.py")
    return run(folder / "program.py", "import helper", "helper.LABEL")


def helper_like_a_package(folder: Path, label: str) -> str:
    (folder / "evalkit_helper.py").write_text(f"LABEL = {label!r}\n# {label}\n")
    return run(folder / "program.py", "import evalkit_helper", "evalkit_helper.LABEL")


def edited_function(folder: Path, label: str) -> str:
    code = f"def answer(inputs):\n    return [{label!r}] * len(inputs)\n"
    (folder / "own.py").write_text(code)
    return f"{folder / 'own.py'}:answer"


@pytest.mark.parametrize(
    "change",
    [
        *(edited_script, file_behind_an_option, file_of_the_same_name),
        *(imported_helper, symlinked_helper, helper_like_a_package, edited_function),
    ],
)
def test_code_on_this_machine_is_asked_each_time(
    change: Callable[[Path, str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    for label in (*LABELS, "positive"):
        assert label_of(change(tmp_path, label)) == (label, 0)


def by_query(got: Got) -> str:
    return got.path.partition("model=")[2]


def by_header(got: Got) -> str:
    return got.headers["x-model"]


def by_image(got: Got) -> str:
    return Path(got.body["statement"]).read_text()


@pytest.mark.parametrize("by", [by_query, by_header, by_image])
def test_all_that_a_request_says_is_what_its_reply_is_kept_by(
    by: Callable[[Got], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = tmp_path / "image.png"
    model = "http:url_variable=THE_URL,headers_variable=THE_HEADERS"
    with serving(lambda got: Answer({"label": by(got)})) as server:
        for number, label in enumerate(LABELS):
            image.write_text(label)
            monkeypatch.setenv("THE_URL", f"{server.url}/?key=k{number}&model={label}")
            headers = f'{{"X-Model": "{label}", "X-API-Key": "secret {number}"}}'
            monkeypatch.setenv("THE_HEADERS", headers)
            assert label_of(model, str(image)) == (label, 0)
            # another key is no other request
            monkeypatch.setenv("THE_URL", f"{server.url}/?key=new&model={label}")
            assert label_of(model, str(image)) == (label, 1)


CODE = """
from evalkit_models_base import Model, text_reply

class Repeating(Model):
    abilities = ("text",)
    uses_network = True

    def generate(self, requests):
        return [text_reply({label!r})] * len(requests)
"""

DESCRIBED = """
    def describe_request(self, request):
        return {"prompt": request.prompt}
"""


@pytest.mark.parametrize("described", ["", DESCRIBED])
def test_an_edited_model_is_asked_anew(described: str, tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    for label in LABELS:
        path.write_text(CODE.replace("{label!r}", repr(label)) + described)
        for is_again in (False, True):
            found = ask(f"{path}:Repeating", [Request(prompt="x")])
            assert found.replies[0].completions[0].text == label
            assert found.cached == (is_again and bool(described),)


def test_an_annotator_s_helper_is_read_each_time(tmp_path: Path) -> None:
    import evalkit
    from evalkit_annotators_columns import Annotators

    helper = tmp_path / "helper.txt"

    class Reading(evalkit.Annotator):
        version = "1"

        def annotate_example(self, prediction: str) -> float:
            return float(helper.read_text())

    class Mean(evalkit.Metric):
        columns = ("reading",)

        def score_example(self, fields: Any) -> float:
            return float(fields["reading"])

    for value in (0.0, 1.0):
        helper.write_text(str(value))
        result = evalkit.evaluate(
            data=[{"uid": "1", "statement": "x", "label": "positive"}],
            task="sentiment",
            predictions=[{"id": "1", "label": "positive"}],
            metrics=[Mean],
            columns=Annotators({"reading": Reading}),
        )
        assert result["mean"].value == value


@pytest.mark.parametrize("lines", [0, 2])
def test_a_program_with_a_line_too_many_or_too_few_ends_the_work(
    lines: int, tmp_path: Path
) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "import sys\nfor n, line in enumerate(sys.stdin):\n"
        f"    for _ in range({lines} if n == 70 else 1):\n"
        "        print(f'\"{n}\"', flush=True)\n"
    )
    rows = [{"uid": str(n), "statement": "x"} for n in range(150)]
    model = f"command:run={sys.executable} {path}"
    message = "more lines than it got" if lines else "fewer lines than it got"
    with pytest.raises(PluginError, match=message):
        predict(data=rows, task="sentiment", model=model, asked=Asked(seconds=3))
