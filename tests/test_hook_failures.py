"""Whatever a hook does wrong, its plugin is named and nothing becomes a score.

One table of every hook of every kind, which raises or returns what it must not.
"""

import copy
import importlib
import io
import re
import warnings
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

import evalkit
from evalkit import Result, Score, Violation
from evalkit.catalog import all_kinds
from evalkit.errors import AlignmentError, EvalkitError
from evalkit.plugins.bound import BoundMetric, BoundPerturbation
from evalkit_adapters_rows import Rows
from evalkit_analysis_robustness import evaluate_perturbed
from evalkit_commands_perturb import perturb, perturb_dataset
from evalkit_models_base import Asked, Continuation, Reply, predict

CODE = """
import random

import evalkit
import polars as pl
from evalkit.catalog import Registry
from evalkit_models_base import Model, text_reply
from pydantic import BaseModel

ACT = {}


def act(kind, hook, usual):
    return ACT.get((kind, hook), lambda: usual)()


def own(uid, returned):
    # the right id where the table says 0
    is_meant = isinstance(returned, dict) and returned.get("id") == "0"
    return {**returned, "id": uid} if is_meant else returned


class Asked(BaseModel):
    uid: str
    text: str


class Said(BaseModel):
    id: str
    label: str


class Plain(evalkit.TaskIO):
    Input = Asked
    Output = Said
    example = {"uid": "1", "text": "x"}
    answer_field = "label"
    perf_metric = "right"
    perturb_fields = ("text",)

    def verify_response(self, response, example):
        return act("tasks", "verify_response", None)


class Converting(Plain):
    def label_field_converter(self, example):
        usual = {"id": example["uid"], "answer": example["label"], "tags": ["t"]}
        return own(example["uid"], act("tasks", "label_field_converter", usual))

    def pred_field_converter(self, response):
        usual = {"id": response["id"], "pred": response["label"]}
        return own(response["id"], act("tasks", "pred_field_converter", usual))

    def adapt_response(self, response):
        return act("tasks", "adapt_response", response)


ROWS = [{"uid": str(i), "text": f"text {i}", "label": "ab"[i % 2]} for i in range(6)]


class Rows(evalkit.Dataset):
    task = "plain"

    def load(self, split):
        return act("datasets", "load", ROWS)


class RowsConverted(Rows):
    task = "converting"


class Hooks(Rows):
    def label_field_converter(self, example):
        usual = {"id": example["uid"], "answer": example["label"], "tags": ["t"]}
        return own(example["uid"], act("datasets", "label_field_converter", usual))

    def pred_field_converter(self, response):
        usual = {"id": response["id"], "pred": response["label"]}
        return own(response["id"], act("datasets", "pred_field_converter", usual))

    def adapt_response(self, response):
        return act("datasets", "adapt_response", response)

    def evaluate(self, frame):
        return act("datasets", "evaluate", {"rows": frame.height})


def get_lists(predictions, targets):
    return act("metrics", "compute", 0.5)


class Right(evalkit.Metric):
    def score_example(self, prediction, target):
        return act("metrics", "score_example", float(prediction == target))


class Batches(evalkit.Metric):
    def prepare(self, targets):
        return act("metrics", "prepare", None)

    def resources(self):
        return act("metrics", "resources", {})

    def score_batch(self, predictions):
        return act("metrics", "score_batch", [1.0] * len(predictions))


class ExampleSums(evalkit.Metric):
    def example_statistics(self, prediction, target):
        usual = {"right": float(prediction == target), "n": 1}
        return act("metrics", "example_statistics", usual)

    def finalize(self, sums):
        return sums["right"] / sums["n"]


class Sums(evalkit.Metric):
    def statistics(self, batch):
        usual = pl.DataFrame({"row": range(batch.height), "x": [1.0] * batch.height})
        return act("metrics", "statistics", usual)

    def finalize(self, sums):
        return act("metrics", "finalize", sums.select("group", value="x"))


class Counts(evalkit.Metric):
    keys = ("gold", "said")
    interval = "multinomial"

    def statistics(self, batch):
        labels = {"gold": "target", "said": "prediction"}
        return batch.select(**labels, n=pl.lit(1.0)).with_row_index("row")

    def finalize(self, sums):
        return sums.group_by("group").agg(value=pl.col("n").sum())

    def finalize_counts(self, counts):
        return act("metrics", "finalize_counts", {"": counts.sum(axis=1)})


class Varied(evalkit.Metric):
    def statistics(self, batch):
        rows = range(batch.height)
        return pl.DataFrame({"row": rows, "x": [float(row) for row in rows]})

    def finalize(self, sums):
        return sums.select("group", value="x")


class Loud:
    families = {"robustness"}
    version = "1"
    label_effect = {"*": "invariant"}

    def perturb(self, text):
        return act("perturbations", "perturb", text.upper())


class Hooked(Loud):
    def make_rng(self, seed, uid, variant):
        return act("perturbations", "make_rng", random.Random(0))

    def find_edits(self, texts, rng):
        usual = [[(0, 1, "S")] for text in texts]
        return act("perturbations", "find_edits", usual)

    def change_tags(self, tags):
        return act("perturbations", "change_tags", list(tags))

    def expect(self, original_pred, perturbed_pred):
        return act("perturbations", "expect", "pass")


class Batched(Loud):
    def perturb_batch(self, texts):
        usual = [text.upper() for text in texts]
        return act("perturbations", "perturb_batch", usual)


class Whole(Loud):
    def perturb_example(self, example):
        usual = {"text": example["text"].upper()}
        return act("perturbations", "perturb_example", usual)


class Single(evalkit.Annotator):
    version = "1"

    def annotate_example(self, prediction):
        return act("annotators", "annotate_example", 1.0)

    def conclude(self, values):
        return act("annotators", "conclude", ["done"])


class Several(evalkit.Annotator):
    version = "1"

    def annotate_batch(self, predictions):
        return act("annotators", "annotate_batch", [1.0 for _ in predictions])


class Adapts:
    version = "1"

    def adapt_row(self, row):
        return act("adapters", "adapt_row", [row])

    def adapt_frame(self, frame):
        return act("adapters", "adapt_frame", frame)


class AdaptsBlocks(Adapts):
    def adapt_rows(self, rows):
        return act("adapters", "adapt_rows", [[row] for row in rows])


class Reads(Adapts):
    def read_file(self, path):
        rows = [{"id": row["uid"], "label": "a"} for row in ROWS]
        return act("adapters", "read_file", rows)


class OfText:
    version = "1"

    def extract_text(self, text):
        return act("adapters", "extract_text", text)


class OfTexts:
    version = "1"

    def extract_texts(self, texts):
        usual = pl.DataFrame({"value": texts})
        return act("adapters", "extract_texts", usual)


class Chooses:
    version = "1"

    def choose_answer(self, answers):
        return act("adapters", "choose_answer", answers[0])


class OfSingle(evalkit.Metric):
    columns = ("single",)

    def score_example(self, fields):
        return sum(fields.values())


class OfSeveral(OfSingle):
    columns = ("several",)


class Predicts(Model):
    def predict(self, inputs):
        return act("models", "predict", ["a" for _ in inputs])


class Generates(Model):
    abilities = ("text",)

    def generate(self, requests):
        usual = [text_reply("a") for _ in requests]
        return act("models", "generate", usual)


class Asks(Model):
    abilities = ("text",)

    async def ask(self, request):
        return act("models", "ask", text_reply("a"))

    def describe(self):
        return act("models", "describe", {"name": "asks"})

    async def close(self):
        return act("models", "close", None)


class Describes(Asks):
    def describe_request(self, request):
        return act("models", "describe_request", {"text": str(request.messages)})


class Watcher:
    def before_load(self):
        act("observers", "before_load", None)

    def after_load(self):
        act("observers", "after_load", None)

    def before_scoring(self):
        act("observers", "before_scoring", None)

    def after_scoring(self):
        act("observers", "after_scoring", None)

    def after_refusal(self):
        act("observers", "after_refusal", None)

    def after_result(self):
        act("observers", "after_result", None)

    def after_failure(self):
        act("observers", "after_failure", None)

    def before_writing(self):
        act("observers", "before_writing", None)

    def after_writing(self):
        act("observers", "after_writing", None)

    def before_perturbing(self):
        act("observers", "before_perturbing", None)

    def after_perturbing(self):
        act("observers", "after_perturbing", None)
"""

ENTRY_POINTS = {
    "evalkit.tasks": {"plain": "Plain", "converting": "Converting"},
    "evalkit.datasets": {
        "rows": "Rows",
        "rows-converted": "RowsConverted",
        "hooks": "Hooks",
    },
    "evalkit.metrics": {
        "of-single": "OfSingle",
        "of-several": "OfSeveral",
        "lists": "get_lists",
        "right": "Right",
        "sums": "Sums",
        "batches": "Batches",
        "example-sums": "ExampleSums",
        "counts": "Counts",
        "varied": "Varied",
    },
    "evalkit.perturbations": {
        **{"loud": "Loud", "hooked": "Hooked", "whole": "Whole"},
        "batched": "Batched",
    },
    "evalkit.adapters": {
        "adapts": "Adapts",
        "adapts-blocks": "AdaptsBlocks",
        "reads": "Reads",
        "of-text": "OfText",
        "of-texts": "OfTexts",
        "chooses": "Chooses",
    },
    "evalkit.annotators": {"single": "Single", "several": "Several"},
    "evalkit.models": {
        "predicts": "Predicts",
        "generates": "Generates",
        "asks": "Asks",
        "describes": "Describes",
    },
    "evalkit.observers": {"watcher": "Watcher"},
}

OF_TEXTS = ("extract_text", "extract_texts", "choose_answer")

PREDICTIONS = [{"id": str(i), "label": "a"} for i in range(6)]

RAISED = [
    ValueError("a bug"),
    AssertionError(),
    SystemExit(3),
    RecursionError("too deep"),
    pl.exceptions.PanicException("a panic"),
]

LONG = pl.DataFrame({"row": [99], "x": [1.0]})
NAN_SUMS = pl.DataFrame({"row": [0, 1], "x": [float("nan")] * 2})
NO_ROWS = pl.DataFrame({"row": [], "x": []}, schema={"row": pl.Int64, "x": pl.Float64})
NO_REPLY = Reply(continuations=(Continuation(logprob=-1.0, tokens=1),))
"""A reply to what was not asked."""

WRONG_VALUES: dict[tuple[str, str], list[Any]] = {
    ("tasks", "verify_response"): [
        True,
        "text",
        ["text"],
        [Violation._make([None, "rule", 1])],
    ],
    ("tasks", "label_field_converter"): [
        None,
        "text",
        {"id": "0"},
        {"id": "x", "answer": "a"},
        {"id": "0", "answer": "a", "tags": "t"},
        {"id": "0", "answer": "a", "cluster": "c"},
        {"id": "0", "answer": None},
        {"id": "0", "answer": {"a": 1}},
    ],
    ("tasks", "pred_field_converter"): [
        None,
        ["a"],
        {"id": "0"},
        {"id": "x", "pred": "a"},
        {"id": "0", "pred": "a", "conf": 1},
        {"id": "0", "pred": {"a": 1}},
        {"id": "0", "pred": object()},
    ],
    ("datasets", "load"): [None, 3, [None], [{"text": "x"}], [], "no-such.jsonl"],
    ("datasets", "adapt_response"): [None, "text", []],
    ("tasks", "adapt_response"): [None, "text", []],
    ("datasets", "evaluate"): [
        None,
        3.0,
        {},
        {"x": "text"},
        {"x": None},
        {"x": float("nan")},
    ],
    ("metrics", "compute"): [None, float("nan"), "text", [1.0], 10**400],
    ("metrics", "score_example"): [None, float("nan"), "text", [1.0], {}],
    ("metrics", "score_batch"): [None, 1.0, "texts!", [1.0], [float("nan")] * 6],
    ("metrics", "example_statistics"): [None, 1.0, {}, {"right": "x", "n": 1}],
    ("metrics", "resources"): [None, "text", {"x": 1}, {"x": Path("no-such-file")}],
    ("metrics", "prepare"): [],
    ("metrics", "statistics"): [None, [1.0], LONG, NAN_SUMS, NO_ROWS, pl.DataFrame()],
    ("metrics", "finalize_counts"): [None, {"": 1.0}, {1: np.ones(2)}, np.ones(2)],
    ("metrics", "finalize"): [
        None,
        {"value": 1.0},
        pl.DataFrame({"group": [0]}),
        pl.DataFrame({"group": [77], "value": [1.0]}),
        pl.DataFrame({"group": [0, 0], "value": [1.0, 2.0]}),
        pl.DataFrame({"group": [0], "value": [float("nan")]}),
        pl.DataFrame({"group": [], "value": []}, schema={"group": int, "value": float}),
    ],
    ("perturbations", "make_rng"): [None, 7],
    ("perturbations", "perturb"): [None, 1, b"x"],
    ("perturbations", "perturb_batch"): [None, [], "text", [1], [b"x"]],
    ("perturbations", "find_edits"): [None, [], "text", [[(0, 99, "x")]], [["x"]]],
    ("perturbations", "perturb_example"): ["text", [1], 3],
    ("perturbations", "change_tags"): [None, "text", [1]],
    ("perturbations", "expect"): [None, True, "maybe"],
    ("annotators", "annotate_example"): [{}, float("inf"), b"x", [None], ["a", 1]],
    ("annotators", "annotate_batch"): [None, "text", [], [[[1]]], [{}]],
    ("annotators", "conclude"): ["text", 3, [1], {1: "a"}],
    ("models", "predict"): [None, "text", [], ["a"]],
    ("models", "generate"): [None, "text", [], ["a"] * 6, [NO_REPLY] * 6],
    ("models", "ask"): [None, "text", [], NO_REPLY],
    ("models", "describe"): ["text", 3, {"a": object()}, {"a": float("nan")}],
    ("models", "describe_request"): [{"a": object()}, {"a": float("nan")}],
    ("models", "close"): [],
    ("adapters", "adapt_row"): [None, "text", {}, 3],
    ("adapters", "adapt_rows"): [None, "text", [], [[{}]], [3]],
    ("adapters", "adapt_frame"): ["text", [], {}],
    ("adapters", "read_file"): ["text", 3, {"id": "0"}],
    ("adapters", "extract_text"): [1, b"x", ["a"], {}],
    ("adapters", "extract_texts"): [
        None,
        "text",
        ["a"] * 6,
        pl.DataFrame({"value": ["a"]}),
        pl.DataFrame({"value": [1] * 6}),
        pl.DataFrame({"other": ["a"] * 6}),
    ],
    ("adapters", "choose_answer"): [1, b"x", ["a"], {}],
}
"""What a hook must not return. For observers there is nothing: it is ignored."""
WRONG_VALUES |= {
    ("datasets", hook): WRONG_VALUES["tasks", hook]
    for hook in ("label_field_converter", "pred_field_converter")
}

HOOKS = [
    (kind.name, hook)
    for kind in all_kinds()
    if kind.load is None and kind.name != "engines"  # which call nothing of an author
    for hook in kind.hooks
]

PLACES = {
    ("tasks", "verify_response"): "tasks/plain",
    ("tasks", "label_field_converter"): "tasks/converting",
    ("tasks", "pred_field_converter"): "tasks/converting",
    ("tasks", "adapt_response"): "tasks/converting",
    ("datasets", "load"): "datasets/rows",
    ("metrics", "compute"): "metrics/lists",
    ("metrics", "score_example"): "metrics/right",
    ("metrics", "score_batch"): "metrics/batches",
    ("metrics", "prepare"): "metrics/batches",
    ("metrics", "resources"): "metrics/batches",
    ("metrics", "finalize_counts"): "metrics/counts",
    ("metrics", "example_statistics"): "metrics/example-sums",
    ("annotators", "annotate_batch"): "annotators/several",
    ("models", "predict"): "models/predicts",
    ("models", "generate"): "models/generates",
    ("models", "describe_request"): "models/describes",
    ("adapters", "adapt_rows"): "adapters/adapts-blocks",
    ("adapters", "read_file"): "adapters/reads",
    ("adapters", "extract_text"): "adapters/of-text",
    ("adapters", "extract_texts"): "adapters/of-texts",
    ("adapters", "choose_answer"): "adapters/chooses",
    ("perturbations", "perturb"): "perturbations/loud",
    ("perturbations", "perturb_batch"): "perturbations/batched",
    ("perturbations", "perturb_example"): "perturbations/whole",
}
DEFAULT_PLACES = {
    "datasets": "datasets/hooks",
    "metrics": "metrics/sums",
    "perturbations": "perturbations/hooked",
    "annotators": "annotators/single",
    "models": "models/asks",
    "adapters": "adapters/adapts",
    "observers": "observers/watcher",
}


def place_of(kind: str, hook: str) -> str:
    return PLACES.get((kind, hook)) or DEFAULT_PLACES[kind]


@pytest.fixture
def plugins(
    fake_distribution: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Any:
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    made = fake_distribution(CODE, ENTRY_POINTS, name="acting", version="3.1")
    return importlib.import_module(made.module)


def observe(hook: str, out: Any) -> str:
    """Do what an observer is told of; gives what is said of its failures."""
    watched: dict[str, Any] = {"observers": ["watcher"]}
    if hook.endswith("_perturbing"):
        copies = io.StringIO()
        summary = perturb_dataset("rows", copies, perturbations=["loud"], **watched)
        return "\n".join(summary.notices)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if hook == "after_failure":
            with pytest.raises(evalkit.UnknownPluginError):
                evalkit.evaluate("rows", PREDICTIONS, metrics=["none"], **watched)
            return "\n".join(str(warning.message) for warning in caught)
    if hook == "after_refusal":
        with pytest.raises(AlignmentError) as refused:
            evalkit.evaluate("rows", PREDICTIONS[:1], out=out, **watched)
        return said(refused.value.result)
    result = evalkit.evaluate("rows", PREDICTIONS, out=out, **watched)
    assert result.status == "complete"
    return said(result)


def adapt(hook: str, name: str) -> Result:
    """Adapt predictions, or take answers out of their texts."""
    given: Any = PREDICTIONS
    if hook == "adapt_frame":
        given = pl.DataFrame(PREDICTIONS)
    if hook == "read_file":
        given = Path(__file__)
    if hook == "choose_answer":
        answers = [{"label": "a"}, {"label": "b"}]
        given = [{"id": str(i), "responses": answers} for i in range(6)]
    rows = Rows(adapters={"predictions": [{"kind": name}]})
    if hook in OF_TEXTS:
        rows = Rows(extract=name)
    return evalkit.evaluate("rows", given, metrics=["right"], rows=rows)


def run(kind: str, hook: str, out: Any, policy: str) -> Result | None:
    """Do what calls a hook."""
    if kind == "observers":
        observe(hook, out)
        return None
    name = place_of(kind, hook).partition("/")[2]
    if kind == "models":
        prompt = None if hook == "predict" else {"query": "{text}"}
        predict("rows", name, prompt=prompt, asked=Asked(retries=0))
        return None
    if kind == "adapters":
        return adapt(hook, name)
    metric = name if kind == "metrics" else "right"
    if kind == "annotators":
        metric = f"of-{name}"
    is_converting = place_of(kind, hook) == "tasks/converting"
    dataset = "rows-converted" if is_converting else "rows"
    if kind == "datasets":
        dataset = name
    options: dict[str, Any] = {"metrics": [metric], "out": out, "on_invalid": policy}
    if kind == "perturbations":
        copies = [*perturb(ROWS, name, task="plain")]
        if hook != "expect":
            return None
        said = [{"id": copy["uid"], "label": "a"} for copy in copies]
        [run] = evaluate_perturbed(
            dataset,
            pl.DataFrame(PREDICTIONS),
            perturbed=[copies],
            perturbed_predictions=[said],
            **options,
        ).perturbed
        return run
    # as a table, whose columns are judged where that can be
    return evalkit.evaluate(dataset, pl.DataFrame(PREDICTIONS), **options)


ROWS = [
    {"uid": str(i), "text": f"some text {i}", "label": "ab"[i % 2], "tags": ["t"]}
    for i in range(6)
]


def raising(error: BaseException) -> Callable[[], Any]:
    def act() -> Any:
        raise error

    return act


def said(result: Result) -> str:
    """Give all that a result says of failures."""
    reasons = [score.reason or "" for score in result.scores if score.value is None]
    return "\n".join([*result.errors, *result.warnings, *reasons])


def is_made_by(kind: str, score: Score) -> bool:
    """Tell whether a score is made of what a kind of plugin returned."""
    if kind == "datasets":
        return score.metric.startswith("hooks#")
    return (
        kind in ("adapters", "metrics", "annotators") or score.computed_on == "expected"
    )


def blamed(kind: str, hook: str, out: Any, policy: str) -> str:
    """Give what is said of a failure; no score may come of it."""
    if kind == "observers":
        return observe(hook, out)
    try:
        result = run(kind, hook, out, policy)
    except EvalkitError as error:
        return str(error)
    assert result is not None, "a failure was a success"
    made_of_it = [score for score in result.scores if is_made_by(kind, score)]
    if hook == "finalize_counts":  # the interval is lost, not the value
        assert all(score.ci is None for score in made_of_it)
        return "\n".join(score.reason or "" for score in made_of_it)
    assert all(score.value is None for score in made_of_it)
    return said(result)


@pytest.mark.parametrize(("kind", "hook"), HOOKS)
@pytest.mark.slow
def test_a_hook_that_raises_is_named(
    kind: str, hook: str, plugins: Any, tmp_path: Any
) -> None:
    for error in RAISED:
        plugins.ACT[kind, hook] = raising(error)
        text = blamed(kind, hook, tmp_path, "error")
        if hook == "verify_response" and isinstance(error, AssertionError):
            assert "invalid predictions" in text  # which says so by an assertion
            continue
        assert f"{place_of(kind, hook)} (acting 3.1)" in text, error
        assert hook in text, error
        assert type(error).__name__ in text


@pytest.mark.parametrize(("kind", "hook"), WRONG_VALUES)
def test_a_hook_that_returns_what_it_must_not_is_named(
    kind: str, hook: str, plugins: Any
) -> None:
    for value in WRONG_VALUES[kind, hook]:
        plugins.ACT[kind, hook] = lambda value=value: value
        text = blamed(kind, hook, None, "error")
        assert f"{place_of(kind, hook)} (acting 3.1)" in text, value


def test_the_table_has_every_hook_but_those_of_observers() -> None:
    assert {*WRONG_VALUES} == {hook for hook in HOOKS if hook[0] != "observers"}


@pytest.mark.parametrize(("kind", "hook"), HOOKS)
def test_without_a_fault_all_hooks_work(
    kind: str, hook: str, plugins: Any, tmp_path: Any
) -> None:
    calls = []
    usual = plugins.act

    def counted(*arguments: Any) -> Any:
        calls.append(arguments[:2])
        return usual(*arguments)

    plugins.act = counted
    run(kind, hook, tmp_path, "error")
    assert (kind, hook) in calls


@pytest.mark.parametrize("kind", ["tasks", "datasets"])
def test_a_converter_that_fails_scores_nothing_whatever_the_policy(
    kind: str, plugins: Any
) -> None:
    plugins.ACT[kind, "pred_field_converter"] = raising(ValueError("a bug"))
    for policy in ("error", "wrong", "skip"):
        with pytest.raises(evalkit.PluginError) as caught:
            run(kind, "pred_field_converter", None, policy)
        assert str(caught.value) == (
            f"{place_of(kind, 'pred_field_converter')} (acting 3.1): "
            "pred_field_converter failed for the response '0' with ValueError: a bug; "
            "it returns evalkit.Unparsed(reason) where a response has no answer, and "
            "verify_response is the place to refuse a response"
        )
        assert isinstance(caught.value.__cause__, ValueError)


def test_hooks_are_called_in_the_room_of_plugins_alone() -> None:
    core = Path(evalkit.__file__).parent
    relays = re.compile(r"\.row_function\(|\.attributes\[")
    found = {
        path.relative_to(core).as_posix()
        for path in core.rglob("*.py")
        if relays.search(path.read_text(encoding="utf-8"))
    }
    found -= {name for name in found if name.startswith(("plugins/", "testing/"))}
    # inside of the guard, as what is loaded may be read when it is iterated over
    assert found == {"examples/loading.py"}


def test_a_copy_calls_its_own_plugin(plugins: Any) -> None:
    bound = BoundPerturbation.of(evalkit.Registry().load("perturbations", "loud"))
    assert bound.row_function("perturb")(text="a") == "A"
    for copied in (
        copy.deepcopy(bound),
        replace(bound, plugin=copy.copy(bound.plugin)),
    ):
        vars(copied.plugin)["perturb"] = lambda text: "own"
        assert copied.row_function("perturb")(text="a") == "own"
    assert bound.row_function("perturb")(text="a") == "A"
    with pytest.raises(FrozenInstanceError):
        bound.__setattr__("plugin", None)
    with pytest.raises(TypeError, match="is not a BoundMetric"):
        BoundMetric.of(bound)


def test_only_a_random_of_pythons_is_a_generator(plugins: Any) -> None:
    plugins.ACT["perturbations", "make_rng"] = lambda: Random(5)
    assert run("perturbations", "make_rng", None, "error") is None
