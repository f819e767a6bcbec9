"""What a `run_spec.json` of HELM says."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(strict=True, ge=0)]


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class ObjectSpec(_Spec):
    """A class of HELM's, and its arguments."""

    class_name: str
    args: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The class without its module."""
        return self.class_name.rpartition(".")[2]


class Substitution(_Spec):
    """A regular expression and what replaces it."""

    source: str
    target: str


class AdapterSpec(_Spec):
    """How instances become requests, with HELM's defaults."""

    method: str = ""
    global_prefix: str = ""
    global_suffix: str = ""
    instructions: str = ""
    input_prefix: str = "Input: "
    input_suffix: str = "\n"
    reference_prefix: str = "A. "
    reference_prefix_characters: list[str] | None = None
    reference_suffix: str = "\n"
    chain_of_thought_prefix: str = ""
    chain_of_thought_suffix: str = "\n"
    output_prefix: str = "Output: "
    output_suffix: str = "\n"
    instance_prefix: str = "\n"
    substitutions: list[Substitution] = []
    max_train_instances: Count = 5
    max_eval_instances: Count | None = None
    num_outputs: Count = 5
    num_train_trials: Count = 1
    num_trials: Count = 1
    sample_train: bool = True
    model_deployment: str = ""
    model: str = ""
    temperature: float = 1
    max_tokens: Count = 100
    stop_sequences: list[str] = []
    random: str | None = None
    multi_label: bool = False
    image_generation_parameters: dict[str, Any] | None = None
    reeval_parameters: dict[str, Any] | None = None
    eval_splits: list[str] | None = None
    output_mapping_pattern: str | None = None


class DataAugmenterSpec(_Spec):
    """Which perturbed copies there are."""

    perturbation_specs: list[ObjectSpec] = []
    should_augment_train_instances: bool = False
    should_include_original_train: bool = False
    should_skip_unchanged_train: bool = False
    should_augment_eval_instances: bool = False
    should_include_original_eval: bool = False
    should_skip_unchanged_eval: bool = False
    seeds_per_instance: Annotated[int, Field(strict=True, ge=1)] = 1


class RunSpec(_Spec):
    """A run."""

    name: str
    scenario_spec: ObjectSpec
    adapter_spec: AdapterSpec
    metric_specs: list[ObjectSpec]
    data_augmenter_spec: DataAugmenterSpec = DataAugmenterSpec()
    groups: list[str] = []
    annotators: list[ObjectSpec] | None = None
