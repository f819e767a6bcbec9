"""Runs metric classes that are written for SEA-HELM.

Their modules are imported from their own repository, with its base class of metrics,
but for the modules of dataloaders and tasks, which are stand-ins.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from evalkit import DataError
from evalkit_benchmarks_peers.seahelm_config import SeahelmTask

_BASE = "src.metrics.seahelm_metric"


class _Dataloader(SimpleNamespace):
    """What a metric class uses of a dataloader."""

    def update_individual_scores(self, scores: Any) -> None:
        self.dataframe["individual_scores"] = list(scores)


_STAND_INS: Mapping[str, Mapping[str, Any]] = {
    "src.task_config": {"TaskConfig": SimpleNamespace},
    "src.dataloaders.base_dataloader": {"AbstractDataloader": _Dataloader},
}


def metric_file(task: SeahelmTask) -> Path:
    """Return the file of the metric class, which is not imported."""
    place, name = task.config.get("metric_file"), task.config["metric_class"]
    file, base = task.root / str(place), f"{_BASE.replace('.', '/')}.py"
    for needed in (file, task.root / base):
        if place is None or not needed.is_file():
            problem = f"{name!r} has no counterpart, and there is no file {needed}"
            task.refuse(problem, "metric_class")
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
            base = importlib.import_module(_BASE).SeaHelmMetric
            metric_class = getattr(importlib.import_module(module), name)
        base.inference_df = property(  # the guide's name
            lambda metric: metric.dataloader.dataframe,
            lambda metric, frame: setattr(metric.dataloader, "dataframe", frame),
        )
        with redirect_stdout(sys.stderr):
            metric = metric_class(_Dataloader(dataframe=frame), given)
            scores = metric.evaluate_responses()[task.name]
    except Exception as error:
        problem = f"{name!r} cannot be run: {type(error).__name__}: {error}"
        raise DataError(f"{file}: {problem}") from error
    return dict(_numbers(scores[0] if isinstance(scores, tuple) else scores, ""))


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
            sys.modules[name] = ModuleType(name)
            vars(sys.modules[name]).update(members)
        yield
    finally:
        sys.path.remove(str(root))
        for name in [*sys.modules]:
            if name.partition(".")[0] in ("src", "seahelm_tasks"):
                del sys.modules[name]
                sys.modules.update({name: before[name]} if name in before else {})
