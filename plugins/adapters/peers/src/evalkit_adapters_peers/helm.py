"""Files of HELM: `scenario_state.json` and `per_instance_stats.json`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from evalkit.errors import AdapterError
from evalkit_adapters_peers.documents import read_document
from evalkit_adapters_peers.values import answers, list_at, object_of, text_of, value_at
from evalkit_adapters_rows import AdapterSettings
from evalkit_adapters_rows.row_values import object_row

_TRIALS = "_trials_"
"""How many trials a run has, which its requests do not say."""

_OF_ALL = ("name", "robustness", "fairness", "computed_on")
"""What every description of a perturbation has; the rest are its parameters."""

_AS_THEY_ARE = ("contrast_inputs", "contrast_references", "extra_data")
"""What an example keeps of an instance that has it."""

Copies = Literal["without", "only", "all"]


class _OfStates:
    class Parameters(AdapterSettings):
        """Whether perturbed copies are read."""

        copies: Copies = Field(
            default="without",
            description="Whether perturbed copies are read: `without`, `only` or `all`",
        )

        def takes(self, instance: Mapping[str, Any]) -> bool:
            """Tell whether an instance is read."""
            is_copy = instance.get("perturbation") is not None
            return self.copies == "all" or is_copy == (self.copies == "only")

    def __init__(self, parameters: Parameters) -> None:
        self.settings = parameters

    def read_file(self, path: Path) -> Iterator[dict[str, Any]]:
        """Read the requests of a run."""
        return _request_states(path)


class HelmState(_OfStates):
    """Read what a model answered from a `scenario_state.json` of HELM.

    Completions are ranked by their log-probability, as HELM does; letters of choices
    become the texts that they stand for, and any other text stays as it is. A perturbed
    copy has the id `<instance>_<perturbation>`. Several trials are replications.
    `annotations` are those of HELM's annotators, with an item for each completion in
    HELM's order.

    Example:
        ```yaml
        - kind: helm-state
          configuration: {field: label}
        ```
    """

    version = "2"

    class Parameters(_OfStates.Parameters):
        """Where the answer goes, and whether copies are read."""

        field: str = Field(default="answer", description="The task's field")

    settings: Parameters

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the response to a request."""
        row = object_row(row)
        instance = object_row(value_at(row, "instance"))
        if not self.settings.takes(instance):
            return
        if row.get("reference_index") is not None:
            raise AdapterError(
                "the request is for one of several references, of which no answer can "
                "be read; run HELM with multiple_choice_joint",
                field="reference_index",
            )
        found: dict[str, Any] = {"id": _id_of(instance)}
        if row.get(_TRIALS, 1) != 1:
            found["_replication_"] = value_at(row, "train_trial_index")
        yield {**found, **self._answers(row), **_kept(row, ("annotations",))}

    def _answers(self, row: Mapping[str, Any]) -> dict[str, Any]:
        result = object_row(value_at(row, "result"))
        if not result.get("success", True):
            return {"error": str(result.get("error") or "the request failed")}
        given = map(object_row, list_at(result, "completions"))
        ranked = sorted(given, key=lambda each: -float(each.get("logprob") or 0))
        texts = [text_of(each.get("text"), "text").strip() for each in ranked]
        mapping = object_of(row.get("output_mapping") or {}, "output_mapping")
        texts = [mapping.get(text, text) for text in texts]
        return answers(texts, self.settings.field)


class HelmInstances(_OfStates):
    """Read examples from a `scenario_state.json` of HELM: its instances.

    An example has `uid`, `input`, `target` (the right references: a text or several),
    `choices` (all references), `reference_tags` (a list for each choice), `split` and
    `sub_split`, and as HELM has them `contrast_inputs`, `contrast_references` and
    `extra_data`; a perturbed copy also `input_id`, `perturbation`, `families` and
    `label_effect`, which is `uncertain`, as HELM says nothing of it. Instances of later
    trials are the same, and are left out.

    Example:
        ```yaml
        - kind: helm-instances
        - kind: Rename
          configuration: {input: question, target: answer}
        ```
    """

    version = "2"

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the instance of a request, unless it came before."""
        row = object_row(row)
        instance = object_row(value_at(row, "instance"))
        is_first = not row.get("train_trial_index") and not row.get("reference_index")
        if not is_first or not self.settings.takes(instance):
            return
        given = object_row(value_at(instance, "input"))
        references = [object_row(each) for each in list_at(instance, "references")]
        texts = [value_at(each, "output.text") for each in references]
        tags = [each.get("tags") or [] for each in references]
        right = [text for text, of in zip(texts, tags, strict=True) if "correct" in of]
        yield {
            "uid": _id_of(instance),
            "input": given.get("messages") or value_at(given, "text"),
            "target": right[0] if len(right) == 1 else right,
            "choices": texts,
            "reference_tags": tags,
            "split": instance.get("split"),
            "sub_split": instance.get("sub_split"),
            **_kept(instance, _AS_THEY_ARE),
            **_copy_fields(instance),
        }


class HelmStats:
    """Read HELM's own scores of instances from `per_instance_stats.json`.

    A row has `id`, `train_trial_index`, and a field for each statistic with its mean;
    that of a perturbed copy the id `<instance>_<perturbation>`. HELM's file has several
    entries for one instance, which become one row.

    Example:
        ```yaml
        - kind: helm-stats
          configuration: {names: [exact_match]}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """Which statistics are read."""

        names: list[str] | None = Field(
            default=None, description="Names of statistics; all by default"
        )

    def __init__(self, parameters: Parameters) -> None:
        self.names = parameters.names

    def read_file(self, path: Path) -> Iterator[dict[str, Any]]:
        """Read the statistics of each instance, put together."""
        entries = read_document(path)
        if not isinstance(entries, list):
            raise AdapterError("is no per_instance_stats.json of HELM, which is a list")
        found: dict[tuple[str, Any], dict[str, Any]] = {}
        for entry in map(object_row, entries):
            instance = {**entry, "id": value_at(entry, "instance_id")}
            trial = value_at(entry, "train_trial_index")
            key = _id_of(instance), trial
            row = found.setdefault(key, {"id": key[0], "train_trial_index": trial})
            for stat in map(object_row, list_at(entry, "stats")):
                name = text_of(value_at(stat, "name.name"), "name")
                mean = stat.get("mean")  # none of a statistic of nothing
                if row.setdefault(name, mean) != mean:
                    raise AdapterError(f"has two values of {name} for {key[0]!r}")
        yield from found.values()

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the row with the statistics that are wanted."""
        row = object_row(row)
        if self.names is not None:
            kept = ("id", "train_trial_index", *self.names)
            row = {name: value_at(row, name) for name in kept}
        yield row


def _request_states(path: Path) -> Iterator[dict[str, Any]]:
    """Return the requests of a run, each with the number of trials."""
    state = read_document(path)
    if not isinstance(state, dict) or not isinstance(state.get("request_states"), list):
        raise AdapterError("is no scenario_state.json of HELM: has no request_states")
    states = list(map(object_row, state["request_states"]))
    trials = len({each.get("train_trial_index") for each in states})
    return ({**each, _TRIALS: trials} for each in states)


def _kept(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: row[name] for name in names if row.get(name) is not None}


def _id_of(instance: Mapping[str, Any]) -> str:
    name = perturbation_name(instance)
    return text_of(value_at(instance, "id"), "id") + (f"_{name}" if name else "")


def perturbation_name(instance: Mapping[str, Any]) -> str | None:
    """Return the name of the perturbation of an instance, with its parameters."""
    if instance.get("perturbation") is None:
        return None
    described = object_row(instance["perturbation"])
    name = text_of(value_at(described, "name"), "perturbation.name")
    settings = sorted({*described} - {*_OF_ALL})
    own = ",".join(f"{key}={described[key]}" for key in settings)
    return f"{name}:{own}" if own else name


def _copy_fields(instance: Mapping[str, Any]) -> dict[str, Any]:
    name = perturbation_name(instance)
    if name is None:
        return {}
    described = instance["perturbation"]
    return {
        "input_id": value_at(instance, "id"),
        "perturbation": name,
        "families": [
            kind for kind in ("fairness", "robustness") if described.get(kind)
        ],
        "label_effect": "uncertain",
    }
