"""The harness's side of `lm_eval_tasks.py`; needs a Python with lm_eval.

It draws tasks of `OUT/loaded.txt` by a seed, in turn of their folders, makes rows that
the harness itself can use, and records what its ConfigurableTask makes of them.
"""

import json
import logging
import random
import re
import sys
from pathlib import Path

KEYS = ("doc_to_text", "doc_to_target", "doc_to_choice", "process_docs", "gen_prefix")
SPLITS = ("test_split", "validation_split", "training_split", "fewshot_split")
FORMS = (
    "{} ",
    "The answer is {}.",
    "#### {}",
    "Answer: ({})",
    "x{}",
    "42",
    "It is (B)",
)
LIKELY = {
    "choices|options|targets|endings": "list list dict",
    "answer|label|gold|target|idx|correct": "letter place number text constant",
    "subject|categor|domain|lang|type|level": "constant constant text",
    "": "text text text",
}
LIMIT, SEED = 10, 1234


def value(rng, kind, constant):
    """Return a value of a kind."""
    words = rng.choices(["river", "stone", "paper", "music", "bridge"], k=8)
    options = [f"{words[n]} {words[n + 1]}{n}" for n in range(4)]
    return {
        "text": " ".join(words).capitalize() + rng.choice(".?é "),
        "letter": rng.choice("ABCD"),
        "place": rng.randint(0, 1),
        "number": str(rng.randint(0, 3)),
        "list": options,
        "dict": {"text": options, "label": [*"ABCD"]},
        "constant": constant,
    }[kind]


def draw_rows(rng, columns, constants, count):
    """Return rows with one kind of value in each column."""
    constant, kinds = rng.choice([*constants, "x"]), {}
    for name in columns:
        likely = next(v for k, v in LIKELY.items() if re.search(k, name.lower()))
        others = ["text", "letter", "place", "number", "list", "dict", "constant"]
        kinds[name] = rng.choice(likely.split() * 4 + others)
    make = lambda: {n: value(rng, kind, constant) for n, kind in kinds.items()}  # noqa: E731
    return [make() for _ in range(count)]


def answer(task, requests, shown, rng):
    """Reply to the requests of a document; record them with its target."""
    doc, kind, gold = (
        requests[0].doc,
        task.OUTPUT_TYPE,
        task.doc_to_target(requests[0].doc),
    )
    first = gold[0] if isinstance(gold, list) else gold
    replies = [-round(rng.uniform(1, 60), 3) for _ in requests]
    if kind == "generate_until":
        assert str(first).strip()
        replies = [rng.choice(FORMS).format(first)]
    if kind == "multiple_choice":
        choices = task.doc_to_choice(doc)
        assert isinstance(choices, list)
        assert first in choices or 0 <= first < len(choices) == len({*choices})
    for request, reply in zip(requests, replies, strict=True):
        request.resps = [(reply, False) if kind == "multiple_choice" else reply]
    asked = [each.args for each in requests]
    return {"asked": asked, "replies": replies, "is_shown": doc in shown}


def run(config, splits, shots, rng):
    """Record what the harness makes of rows; raise if they do not suit the task."""
    from datasets import Dataset
    from lm_eval.api.task import ConfigurableTask

    made = {name: Dataset.from_list(rows) for name, rows in splits.items()}
    own = {**config, "custom_dataset": lambda **_: made, "num_fewshot": shots}
    task = ConfigurableTask(config=own)
    task.set_fewshot_seed(SEED)
    drawn, sample, by_doc, filters = [], task.sampler.sample, {}, {}
    task.sampler.sample = lambda **given: drawn.append(sample(**given)) or drawn[-1]
    task.build_all_requests(limit=LIMIT)
    for request in task.instances:
        by_doc.setdefault(request.doc_id, []).append(request)
    documents = [
        answer(task, requests, drawn[place] if shots else [], rng)
        for place, requests in by_doc.items()
    ]
    assert len({json.dumps(each["asked"]) for each in documents}) == LIMIT
    task.apply_filters()
    for name in task.instances[0].filtered_resps:
        kept, values = [], {}
        for requests in by_doc.values():
            kept.append([each.filtered_resps[name] for each in requests])
            found = task.process_results(requests[0].doc, kept[-1])
            for metric, each in found.items():
                values.setdefault(metric, []).append(each)
        totals = {key: float(task.aggregation()[key](of)) for key, of in values.items()}
        filters[name] = {"texts": [each[0] for each in kept], "values": totals}
    kind = task.OUTPUT_TYPE
    return {"kind": kind, "documents": documents, "filters": filters, "shots": shots}


def columns_of(config):
    """Return names that templates and functions may take of a document, and texts."""
    given = [config.get(key) for key in KEYS]
    functions = [getattr(each, "func", each) for each in given if callable(each)]
    code = " ".join(Path(f.__code__.co_filename).read_text() for f in functions)
    texts = [each for each in given if isinstance(each, str)]
    inside = " ".join(re.findall(r"\{[{%].*?[%}]\}", " ".join(texts), re.S))
    names = {*re.findall(r"(?<![\w.'\"])[A-Za-z_]\w*", inside), *texts}
    names |= {*re.findall(r"""(?:\w\[|\.get\()["']([^"']+)["']""", code)}
    bound = [getattr(each, "keywords", {}) for each in given]
    constants = [text for each in bound for text in each.values()]
    constants += re.findall(r"""["']([\w ]{1,20})["']""", f"{inside} {code}")
    return sorted(names - {""}), constants


def prepare(path, folder, rng):
    """Record what the harness makes of a task; None if no rows suit it."""
    from lm_eval.tasks._yaml_loader import load_yaml

    config = load_yaml(path)
    config = {k: v for k, v in config.items() if k not in ("tag", "group", "task_list")}
    shots = (config.get("fewshot_config") or {}).get("split")
    names = {*map(config.get, SPLITS), shots} - {None}
    columns, constants = columns_of(config)
    for _ in range(150):
        splits = {name: draw_rows(rng, columns, constants, 60) for name in names}
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
    rng, families, done = random.Random(seed), {}, 0
    for path in (out / "loaded.txt").read_text().splitlines():
        families.setdefault(path.removeprefix(root).split("/")[1], []).append(path)
    order = [
        (n, rng.random(), path)
        for paths in families.values()
        for n, path in enumerate(rng.sample(paths, len(paths)))
    ]
    with (out / "peer.jsonl").open("w") as file:
        for _, _, path in sorted(order):
            made = prepare(path, out / str(done), rng) if done < count else None
            if made is not None:
                file.write(json.dumps(made) + "\n")
                done += 1


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve(), *map(int, sys.argv[3:5]))
