"""Tasks of lm-evaluation-harness: how many load, and whether they equal the harness.

.venv/bin/python benchmarks/lm_eval_tasks.py load LM_EVAL/tasks OUT
PEER/bin/python benchmarks/lm_eval_peer.py LM_EVAL/tasks OUT 41 200
.venv/bin/python benchmarks/lm_eval_tasks.py compare OUT
"""

import json
import math
import re
import sys
from collections import Counter
from pathlib import Path

import evalkit
from evalkit import DataError
from evalkit.runs.stored import examples_of
from evalkit_benchmarks_peers.lm_eval import Task, component_name, read
from evalkit_benchmarks_peers.lm_eval_files import read_task_file, task_files
from evalkit_models_base import Model, Reply, predict
from evalkit_models_base.requests import Completion, Continuation

NAMES = {"acc": "accuracy", "acc_norm": "lm-eval-accuracy", "chrf++": "chrf-plus-plus"}
NAMES |= {"acc_bytes": "lm-eval-accuracy:normalise=bytes"}
NAMES |= {f"{unit}_perplexity": f"perplexity:by={unit}s" for unit in ("word", "byte")}
LIMIT = 10


def load(folder: Path, out: Path) -> None:
    """Count the tasks that load, and the keys that refuse others."""
    refused, loaded = Counter(), []
    for path in task_files(folder):
        try:
            Task(read_task_file(path)).benchmark()
            loaded.append(str(path))
        except DataError as error:
            key = re.sub(r"\.\d+", "", str(error).partition(": ")[2].partition(": ")[0])
            refused[key] += " is a group of " not in str(error)
    (out / "loaded.txt").write_text("\n".join(loaded))
    print(len(loaded), "load, refused by key:", dict(refused.most_common()))


class Scripted(Model):
    """Replies what the harness was replied, and keeps what it is asked."""

    abilities = ("text", "continuations")

    def __init__(self, documents):
        self.documents, self.asked = documents, []

    def generate(self, requests):
        """Reply to the next requests."""
        return [self.reply(request) for request in requests]

    def reply(self, request):
        """Reply to the next request."""
        replies = self.documents[len(self.asked)]["replies"]
        self.asked.append(request)
        if request.continuations:
            scores = [Continuation(logprob=each, tokens=1) for each in replies]
            return Reply(continuations=tuple(scores))
        return Reply(completions=(Completion(text=replies[0]),))


def asked_by_peer(document, kind):
    """Return the prompt and the continuations, or the texts that end the reply."""
    asked = document["asked"]
    if kind == "loglikelihood_rolling":
        return "", [asked[0][0]]
    if kind == "multiple_choice":
        return asked[0][0], [each[1] for each in asked]
    stop = asked[0][1]["until"]
    stops = [stop] if isinstance(stop, str) else stop
    return asked[0][0], [text for text in stops if text]


def differences(record):
    """Yield what differs for one task."""
    plugin = read(record["yaml"]).plugin
    make = lambda **options: plugin(plugin.Parameters(**options))  # noqa: E731
    for peer in record["runs"]:
        kind, documents = peer["kind"], peer["documents"]
        if kind == "loglikelihood_rolling" and peer["shots"]:
            continue
        model = Scripted(documents)
        found = predict(make(), model, shots=peer["shots"], limit=LIMIT)
        for ours, document in zip(model.asked, documents, strict=True):
            pair = ours.prompt, [*(ours.continuations or ours.stop)]
            if pair != asked_by_peer(document, kind) and not document["is_shown"]:
                yield "prompt", pair, asked_by_peer(document, kind)
        for name, filtered in peer["filters"].items():
            has = "extract" in plugin.Parameters.model_fields
            dataset = make(**({"extract": component_name(name)} if has else {}))
            result = evalkit.evaluate(dataset, found.rows, limit=LIMIT)
            ours = [text or "" for text in examples_of(result)["pred"]]
            texts = [x[0] if isinstance(x, list) else x for x in filtered["texts"]]
            if kind == "generate_until" and ours != [
                x if x.strip() else "" for x in texts
            ]:
                yield "filter", ours, texts
            yield from different_values(result, filtered["values"])


def different_values(result, wanted):
    """Yield the metrics whose values differ."""
    values = {each.metric: each.value for each in result.scores if not each.tag}
    for metric, value in wanted.items():
        name = NAMES.get(metric, metric.replace("_", "-"))
        ends = (v for k, v in values.items() if k.split(":")[0].endswith(name))
        same = values.get(name, next(ends, None))
        if same is None or not math.isclose(same, value, abs_tol=1e-9):
            yield metric, values, value


def compare(out: Path) -> None:
    """Compare each task, and count those that are equal by output type."""
    counts = Counter()
    for line in (out / "peer.jsonl").read_text().splitlines():
        record = json.loads(line)
        try:
            found = [*differences(record)]
        except DataError as error:  # such as shots that would show the answer
            found = [("refused", error)]
        counts[record["runs"][0]["kind"], "different" if found else "equal"] += 1
        for each in found[:1]:
            print(record["yaml"], *each)
    print(dict(counts))


if __name__ == "__main__":
    if sys.argv[1] == "load":
        load(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        compare(Path(sys.argv[2]))
