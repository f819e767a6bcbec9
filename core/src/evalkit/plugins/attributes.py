"""Reads and checks the attributes of plugins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    TypeAdapter,
    ValidationError,
    create_model,
)

from evalkit.base.failures import hook_failures, located
from evalkit.base.names import is_component_name
from evalkit.base.violations import describe, from_pydantic, shorten
from evalkit.hookspecs import MetricAttributes
from evalkit.plugins.contract import is_one_edit_away
from evalkit.plugins.kinds import kind_named

_MISSING = object()


def read_attributes(kind: str, plugin: object) -> tuple[dict[str, Any], list[str]]:
    """Read a plugin's attributes and check them against the model of its kind.

    Args:
        kind: The kind that the plugin was declared as.
        plugin: The object.

    Returns:
        Values by name, as its kind types them and with the base class's defaults
        for those it lacks, and one sentence for each attribute that is missing or of
        the wrong type.
    """
    contract = kind_named(kind)
    model = attributes_model(contract.attributes)
    found = {
        name: getattr(plugin, name, getattr(contract.base, name, _MISSING))
        for name in model.model_fields
    }
    given = {name: value for name, value in found.items() if value is not _MISSING}
    problems = {
        name: f"the attribute {name!r} is missing" for name in found.keys() - given
    }
    try:
        validated = model.model_validate(given)
    except ValidationError as error:
        problems |= _problems(model, given, error)
        given = {name: given[name] for name in given.keys() - problems}
        validated = model.model_validate(given)
    values = vars(validated)
    return (
        {name: values[name] for name in found if name in given},
        [problems[name] for name in found if name in problems],
    )


@cache
def attributes_model(attributes: type) -> type[BaseModel]:
    """Return the pydantic model of what a class annotates."""
    from evalkit.base.terms import Source

    names = {"BaseModel": BaseModel, "Source": Source}
    hints = get_type_hints(attributes, localns=names, include_extras=True)
    fields: dict[str, Any] = {
        name: (get_args(hint)[0] if get_origin(hint) is ClassVar else hint, None)
        for name, hint in hints.items()
    }
    config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())
    return create_model(attributes.__name__, __config__=config, **fields)


def _problems(
    model: type[BaseModel], given: Mapping[str, Any], error: ValidationError
) -> dict[str, str]:
    """Return a sentence for each attribute that does not have its type."""
    rules: dict[str, set[str]] = {}
    for violation in from_pydantic(error):
        name = re.split(r"[.\[]", violation.field, maxsplit=1)[0]
        rules.setdefault(name, set()).add(violation.rule)
    problems = {}
    for name, broken in rules.items():
        clear = {rule for rule in broken if "not one text" in rule} or broken
        shown = " or ".join(sorted(clear))
        if shown in ("must be a valid tuple", "must be a valid dictionary"):
            annotation = str(model.model_fields[name].annotation)
            shown += ", " + re.sub(r"(\w+\.)+", "", annotation)
        problems[name] = f"the attribute {name!r} {shown}, found {shorten(given[name])}"
    return problems


def task_problems(
    attributes: Mapping[str, Any], implemented: Sequence[str]
) -> list[str]:
    """Find attributes of a task that do not fit each other."""
    output, answer_field = attributes["Output"], attributes["answer_field"]
    is_open = output.model_config.get("extra") == "allow"
    problems = [
        f"its scored field {name!r} is called like a column of evalkit's own"
        for name in attributes["scored_fields"]
        if name in RESERVED_FIELDS
    ]
    problems += _choices_problems(attributes)
    if "id" not in output.model_fields:
        problems.append("its Output has no field 'id', which names the example")
    if not (answer_field is None or is_open or answer_field in output.model_fields):
        problems.append(f"its Output has no field {answer_field!r} (answer_field)")
    problems += _field_problems(attributes)
    try:
        attributes["Input"].model_validate(dict(attributes["example"]))
    except ValidationError as error:
        problems.append(
            f"its example is not a valid Input: {describe(from_pydantic(error))}"
        )
    except hook_failures() as error:
        problems.append(f"its Input failed for its example with {located(error)}")
    return problems


def _choices_problems(attributes: Mapping[str, Any]) -> list[str]:
    name, fields = attributes["choices_field"], attributes["Input"].model_fields
    if name is not None and name not in fields:
        return [f"its Input has no field {name!r} (choices_field)"]
    if name is not None and get_origin(fields[name].annotation) not in (list, tuple):
        return [f"the field {name!r} of its Input (choices_field) is no list"]
    if name is None and attributes["only_choices"]:
        return ["it has only_choices, and no choices_field"]
    return []


RESERVED_FIELDS = (
    *("id", "input_id", "perturbation", "replication", "answer", "pred"),
    *("tags", "cluster", "status", "position", "prediction", "target"),
    *("label_effect", "families"),
)
"""Columns of evalkit's own, which no scored field may be called."""

_RESERVED_COLUMNS = ("row", "position", "prediction", "target", "group")


def _field_problems(attributes: Mapping[str, Any]) -> Iterator[str]:
    """Find names of fields that neither `Input` nor `Output` has."""
    places = {
        "input_keys": ("Input", ()),
        "perturb_fields": ("Input", ()),
        "verify_fields": ("Input", ("uid", "tags", attributes["answer_field"])),
        "scored_fields": ("Output", ("responses",)),
    }
    for attribute, (model_name, others) in places.items():
        model = attributes[model_name]
        if model.model_config.get("extra") == "allow":
            continue
        is_sent = attribute == "input_keys"  # under the names that the task gives
        names = list(model.model_fields) if is_sent else _field_names(model)
        for path in attributes[attribute] or ():
            # only what is perturbed may lie within a field, as messages[].content does
            is_nested = attribute == "perturb_fields" and path not in names
            field = re.split(r"[.\[]", path, maxsplit=1)[0] if is_nested else path
            near = [name for name in names if is_one_edit_away(field, name)]
            if field in (*names, *others) or (
                attribute == "verify_fields" and not near  # another column of the data
            ):
                continue
            hint = f"did you mean {near[0]!r}?" if near else "declare it there"
            yield (
                f"its {attribute} hold {path!r}, but its {model_name} has no field "
                f"{field!r} (it has {', '.join(names)}); {hint}"
            )


def _field_names(model: type[BaseModel]) -> list[str]:
    """Return the names of a model's fields, with those that stand for them in data."""
    names = list(model.model_fields)
    for field in model.model_fields.values():
        aliases = (field.alias, field.validation_alias)
        names += [name for name in aliases if isinstance(name, str)]
    return list(dict.fromkeys(names))


def _split_problems(attributes: Mapping[str, Any]) -> list[str]:
    default, splits = attributes["default_split"], attributes["splits"]
    if default in splits:
        return []
    choices = ", ".join(map(repr, splits)) or "none"
    return [
        f"its default_split {default!r} is none of its splits ({choices}); set "
        "default_split to one of them"
    ]


def dataset_problems(
    attributes: Mapping[str, Any], implemented: Sequence[str]
) -> list[str]:
    """Find attributes of a data set that do not fit."""
    problems = [
        f"its scored field {name!r} is called like a column of evalkit's own"
        for name in attributes["scored_fields"]
        if name in RESERVED_FIELDS
    ]
    task = attributes["task"]
    problems += _cluster_problems(attributes["cluster"])
    if not isinstance(task, str) and not hasattr(task, "Input"):
        problems.append(
            "the attribute 'task' must be the name of a task, or a class or instance "
            f"of one, found {shorten(task)}"
        )
    problems += _aggregate_problems(attributes)
    return [*problems, *_split_problems(attributes)]


def _cluster_problems(cluster: str | Sequence[str] | None) -> list[str]:
    columns = [cluster] if isinstance(cluster, str) else list(cluster or ())
    twice = [name for name in dict.fromkeys(columns) if columns.count(name) > 1]
    return [f"its cluster names the column {name!r} twice" for name in twice]


def _aggregate_problems(attributes: Mapping[str, Any]) -> list[str]:
    aggregate = attributes["aggregate"]
    if aggregate is None:
        return []
    kind, _, facet = aggregate.partition(":")
    if kind == "macro" and is_component_name(facet):
        return []
    return [f"its aggregate must be 'macro:FACET', is {aggregate!r}"]


def metric_problems(
    attributes: Mapping[str, Any], implemented: Sequence[str]
) -> list[str]:
    """Find attributes of a metric that do not fit each other."""
    problems = [
        f"{kind} holds {name!r}, which is a column of evalkit's own"
        for kind in ("columns", "keys")
        for name in attributes[kind]
        if name in _RESERVED_COLUMNS
    ]
    low, high = attributes["bounds"] or (None, None)
    if low is not None and high is not None and not low < high:
        problems.append(
            f"its bounds {low} to {high} are not in order; give the lower one first"
        )
    interval = attributes["interval"]
    scores_examples = {"score_example", "score_batch"} & {*implemented}
    has_mean = scores_examples or (
        "finalize" in implemented and attributes["per_example"] is not None
    )
    is_weighted = "finalize" in implemented and (low, high) == (0, 1)
    if (interval == "t" or (interval == "wilson" and not is_weighted)) and not has_mean:
        problems.append(
            f"interval {interval!r} is for the mean of per-example scores, which it "
            "does not have"
        )
    of_sums = ("bootstrap", "multinomial", "ratio", "correlation", "auroc")
    if interval in of_sums and scores_examples:
        hook = min(scores_examples)
        problems.append(f"interval {interval!r} is not for {hook}; use 't'")
    if interval == "multinomial" and len(attributes["keys"]) != 2:
        problems.append("interval 'multinomial' needs two keys: gold and predicted")
    if "finalize_counts" in implemented and "statistics" not in implemented:
        problems.append("finalize_counts is for a metric with statistics and finalize")
    if interval in ("delta", "ratio", "correlation", "auroc") and (
        "compute" in implemented
    ):
        problems.append(f"interval {interval!r} is not for a function of lists")
    return [*problems, *_scores_problems(attributes, implemented)]


_OF_SCORES = (
    *("unit", "bounds", "higher_is_better", "scale"),
    *("interval", "worst_value"),
)
"""Attributes in which the scores of a metric may differ from it."""


def _scores_problems(
    attributes: Mapping[str, Any], implemented: Sequence[str]
) -> list[str]:
    """Find what is wrong with how a metric says how it is called, and what it gives."""
    problems = []
    if "example_statistics" in implemented and attributes["keys"]:
        problems.append("keys are for statistics, not for example_statistics")
    model = attributes_model(MetricAttributes)
    for name, changes in attributes["scores"].items():
        for attribute, value in changes.items():
            where = f"its score {name!r} has {attribute!r}"
            if attribute not in _OF_SCORES:
                problems.append(f"{where}, which is none of {', '.join(_OF_SCORES)}")
                continue
            annotation: Any = model.model_fields[attribute].annotation
            try:
                TypeAdapter(annotation).validate_python(value)
            except ValidationError as error:
                rules = sorted({found.rule for found in from_pydantic(error)})
                problems.append(f"{where}, which {' or '.join(rules)}")
    return problems
