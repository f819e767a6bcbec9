"""The harness's side of `lm_eval_tasks.py`; needs a Python with lm_eval.

    PEER/bin/python benchmarks/lm_eval_peer.py LM_EVAL/tasks OUT 41 200

It draws tasks of `OUT/loaded.txt` by a seed, in turn of their folders, makes rows that
the harness itself can use, and records what its ConfigurableTask makes of them.
"""
# ruff: noqa: E731

import json
import logging
import random
import re
import sys
from pathlib import Path

KEYS = ("doc_to_text", "doc_to_target", "doc_to_choice", "process_docs", "gen_prefix")
SPLITS = ("test_split", "validation_split", "training_split", "fewshot_split")
LIMIT, SEED = 10, 1234
FORMS = [
    "{} ",
    "The answer is {}.",
    "#### {}",
    "Answer: ({})",
    "x{}",
    "42",
    "It is (B)",
]


def draw_rows(rng, columns, constants, count):
    """Return rows with one kind of value in each column."""
    words = lambda n: " ".join(
        rng.choices(["river", "stone", "paper", "music", "bridge"], k=n)
    )
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
    for doc in [*task.eval_docs, *task.sampler.df]:
        if task.OUTPUT_TYPE == "multiple_choice":
            choices, gold = task.doc_to_choice(doc), task.doc_to_target(doc)
            gold = gold[0] if isinstance(gold, list) else gold
            assert isinstance(choices, list)
            assert gold in choices or 0 <= gold < len(choices) == len({*choices})
    for request in task.instances:
        by_doc.setdefault(request.doc_id, []).append(request)
    for place, requests in by_doc.items():
        doc, kind = requests[0].doc, task.OUTPUT_TYPE
        one = {
            "asked": [each.args for each in requests],
            "gold": task.doc_to_target(doc),
        }
        one["is_shown"] = bool(shots) and doc in drawn[place]  # a shot of itself
        gold = one["gold"][0] if isinstance(one["gold"], list) else one["gold"]
        if kind == "multiple_choice":
            one["choices"] = task.doc_to_choice(doc)
        one["replies"] = [-round(rng.uniform(1, 60), 3) for _ in requests]
        if kind == "generate_until":
            assert str(gold).strip()
            one["replies"] = [rng.choice(FORMS).format(gold)]
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


def columns_of(config):
    """Return names that templates and functions may take of a document, and texts."""
    given = [config.get(key) for key in KEYS]
    functions = [getattr(each, "func", each) for each in given if callable(each)]
    code = [Path(each.__code__.co_filename).read_text() for each in functions]
    texts = [each for each in given if isinstance(each, str)]
    inside = " ".join(re.findall(r"\{[{%].*?[%}]\}", " ".join(texts), re.S))
    names = {*re.findall(r"(?<![\w.'\"])[A-Za-z_]\w*", inside), *texts}
    names |= {
        *re.findall(r"""\w\[["']([^"']+)["']\]|\.get\(["']""", " ".join(code))
    } - {""}
    bound = [getattr(each, "keywords", {}) for each in given]
    constants = [text for each in bound for text in each.values()]
    constants += re.findall(r"""["']([\w ]{1,20})["']""", " ".join([inside, *code]))
    return sorted(names - {""}), constants


def prepare(path, folder, rng):
    """Record what the harness makes of a task; None if no rows suit it."""
    from lm_eval.tasks._yaml_loader import load_yaml

    config = load_yaml(path)
    config = {k: v for k, v in config.items() if k not in ("tag", "group", "task_list")}
    shots = config.get("fewshot_config") or {}
    names = {config.get(key) for key in SPLITS} | {shots.get("split")}
    columns, constants = columns_of(config)
    for _ in range(150):
        splits = {
            name: draw_rows(rng, columns, constants, 60) for name in names - {None}
        }
        try:
            runs = [run(dict(config), splits, count, rng) for count in (0, 2)]
        except Exception:  # the rows do not suit the task
            continue
        folder.mkdir(parents=True, exist_ok=True)
        files = {name: f"{folder}/{name}.jsonl" for name in splits}
        for name, rows in splits.items():
            Path(files[name]).write_text("\n".join(map(json.dumps, rows)))
        own = {"include": path, "dataset_path": "json", "dataset_name": None}
        own["dataset_kwargs"] = {"data_files": files}
        (folder / "task.yaml").write_text(json.dumps(own))
        return {"yaml": f"{folder}/task.yaml", "runs": runs}
    return None


def main(root, out, seed, count):
    """Write `OUT/peer.jsonl`."""
    logging.disable(logging.CRITICAL)
    rng = random.Random(seed)
    families = {}
    for path in (out / "loaded.txt").read_text().splitlines():
        families.setdefault(path.removeprefix(str(root)).split("/")[1], []).append(path)
    order = [
        (n, each)
        for of in families.values()
        for n, each in enumerate(rng.sample(of, len(of)))
    ]
    order = [
        each for _, each in sorted(order, key=lambda pair: (pair[0], rng.random()))
    ]
    done = 0
    with (out / "peer.jsonl").open("w") as file:
        for path in order:
            made = prepare(path, out / str(done), rng) if done < count else None
            if made is not None:
                file.write(json.dumps(made) + "\n")
                done += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]).resolve(), *map(int, sys.argv[3:5]))
