"""Tasks of lm-evaluation-harness, compared with its own ConfigurableTask.

    .venv/bin/python benchmarks/lm_eval_tasks.py load LM_EVAL/tasks OUT
    PEER/bin/python benchmarks/lm_eval_tasks.py peer LM_EVAL/tasks OUT 41 200
    .venv/bin/python benchmarks/lm_eval_tasks.py ours LM_EVAL/tasks OUT

The second needs a Python with lm_eval. It draws tasks that load, in turn of their
folders, and rows for them that the harness itself can use.
"""
# ruff: noqa: E731

import json
import math
import random
import re
import sys
from collections import Counter
from pathlib import Path

KEYS = ("doc_to_text", "doc_to_target", "doc_to_choice", "process_docs", "gen_prefix")
NAMES = {"acc": "accuracy", "acc_norm": "lm-eval-accuracy", "chrf++": "chrf-plus-plus"}
NAMES |= {"acc_bytes": "lm-eval-accuracy:normalise=bytes"}
NAMES |= {f"{unit}_perplexity": f"perplexity:by={unit}s" for unit in ("word", "byte")}
LIMIT, SEED = 10, 1234


def load(folder: Path, out: Path) -> None:
    """Count the tasks that load, and the keys that refuse others."""
    from evalkit import DataError
    from evalkit_benchmarks_peers.lm_eval import Task
    from evalkit_benchmarks_peers.lm_eval_files import read_task_file, task_files

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


def draw_rows(rng, columns, constants, count):
    """Return rows with one kind of value in each column."""
    words = lambda n: " ".join(rng.choices("river stone paper music bridge".split(), k=n))
    listed = lambda: [words(2) + str(n) for n in range(4)]
    constant = rng.choice([*constants, "x"])
    kinds = {
        "text": lambda: words(8).capitalize() + rng.choice(".?é "),
        "letter": lambda: rng.choice("ABCD"),
        "place": lambda: rng.randint(0, 1),
        "number": lambda: str(rng.randint(0, 3)),
        "list": listed,
        "dict": lambda: {"text": listed(), "label": [*"ABCD"]},
        "constant": lambda: constant,
    }
    chosen = {}
    for name in columns:
        likely = "text text text"
        if re.search("choices|options|targets|endings", name.lower()):
            likely = "list list dict"
        elif re.search("answer|label|gold|target|idx|correct", name.lower()):
            likely = "letter place number text constant"
        elif re.search("subject|categor|domain|lang|type|level", name.lower()):
            likely = "constant constant text"
        chosen[name] = rng.choice([*likely.split()] * 4 + [*kinds])
    return [{name: kinds[way]() for name, way in chosen.items()} for _ in range(count)]


def run(config, splits, shots, rng):
    """Record what the harness makes of rows; raise if they do not suit the task."""
    from datasets import Dataset
    from lm_eval.api.task import ConfigurableTask

    made = {name: Dataset.from_list(rows) for name, rows in splits.items()}
    own = {**config, "custom_dataset": lambda **_: made, "num_fewshot": shots}
    task = ConfigurableTask(config=own)
    task.set_fewshot_seed(SEED)
    drawn, sample = [], task.sampler.sample
    task.sampler.sample = lambda **given: drawn.append(sample(**given)) or drawn[-1]
    task.build_all_requests(limit=LIMIT)
    by_doc, documents, found = {}, [], {}
    for request in task.instances:
        by_doc.setdefault(request.doc_id, []).append(request)
    for place, requests in by_doc.items():
        doc, kind = requests[0].doc, task.OUTPUT_TYPE
        one = {"asked": [each.args for each in requests], "gold": task.doc_to_target(doc)}
        one["is_shown"] = bool(shots) and doc in drawn[place]  # a shot of itself
        gold = one["gold"][0] if isinstance(one["gold"], list) else one["gold"]
        if kind == "multiple_choice":
            one["choices"] = choices = task.doc_to_choice(doc)
            assert gold in choices or 0 <= gold < len(choices) == len({*choices})
        forms = "{} |The answer is {}.|#### {}|Answer: ({})|x{}| {}|42|It is (B)".split("|")
        one["replies"] = [-round(rng.uniform(1, 60), 3) for _ in requests]
        if kind == "generate_until":
            assert str(gold).strip()
            one["replies"] = [rng.choice(forms).format(gold)]
        for request, reply in zip(requests, one["replies"], strict=True):
            request.resps = [(reply, False) if kind == "multiple_choice" else reply]
        documents.append(one)
    assert len({json.dumps(each["asked"]) for each in documents}) == LIMIT
    task.apply_filters()
    for name in task.instances[0].filtered_resps:
        kept = [[r.filtered_resps[name] for r in rs] for rs in by_doc.values()]
        values = {}
        for requests, replies in zip(by_doc.values(), kept, strict=True):
            for metric, each in task.process_results(requests[0].doc, replies).items():
                values.setdefault(metric, []).append(each)
        totals = {key: float(task.aggregation()[key](of)) for key, of in values.items()}
        found[name] = {"texts": [each[0] for each in kept], "values": totals}
    return {"kind": kind, "documents": documents, "filters": found, "shots": shots}
