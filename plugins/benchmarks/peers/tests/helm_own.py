"""Prints what HELM itself does with runs; a script, as HELM is not installed here.

`python helm_own.py FOLDER_OF_HELM < RUNS`: each run is a line with a run spec and its
instances. A line of the answer has the prompts, the ids of a sample, and the perturbed
texts.
"""

# mypy: ignore-errors
# ruff: noqa: E402

from __future__ import annotations

import json
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock


class Missing(MetaPathFinder, Loader):
    """Stands in for packages that HELM imports and does not need here."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return None if name.startswith("helm") else ModuleSpec(name, self)

    def create_module(self, spec: ModuleSpec) -> Any:
        module: Any = MagicMock(name=spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: Any) -> None:
        pass


sys.path.insert(0, str(Path(sys.argv[1]).parent))
sys.meta_path.append(Missing())
for name in (
    "annotation_executor",
    "executor",
    "metrics.metric",
    "metrics.metric_service",
):
    sys.modules[f"helm.benchmark.{name}"] = MagicMock()

import helm.benchmark.adaptation.adapters.adapter as base
from helm.benchmark.adaptation import adapter_spec as specs
from helm.benchmark.adaptation.adapters import adapter_factory
from helm.benchmark.augmentations.data_augmenter import DataAugmenterSpec
from helm.benchmark.augmentations.perturbation import PerturbationSpec
from helm.benchmark.data_preprocessor import DataPreprocessor
from helm.benchmark.runner import downsample_eval_instances
from helm.benchmark.scenarios import scenario
from helm.common import general

general.tqdm = lambda items, **_: items


def instance_of(values: dict[str, Any]) -> Any:
    references = [
        scenario.Reference(scenario.Output(text=each["output"]["text"]), each["tags"])
        for each in values["references"]
    ]
    others = {key: values.get(key) for key in ("split", "id", "extra_data")}
    return scenario.Instance(
        scenario.Input(text=values["input"]["text"]), references, **others
    )


def adapter_of(spec: Any) -> Any:
    window = SimpleNamespace(
        fits_within_context_window=lambda **_: True,
        truncate_from_right=lambda text, _: text,
    )

    def init(self: Any, adapter_spec: Any, tokenizer_service: Any) -> None:
        self.adapter_spec, self.window_service = adapter_spec, window

    base.Adapter.__init__ = init
    return adapter_factory.AdapterFactory.get_adapter(spec, None)


for line in sys.stdin:
    run = json.loads(line)
    given = dict(run["spec"]["adapter_spec"])
    given["substitutions"] = [
        specs.Substitution(**each) for each in given.get("substitutions", [])
    ]
    spec = specs.AdapterSpec(**given)
    instances = [instance_of(each) for each in run["instances"]]
    if any(each.id is None for each in instances):
        instances = scenario.with_instance_ids(instances)
    if spec.max_eval_instances is not None:
        splits = spec.eval_splits or scenario.EVAL_SPLITS
        most = spec.max_eval_instances
        instances = downsample_eval_instances(instances, most, splits)
    evaluated = [each for each in instances if each.split in scenario.EVAL_SPLITS]
    augmenting = dict(run["spec"].get("data_augmenter_spec", {}))
    augmenting["perturbation_specs"] = [
        PerturbationSpec(**each) for each in augmenting.get("perturbation_specs", [])
    ]
    augmented = DataPreprocessor(DataAugmenterSpec(**augmenting)).preprocess(instances)
    states = adapter_of(spec).adapt(instances, parallelism=1)
    print(
        json.dumps(
            {
                "prompts": [each.request.prompt for each in states],
                "ids": [each.id for each in evaluated],
                "texts": [
                    [each.id, each.perturbation.seed, each.input.text]
                    for each in augmented
                    if each.perturbation is not None
                ],
            }
        )
    )
