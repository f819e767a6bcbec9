"""Runs metric and dataloader classes that are written for SEA-HELM.

Their modules import SEA-HELM's base classes (`src.metrics.seahelm_metric` and so on),
and get the small stand-ins of this module in their place. All else they import from
their own repository.
"""

from __future__ import annotations

import ast
import importlib
import logging
import math
import re
import statistics
import string
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from evalkit import DataError
from evalkit_benchmarks_peers.seahelm_config import SeahelmTask

_OWN_PROMPTS = {
    *("prepare_conversations_for_inference", "generate_formatted_conversation"),
    *("prompt_formatter", "update_conversation", "get_num_turns"),
    "get_judge_prompt_formatter",
}
"""Methods of a dataloader that make prompts in a way of their own."""


class SeaHelmMetric:
    """Stand-in for the base class of metrics."""

    def __init__(
        self,
        dataloader: Any,
        task_config: Any,
        response_column: str = "responses",
        postprocessed_response_column: str = "cleaned_responses",
        label_column: str = "label",
    ) -> None:
        self.dataloader, self.task_config = dataloader, task_config
        self.task, self.lang = task_config.task_name, task_config.lang
        self.response_column, self.label_column = response_column, label_column
        self.postprocessed_response_column = postprocessed_response_column

    @property
    def inference_df(self) -> Any:
        """The table of responses, a frame of pandas."""
        return self.dataloader.dataframe

    @inference_df.setter
    def inference_df(self, frame: Any) -> None:
        self.dataloader.dataframe = frame

    def drop_error_responses(self) -> None:
        """Drop the rows with a response that is None."""
        frame = self.inference_df
        is_whole = frame[self.response_column].map(lambda said: None not in list(said))
        self.inference_df = frame[is_whole].copy()

    def replace_error_responses(self, replacement: str = "") -> None:
        """Replace responses that are None."""
        said = self.inference_df[self.response_column]
        self.inference_df[self.response_column] = said.map(
            lambda texts: [replacement if text is None else text for text in texts]
        )

    def normalize_answer(self, s: str) -> str:
        """Lower a text, and strip punctuation at its ends."""
        return " ".join(s.lower().strip(f"{string.punctuation} \n").split())

    def normalize_score(
        self, score: float, min_score: float, max_score: float
    ) -> float:
        """Rescale a score so that `min_score`, or a worse one, is 0."""
        if min_score == max_score:
            return 0.0
        return max((score - min_score) / (max_score - min_score), 0)

    def calculate_stderr(self, values: list[float]) -> float:
        """Return the standard error of a mean."""
        if len(values) < 2:
            return 0.0
        return math.sqrt(statistics.variance(values) / len(values))

    def extract_response(
        self,
        response: Sequence[Any],
        flags: int = 0,
        return_original_response_on_failure: bool = True,
    ) -> Any:
        """Return what `regex_string` finds in the first response, or the response."""
        text, pattern = response[0], getattr(self, "regex_string", None)
        if not isinstance(text, str):
            return None
        match = re.search(pattern, text, flags) if pattern is not None else None
        if match is not None and match.group(1) is not None:
            return match.group(1).strip()
        return text.strip() if return_original_response_on_failure else None

    def postprocess_responses(self) -> None:
        """Extract the answers of all responses."""
        found = self.inference_df[self.response_column].map(self.extract_response)
        self.inference_df[self.postprocessed_response_column] = found

    def calculate_metrics(self) -> Any:
        """Return the scores by name."""
        raise NotImplementedError(f"{type(self).__name__} has no calculate_metrics")

    def evaluate_responses(self, drop_error_response: bool = False) -> dict[str, Any]:
        """Return the scores of all responses."""
        if drop_error_response:
            self.drop_error_responses()
        else:
            self.replace_error_responses()
        self.postprocess_responses()
        found = self.calculate_metrics()
        return {self.task: found[0] if isinstance(found, tuple) else found}


class AbstractDataloader:
    """Stand-in for the base classes of dataloaders."""

    is_hub = True

    def __init__(
        self,
        task_config: Any,
        default_num_in_context_examples: int = 0,
        is_base_model: bool = False,
        model_name: str = "",
        run_base_path: str = "",
        inference_file_type: str = "jsonl",
        num_workers: int | None = None,
    ) -> None:
        self.task_config, self.is_base_model = task_config, is_base_model
        self.task_name, self.lang = task_config.task_name, task_config.lang
        self.specific_task_config = task_config.config["languages"][self.lang]
        self.fewshot_num_examples = default_num_in_context_examples
        self.model_name, self.run_base_path = model_name, run_base_path
        self.num_workers = num_workers
        self.dataset: Any = None
        self.example_dataset: Any = None
        self.dataframe: Any = None

    def _load(self, key: str, split: str, limit: int | None) -> Any:
        load_dataset = importlib.import_module("datasets").load_dataset
        place = self.specific_task_config[key]
        if self.is_hub:
            rows = load_dataset(place, self.lang, split=split)
        else:
            file = str(self.task_config.root / place)
            rows = load_dataset("json", data_files=file, split="train")
        return rows if limit is None else rows.select(range(min(limit, len(rows))))

    def load_dataset(self, limit: int | None = None) -> None:
        """Load the rows to evaluate."""
        self.dataset = self._load("filepath", "eval", limit)

    def load_example_dataset(self, limit: int | None = None) -> None:
        """Load the rows to show."""
        self.example_dataset = self._load("example_filepath", "examples", limit)

    def update_individual_scores(self, scores: Any) -> None:
        """Keep the scores of the examples."""
        self.dataframe["individual_scores"] = list(scores)


class SeaHelmLocalDataloader(AbstractDataloader):
    """Stand-in for the dataloader of files."""

    is_hub = False


_STAND_INS: Mapping[str, Mapping[str, Any]] = {
    "base_logger": {"get_logger": logging.getLogger},
    "task_config": {"TaskConfig": SimpleNamespace},
    "metrics.seahelm_metric": {"SeaHelmMetric": SeaHelmMetric},
    "dataloaders.base_dataloader": {"AbstractDataloader": AbstractDataloader},
    "dataloaders.huggingface_dataloader": {"HuggingFaceDataloader": AbstractDataloader},
    "dataloaders.seahelm_local_dataloader": {
        "SeaHelmLocalDataloader": SeaHelmLocalDataloader
    },
}
"""What stands in for members of SEA-HELM's modules, below `src`."""


def class_file(task: SeahelmTask, kind: str) -> Path:
    """Return the file of a `metric` or `dataloader` class, which is not imported.

    Raises:
        DataError: It does not hold the class, or the class makes its own prompts.
    """
    key, place = f"{kind}_class", task.config.get(f"{kind}_file")
    name, file = task.config.get(key), task.root / str(place)
    if place is None or not file.is_file():
        task.refuse(f"{name!r} has no counterpart, and there is no file {place}", key)
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    found = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name]
    if not found:
        task.refuse(f"{place} holds no class {name!r}", key)
    if kind == "dataloader":
        own = {each.name for each in found[0].body if isinstance(each, ast.FunctionDef)}
        known = {name for each in _STAND_INS.values() for name in each}
        unusual = own & _OWN_PROMPTS or {*map(ast.unparse, found[0].bases)} - known
        if unusual:
            task.refuse(f"{name!r} makes its own prompts ({min(unusual)})", key)
    return file


def _load_class(task: SeahelmTask, kind: str) -> Any:
    file, name = class_file(task, kind), str(task.config[f"{kind}_class"])
    module = ".".join(file.relative_to(task.root).with_suffix("").parts)
    with _stand_ins(task.root):
        try:
            return getattr(importlib.import_module(module), name)
        except Exception as error:
            problem = f"{name!r} cannot be imported: {type(error).__name__}: {error}"
            raise DataError(f"{file}: {problem}") from error


def _as_seen(task: SeahelmTask, lang: str) -> SimpleNamespace:
    """Return a task as SEA-HELM's classes see it."""
    from omegaconf import OmegaConf

    config = OmegaConf.create(dict(task.config))
    names = {"task_name": task.name, "lang": lang, "root": task.root, "seed": 1234}
    return SimpleNamespace(config=config, **names)


def rows_by_class(task: SeahelmTask, lang: str, shots: int | None) -> list[Any]:
    """Return the rows that the task's dataloader class makes."""
    loader = _load_class(task, "dataloader")(_as_seen(task, lang), shots or 0)
    if shots is None:
        loader.load_dataset()
    else:
        loader.load_example_dataset(limit=shots)
    dataset = loader.dataset if shots is None else loader.example_dataset
    return [dict(row) for row in dataset]


def scores_by_class(
    task: SeahelmTask, lang: str, rows: Sequence[Mapping[str, Any]]
) -> dict[str, float | None]:
    """Return the scores that the task's metric class gives to rows with `responses`."""
    loader = AbstractDataloader(_as_seen(task, lang))
    loader.dataframe = importlib.import_module("pandas").DataFrame(list(rows))
    metric = _load_class(task, "metric")(loader, loader.task_config)
    with redirect_stdout(sys.stderr):
        found = metric.evaluate_responses()[task.name]
    return dict(_numbers(found, ""))


def _numbers(value: Any, name: str) -> Iterator[tuple[str, float | None]]:
    """Flatten scores within scores: `subcategories.length`."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _numbers(each, f"{name}.{key}" if name else str(key))
    elif value is None or isinstance(value, bool | int | float):
        yield name, None if value is None else float(value)
    elif hasattr(value, "item"):
        yield name, float(value.item())


@contextmanager
def _stand_ins(root: Path) -> Iterator[None]:
    """Put the stand-ins in the place of SEA-HELM's modules, while one is imported."""
    before = dict(sys.modules)
    sys.path.insert(0, str(root))
    try:
        for package in ("src", "src.metrics", "src.dataloaders"):
            sys.modules[package] = ModuleType(package)
            sys.modules[package].__path__ = [str(root / package.replace(".", "/"))]
        for name, members in _STAND_INS.items():
            sys.modules[f"src.{name}"] = module = ModuleType(f"src.{name}")
            vars(module).update(members)
        yield
    finally:
        sys.path.remove(str(root))
        for name in [*sys.modules]:
            if name.partition(".")[0] in ("src", "seahelm_tasks"):
                del sys.modules[name]
                sys.modules.update({name: before[name]} if name in before else {})
