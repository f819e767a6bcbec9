"""Checks that an object keeps the contract of its kind: hooks and attributes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from evalkit.base.failures import hook_failures, located
from evalkit.base.names import is_component_name
from evalkit.base.violations import describe, from_pydantic, shorten
from evalkit.hookspecs import MetricAttributes
from evalkit.plugins.kinds import Kind, is_method, kind_named


def hook_problems(kind: Kind, plugin: object) -> Iterator[str]:
    """Yield a sentence for each thing that is wrong with a plugin's hooks."""
    implemented = kind.implemented(plugin)
    this = with_article(type(plugin).__name__)
    misspelt = [*_misspelt(kind, plugin)]
    yield from misspelt
    for name in sorted({*kind.hooks} - {*kind.declarable}):
        value = inspect.getattr_static(plugin, name, None)
        if value is not None and not inspect.isroutine(value):
            yield (
                f"its attribute {name!r} has the name of a hook of "
                f"{with_article(kind.word)}, and is no method; an attribute of "
                f"your own is called _{name}"
            )
    for name in implemented:
        yield from _method_problems(kind, plugin, name)
    if kind.name == "observers" and not implemented and not misspelt:
        hooks = ", ".join(kind.hooks)
        yield f"an observer must implement one of {hooks}; this is {this}"
    ways = [way for way in kind.ways if way[0] in implemented]
    if kind.ways and not ways:
        wanted = " or ".join(" and ".join(way) for way in kind.ways)
        yield f"{with_article(kind.word)} must implement {wanted}; this is {this}"
    for way in ways:
        for name in way:
            if name not in implemented:
                yield f"it implements {way[0]} but not {name}, which belongs to it"
    if len(ways) > 1 and kind.has_one_way:
        several = ", ".join(way[0] for way in ways)
        yield (
            f"it implements {several}: {with_article(kind.word)} is written in one "
            "way only, and a method of your own begins with an underscore"
        )


def _method_problems(kind: Kind, plugin: object, name: str) -> Iterator[str]:
    function = getattr(plugin, name)
    problems = [*_argument_problems(kind.spec, name, plugin)]
    yield from problems
    if problems and name not in {each for way in kind.ways for each in way}:
        yield f"a method of your own is called _{name}"
    is_awaited = name in kind.awaited
    if (inspect.iscoroutinefunction(function) and not is_awaited) or (
        kind.name == "observers" and inspect.isgeneratorfunction(function)
    ):
        yield f"{name}: nobody awaits or iterates it; write a plain function"
    options = getattr(function, "evalkit_impl", None) or {}
    if options.get("wrapper") or options.get("hookwrapper"):
        yield f"{name}: wrappers are not supported"


def with_article(word: str) -> str:
    """Return a word with `a` or `an` before it."""
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


def _argument_problems(spec: type, name: str, plugin: object) -> Iterator[str]:
    _, *offered = inspect.signature(getattr(spec, name)).parameters
    function: Callable[..., object] = getattr(plugin, name)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        yield f"the signature of {name} cannot be read: {error}"
        return
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY:
            yield (
                f"{name}: the argument {parameter.name!r} is keyword-only; hooks are "
                "called by position, so it would never get a value"
            )
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            yield (
                f"{name}: '*{parameter.name}' gets nothing; name the arguments that "
                f"are needed, out of: {', '.join(offered)}"
            )
        elif parameter.name not in offered:
            yield (
                f"{name}: there is no argument {parameter.name!r}; the hook offers: "
                f"{', '.join(offered) or 'none'}"
            )
    written = vars(type(plugin)).get(name)
    if inspect.isfunction(written) and written.__code__.co_argcount:
        first = written.__code__.co_varnames[0]
        if first in offered:
            yield (
                f"{name}: its first argument {first!r} would be the object itself; "
                "write self before it"
            )


def _misspelt(kind: Kind, plugin: object) -> Iterator[str]:
    hooks, base = kind.hooks, kind.base
    known = [*inspect.get_annotations(kind.attributes), "Parameters"]
    legal = {*hooks, *known, "parameters", *dir(base)}
    for name in dir(plugin):
        if name.startswith("_") or name in legal:
            continue
        is_hook = is_method(plugin, name)
        for meant in hooks if is_hook else known:
            if not is_one_edit_away(name, meant):
                continue
            if is_hook:
                yield f"its method {name!r} is no hook; did you mean {meant!r}?"
            elif inspect.getattr_static(plugin, meant, None) is (
                inspect.getattr_static(base, meant, None)
            ):
                yield (
                    f"its attribute {name!r} is read by nothing; did you mean "
                    f"{meant!r}? Names of your own begin with an underscore"
                )


def is_one_edit_away(word: str, other: str) -> bool:
    """Tell whether one insertion, deletion, change or swap makes two words equal.

    Capitals and underscores do not count.
    """
    first, second = (text.lower().replace("_", "") for text in (word, other))
    if len(first) != len(second):
        short, long = sorted((first, second), key=len)
        return any(short == long[:i] + long[i + 1 :] for i in range(len(long)))
    pairs = zip(first, second, strict=True)
    places = [i for i, (one, two) in enumerate(pairs) if one != two]
    if len(places) != 2:
        return len(places) < 2
    i, j = places
    return j == i + 1 and first[i] + first[j] == second[j] + second[i]


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
    problems = _reserved_names(attributes)
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


def _reserved_names(attributes: Mapping[str, Any]) -> list[str]:
    return [
        f"its scored field {name!r} is called like a column of evalkit's own"
        for name in attributes["scored_fields"]
        if name in RESERVED_FIELDS
    ]


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


def dataset_problems(
    attributes: Mapping[str, Any], implemented: Sequence[str]
) -> list[str]:
    """Find attributes of a data set that do not fit."""
    problems = _reserved_names(attributes)
    cluster, task = attributes["cluster"], attributes["task"]
    columns = [cluster] if isinstance(cluster, str) else list(cluster or ())
    for name in dict.fromkeys(columns):
        if columns.count(name) > 1:
            problems.append(f"its cluster names the column {name!r} twice")
    if not isinstance(task, str) and not hasattr(task, "Input"):
        problems.append(
            "the attribute 'task' must be the name of a task, or a class or instance "
            f"of one, found {shorten(task)}"
        )
    aggregate = attributes["aggregate"]
    kind, _, facet = (aggregate or "").partition(":")
    is_macro = kind == "macro" and is_component_name(facet)
    if aggregate is not None and not is_macro:
        problems.append(f"its aggregate must be 'macro:FACET', is {aggregate!r}")
    default, splits = attributes["default_split"], attributes["splits"]
    if default not in splits:
        choices = ", ".join(map(repr, splits)) or "none"
        problems.append(
            f"its default_split {default!r} is none of its splits ({choices}); set "
            "default_split to one of them"
        )
    return problems


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
