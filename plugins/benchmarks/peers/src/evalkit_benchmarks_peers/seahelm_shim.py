"""Runs metric classes that are written for SEA-HELM.

Their modules import SEA-HELM's base class (`src.metrics.seahelm_metric` and so on), and
get the small stand-ins of this module in its place. All else they import from their own
repository.
"""

from __future__ import annotations

import ast
import importlib
import logging
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from evalkit import DataError
from evalkit_benchmarks_peers.seahelm_config import SeahelmTask


class SeaHelmMetric:
    """Stand-in for the base class of metrics."""

    response_column, label_column = "responses", "label"
    postprocessed_response_column = "cleaned_responses"

    def __init__(self, dataloader: Any, task_config: Any, **columns: str) -> None:
        self.dataloader, self.task_config = dataloader, task_config
        self.task, self.lang = task_config.task_name, task_config.lang
        vars(self).update(columns)

    @property
    def inference_df(self) -> Any:
        """The table of responses, a frame of pandas."""
        return self.dataloader.dataframe

    @inference_df.setter
    def inference_df(self, frame: Any) -> None:
        self.dataloader.dataframe = frame

    def drop_error_responses(self) -> None:
        """Drop the rows with a response that is None."""
        texts = self.inference_df[self.response_column]
        is_whole = texts.map(lambda row: None not in row)
        self.inference_df = self.inference_df[is_whole].copy()

    def replace_error_responses(self, replacement: str = "") -> None:
        """Replace responses that are None."""
        texts = self.inference_df[self.response_column]
        self.inference_df[self.response_column] = texts.map(
            lambda row: [replacement if text is None else text for text in row]
        )

    def normalize_score(self, score: float, low: float, high: float) -> float:
        """Rescale a score so that `low`, or a worse one, is 0."""
        return 0.0 if low == high else max((score - low) / (high - low), 0)

    def extract_response(self, response: Sequence[Any], flags: int = 0) -> Any:
        """Return what `regex_string` finds in the first response, or the response."""
        text, pattern = response[0], getattr(self, "regex_string", None)
        if not isinstance(text, str):
            return None
        match = re.search(pattern, text, flags) if pattern is not None else None
        return (text if match is None or match[1] is None else match[1]).strip()

    def postprocess_responses(self) -> None:
        """Extract the answers of all responses."""
        answers = self.inference_df[self.response_column].map(self.extract_response)
        self.inference_df[self.postprocessed_response_column] = answers

    def evaluate_responses(self, drop_error_response: bool = False) -> dict[str, Any]:
        """Return the scores of all responses, by `calculate_metrics` of the class."""
        if drop_error_response:
            self.drop_error_responses()
        else:
            self.replace_error_responses()
        self.postprocess_responses()
        scores = getattr(self, "calculate_metrics")()  # noqa: B009
        return {self.task: scores[0] if isinstance(scores, tuple) else scores}


class _Dataloader(SimpleNamespace):
    """What a metric class uses of a dataloader."""

    def update_individual_scores(self, scores: Any) -> None:
        self.dataframe["individual_scores"] = list(scores)


_STAND_INS: Mapping[str, Mapping[str, Any]] = {
    "base_logger": {"get_logger": logging.getLogger},
    "task_config": {"TaskConfig": SimpleNamespace},
    "metrics.seahelm_metric": {"SeaHelmMetric": SeaHelmMetric},
    "dataloaders.base_dataloader": {"AbstractDataloader": _Dataloader},
}
"""What stands in for members of SEA-HELM's modules, below `src`."""


def metric_file(task: SeahelmTask) -> Path:
    """Return the file of the metric class, which is not imported."""
    place, name = task.config.get("metric_file"), task.config["metric_class"]
    file = task.root / str(place)
    if place is None or not file.is_file():
        problem = f"{name!r} has no counterpart, and there is no file {place}"
        task.refuse(problem, "metric_class")
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    if name not in [each.name for each in tree.body if isinstance(each, ast.ClassDef)]:
        task.refuse(f"{place} holds no class {name!r}", "metric_class")
    return file


def scores_by_class(
    task: SeahelmTask, lang: str, rows: Sequence[Mapping[str, Any]]
) -> dict[str, float | None]:
    """Return the scores that the task's metric class gives to rows with `responses`."""
    from omegaconf import OmegaConf

    file, name = metric_file(task), str(task.config["metric_class"])
    module = ".".join(file.relative_to(task.root).with_suffix("").parts)
    config = OmegaConf.create(dict(task.config))
    given = SimpleNamespace(config=config, task_name=task.name, lang=lang)
    frame = importlib.import_module("pandas").DataFrame(list(rows))
    try:
        with _stand_ins(task.root):
            metric_class = getattr(importlib.import_module(module), name)
        metric = metric_class(_Dataloader(dataframe=frame), given)
        with redirect_stdout(sys.stderr):
            scores = metric.evaluate_responses()[task.name]
    except Exception as error:
        problem = f"{name!r} cannot be run: {type(error).__name__}: {error}"
        raise DataError(f"{file}: {problem}") from error
    return dict(_numbers(scores, ""))


def _numbers(value: Any, name: str) -> Iterator[tuple[str, float | None]]:
    """Flatten scores within scores: `subcategories.length`."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _numbers(each, f"{name}.{key}" if name else str(key))
    elif value is None or hasattr(value, "__float__"):
        yield name, None if value is None else float(value)


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
