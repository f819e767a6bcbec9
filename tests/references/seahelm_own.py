"""Runs SEA-HELM's own classes on stand-in rows: `python seahelm_own.py JOBS.json`.

It is started in an environment with SEA-HELM's requirements, in a copy of its
repository, by `test_seahelm_own.py`, which compares what it prints.
"""

import json
import sys
from contextlib import nullcontext
from pathlib import Path

import datasets

sys.path.insert(0, ".")
JOBS = json.loads(Path(sys.argv[1]).read_text())
HUB = [Path()]


def load_dataset(path, name=None, split=None, data_files=None, **_):
    """Read stand-ins in the place of the hub."""
    folder = HUB[0] / path / (name or "")
    file = Path(data_files) if path == "json" else folder / f"{split}.jsonl"
    lines = file.read_text(encoding="utf-8").split("\n")
    return datasets.Dataset.from_list([json.loads(line) for line in lines if line])


class Pool(nullcontext):
    """Formats prompts in this process."""

    def __init__(self, *_):
        super().__init__(self)

    def starmap(self, function, rows):
        return [function(*row) for row in rows]


datasets.load_dataset = load_dataset
datasets.disable_progress_bars()
import src.dataloaders.base_dataloader as base  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402
from src.task_config import TaskConfig  # noqa: E402

base.Pool, base.tqdm = Pool, lambda rows, **_: rows


def plain(value):
    """Return a value of numpy as one of JSON."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value.item() if hasattr(value, "item") else value


def run(job):
    """Make the messages of a task, and score responses to it."""
    HUB[0] = Path(job["hub"])
    configs = OmegaConf.load(job["config"])
    OmegaConf.resolve(configs)
    task = TaskConfig(configs[job["task"]], job["task"], job["lang"], 1234)
    found = {"messages": {}}
    for kind, usual in (("base", 5), ("instruct", 0)):
        if kind not in (task.config.get("fewshot_num_examples") or {kind: 0}):
            continue
        loader = task.get_dataloader_class()(
            task, usual, is_base_model=kind == "base", model_name="m", num_workers=1
        )
        loader.fewshot_num_examples = loader.fewshot_num_examples or 0
        loader.load_dataset()
        if not loader.specific_task_config.get("example_filepath"):
            loader.fewshot_num_examples = 0
        found["messages"][kind] = loader.prepare_conversations_for_inference(1, True)
    loader.convert_dataset_to_dataframe()
    frame = loader.dataframe
    frame["responses"] = [[each] for each in job["responses"]]
    frame["cumulative_logprobs"] = [[each] for each in job["logprobs"]]
    metric = task.get_metric_class()(loader, task)
    found["values"] = plain(metric.evaluate_responses()[job["task"]])
    frame = loader.dataframe
    if "cleaned_responses" in frame:
        found["extracted"] = frame["cleaned_responses"].to_list()
    return found


def main():
    """Run all jobs."""
    done = {}
    for name, job in JOBS["jobs"].items():
        try:
            done[name] = run(job)
        except Exception as error:
            done[name] = {"error": f"{type(error).__name__}: {error}"}
    Path(JOBS["out"]).write_text(json.dumps(done, default=str))


main()
