"""Checks that a task takes what it should, and refuses what it should not."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from typing import Any

import polars as pl

from evalkit import (
    AlignmentError,
    EvalkitError,
    PluginError,
    Registry,
    Violation,
    evaluate,
    validate,
)
from evalkit.catalog import BoundTask, Resolver
from evalkit_adapters_rows import extraction
from evalkit_testing.laws import (
    Law,
    LawBroken,
    LawError,
    MissingOption,
    check_laws,
    chosen_laws,
    told_alone,
)
from evalkit_testing.model_rows import (
    damaged_rows,
    drawn_examples,
    drawn_responses,
    names_field,
)
from evalkit_testing.prompts import check_prompts

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Trial:
    """A task, and valid responses to its example."""

    task: BoundTask
    given: Any
    registry: Registry
    example: Row
    responses: Sequence[Row]

    @property
    def answer_field(self) -> str:
        """The field with the answer, of a task that has one."""
        return str(self.task.answer_field)

    def answer_of(self, response: Row) -> Any:
        """Return the right answer that a response gives, out of its text."""
        answer = response.get(self.answer_field)
        if self.task.extract is None or not isinstance(answer, str):
            return answer
        choices = self.task.choices_field and self.example.get(self.task.choices_field)
        try:
            found = extraction(self.task.extract, self.registry).extract(
                pl.Series([answer]),
                pl.Series([list(choices)]) if choices else None,
                self.task.labels,
            )
        except EvalkitError as error:
            raise LawBroken(f"what its `extract` says fails: {error}") from error
        return answer if found.values[0] is None else found.values[0]


def with_answer(trial: Trial, example: Row) -> Row:
    """Give an example the right answer of the first response."""
    if trial.task.answer_field is None:
        return example
    answer = trial.answer_of(trial.responses[0])
    return {trial.answer_field: answer, **example}


def refusal(trial: Trial, response: Row) -> str:
    """Return why a response is invalid; "" where it is valid."""
    example = with_answer(trial, trial.example)
    try:
        found = validate(
            data=[example],
            predictions=[dict(response)],
            task=trial.given,
            model="tried",
            registry=trial.registry,
        )
    except PluginError:
        raise
    except EvalkitError as error:
        return str(error)
    said = [
        f"{violation.field}: {violation.rule}"
        for problem in found.problems
        for violation in problem.violations
    ]
    return "; ".join([*said, *found.refusals])


DRAWN = 10
"""How many examples and responses are drawn."""


def _check_example(trial: Trial) -> None:
    try:
        trial.task.validate_input(trial.example)
    except ValueError as error:
        raise LawBroken(f"{trial.example!r}: {error}") from error


def _check_damaged_examples(trial: Trial) -> None:
    for name, damaged in damaged_rows(trial.task.Input, trial.example, "uid"):
        try:
            found = validate(
                data=[with_answer(trial, damaged)],
                task=trial.given,
                registry=trial.registry,
            )
            said = "; ".join(found.refusals)
        except EvalkitError as error:
            said = str(error)
        if not said:
            raise LawBroken(f"it takes {damaged!r}")
        if not names_field(said, name):
            raise LawBroken(
                f"what is said of {damaged!r} does not name {name!r}: {said}"
            )


def _check_responses(trial: Trial) -> None:
    for response in trial.responses:
        said = refusal(trial, response)
        if said:
            raise LawBroken(f"the response {dict(response)!r} is refused: {said}")


def _check_damaged_responses(trial: Trial) -> None:
    for name, damaged in damaged_rows(trial.task.Output, trial.responses[0], "id"):
        said = refusal(trial, damaged)
        if not said:
            raise LawBroken(f"it takes the response {damaged!r}")
        if not names_field(said, name):
            raise LawBroken(
                f"what is said of {damaged!r} does not name {name!r}: {said}"
            )


def _check_labels(trial: Trial) -> None:
    if trial.task.answer_field is None:
        return
    strange = "no label of any task"
    if not trial.task.labels:
        _check_labels_of_data(trial, strange)
        return
    is_list = isinstance(trial.responses[0].get(trial.answer_field), list)
    response = {
        **trial.responses[0],
        trial.answer_field: [strange] if is_list else strange,
    }
    if not refusal(trial, response):
        raise LawBroken(f"it takes the response {response!r}, whose answer is no label")


def _check_labels_of_data(trial: Trial, strange: str) -> None:
    """Let data declare labels: the check of a response has to work with them."""
    answers = [each.get(trial.answer_field) for each in trial.responses]
    known = list(dict.fromkeys(each for each in answers if isinstance(each, str)))
    if not known or len(known) < len(answers) or not trial.task.has("verify_response"):
        return
    response = {**trial.responses[0], trial.answer_field: strange}
    uid = str(trial.example["uid"])
    try:
        said = trial.task.call(
            "verify_response",
            ("response", uid),
            response=response,
            example=dict(trial.example),
            data=dict(trial.example),
            labels=known,
        )
    except AssertionError:
        return
    except PluginError as error:
        raise LawBroken(str(error)) from error
    if not all(isinstance(each, Violation) for each in said or ()):
        raise LawBroken(
            f"where data declare the labels {known}, verify_response returns {said!r} "
            f"for {response!r}: give a list of evalkit.Violation"
        )


def _check_inputs(trial: Trial) -> None:
    """Show responses and example to the hooks, which may only look at them."""
    uid, task = str(trial.example["uid"]), trial.task
    for each in (*trial.responses, *map(partial(_filled, trial), trial.responses[:1])):
        response, example = copy.deepcopy(dict(each)), copy.deepcopy(trial.example)
        if task.has("adapt_response"):
            with suppress(ValueError, TypeError, LookupError):  # ways to refuse it
                task.call("adapt_response", response=response, row=example)
            _refuse_changed("adapt_response", each, response)
        elif task.has("verify_response"):
            with suppress(AssertionError):
                task.call(
                    "verify_response",
                    ("response", uid),
                    response=response,
                    example=example,
                    data=example,
                    labels=task.labels,
                )
            _refuse_changed("verify_response", each, response)
        if example != trial.example:
            raise LawBroken(f"the example {trial.example!r} becomes {example!r}")


def _filled(trial: Trial, response: Row) -> Row:
    """Give a response what it may have besides: a share for each label, a number."""
    labels = list(trial.task.labels or ())
    shares = {label: 1 / len(labels) for label in labels}
    optional = {
        name: str(field.annotation)
        for name, field in trial.task.Output.model_fields.items()
        if not field.is_required() and name not in response
    }
    mappings = {name: shares for name, said in optional.items() if "dict[str" in said}
    numbers = {name: 0.5 for name, said in optional.items() if "float" in said}
    return {**response, **numbers, **(mappings if labels else {})}


def _refuse_changed(hook: str, before: Row, after: Row) -> None:
    if dict(before) != after:
        raise LawBroken(f"{hook} makes {after!r} of the response {dict(before)!r}")


def _check_drawn(trial: Trial) -> None:
    """Have no hook fail for what `Input` and `Output` take."""
    examples = drawn_examples(trial.task, DRAWN)
    responses = drawn_responses(trial.task, DRAWN)
    answers = _usable_answers(trial.task, responses)
    taken = []
    for number, pair in enumerate(zip(examples, responses, cycle(answers))):
        example, response, answer = pair
        uid = str(number)
        made = {**answer, **example, "uid": uid}, {**response, "id": uid}
        if _is_taken(trial, [made]):
            taken.append(made)
    if taken and trial.task.answer_field is not None:
        _is_taken(trial, taken, is_scored=True)


def _usable_answers(task: BoundTask, responses: Sequence[Row]) -> Sequence[Row]:
    """Return answers that data may have, which are not empty."""
    field = task.answer_field
    given = [each.get(field) for each in responses] if field is not None else []
    found = [{str(field): each} for each in given if each not in (None, "", [], {})]
    return found or [{}]


def _is_taken(
    trial: Trial, pairs: Sequence[tuple[Row, Row]], is_scored: bool = False
) -> bool:
    """Tell whether examples and responses are valid, which is for the task to say."""
    examples, responses = ([pair[place] for pair in pairs] for place in (0, 1))
    shown = f"the example {examples[0]!r} and the response {responses[0]!r}"
    try:
        if is_scored:
            evaluate(
                data=examples,
                predictions=responses,
                task=trial.given,
                model="tried",
                registry=trial.registry,
            )
            return True
        found = validate(
            data=examples,
            predictions=responses,
            task=trial.given,
            model="tried",
            registry=trial.registry,
        )
    except PluginError as error:
        raise LawBroken(f"for {shown}: {error}") from error
    except EvalkitError:
        return False
    return not (found.problems or found.refusals)


def _check_mappings(trial: Trial) -> None:
    """A converter that is a mapping names fields that there are."""
    task = trial.task
    named = (
        ("label_field_converter", ("id",), task.Input),
        ("pred_field_converter", ("id", "pred"), task.Output),
    )
    for converter, keys, model in named:
        mapping = getattr(task.plugin, converter, None)
        if not isinstance(mapping, Mapping):
            continue
        has_more = model.model_config.get("extra") == "allow"
        known = {*model.model_fields}
        known |= {each.alias for each in model.model_fields.values() if each.alias}
        for key in keys:
            name = mapping.get(key)
            if isinstance(name, str) and name not in known and not has_more:
                raise LawBroken(
                    f"{converter} has {key!r}: {name!r}, and the fields of "
                    f"{model.__name__} are {', '.join(map(repr, model.model_fields))}"
                )


def _check_metrics(trial: Trial) -> None:
    named = [trial.task.perf_metric, *trial.task.eval_metrics]
    for metric in named:
        try:
            bound = Resolver(trial.registry).metric(metric)
        except PluginError as error:
            raise LawBroken(f"the metric {metric} that it names: {error}") from error
        kinds = bound.answer_kinds
        if trial.task.answer_field is not None:
            _score(trial, metric, is_enough=not bound.joins_replications)
        if trial.task.answer_kind not in kinds:
            raise LawBroken(
                f"its answers are {trial.task.answer_kind!r}, and {metric} takes "
                f"{', '.join(map(repr, kinds))}"
            )


def _score(trial: Trial, metric: str, is_enough: bool) -> None:
    """Score right responses; one of several ratings says nothing of a single one."""
    rows, said = [], []
    for number, response in enumerate(trial.responses):
        uid = str(number)
        answer = trial.answer_of(response)
        rows.append({**trial.example, "uid": uid, trial.answer_field: answer})
        said.append({**response, "id": uid})
    try:
        result = evaluate(
            data=rows,
            predictions=said,
            task=trial.given,
            metrics=[metric],
            model="tried",
            registry=trial.registry,
        )
    except AlignmentError as error:
        raise LawBroken(f"right responses are refused: {error}") from error
    except EvalkitError as error:
        raise LawBroken(f"the metric {metric} that it names: {error}") from error
    if result.errors and is_enough:
        raise LawBroken(f"the metric {metric} that it names: {result.errors[0]}")


def _check_prompts(trial: Trial) -> None:
    check_prompts(trial.task, trial.given, trial.example, trial.registry)


TASK_LAWS: tuple[Law[Trial], ...] = (
    Law("example", "its `example` keeps `Input`.", _check_example),
    Law("responses", "valid responses are taken.", _check_responses),
    Law(
        "damaged-examples",
        "an example that lacks a required field, or holds an object in its place, is "
        "refused, and the field is named.",
        _check_damaged_examples,
    ),
    Law("damaged-responses", "so is a response.", _check_damaged_responses),
    Law(
        "inputs",
        "a response or example that it is shown is as before.",
        _check_inputs,
        mend="change a copy of it, or return what is new.",
    ),
    Law(
        "labels",
        "an answer that is no label is refused.",
        _check_labels,
        mend="make the answer an `evalkit.Label`, or refuse others.",
    ),
    Law(
        "mappings",
        "a converter that is a mapping names fields that there are.",
        _check_mappings,
        mend="correct the name.",
    ),
    Law(
        "metrics",
        "the metrics that it names are installed, and score its answers.",
        _check_metrics,
        mend="correct the name, or require the distribution that has it.",
    ),
    Law(
        "drawn",
        "no hook fails for what `Input` and `Output` take.",
        _check_drawn,
        mend="refuse it in `Input`, `Output` or verify_response, or take it.",
    ),
    Law(
        "prompts",
        "a model can be asked about its `example` by each of its `prompts`.",
        _check_prompts,
    ),
)
"""What holds of every task."""


_ANSWERS = 40
"""The most labels that are tried as answers."""


class TaskLawError(LawError):
    """A task breaks a law; `law` is its name, one of `TASK_LAWS`."""


@told_alone
def check_task(
    task: Any,
    *,
    responses: Sequence[Mapping[str, Any]] | None = None,
    laws: Collection[str] | None = None,
    registry: Registry | None = None,
) -> None:
    """Check that a task keeps the laws of `evalkit_testing.TASK_LAWS`.

    Args:
        task: Name of an installed task, or a class or instance.
        responses: Responses to the task's `example` that are valid; by default one for
            each label, or, without labels, some that are drawn from `Output` and that
            the task takes.
        laws: Names of the laws to check; all by default.
        registry: Where plugins are found; all that are installed by default.

    Raises:
        TaskLawError: It breaks a law; the message has the law, and what was tried. It
            is an AssertionError.
        EvalkitError: There are no responses and none could be drawn, or there is no
            such law.
        PluginError: The task is unknown or broken.
    """
    registry = registry or Registry()
    bound = BoundTask.of(Resolver(registry).bind("tasks", task))
    example = {**bound.example, "uid": str(bound.example.get("uid", "1"))}
    known = _responses(bound, example, responses)
    trial = Trial(bound, task, registry, example, known)
    if not known:
        trial = replace(trial, responses=_drawn_responses(trial))
    chosen = chosen_laws(TASK_LAWS, laws)
    check_laws(chosen, trial, bound.component.origin, TaskLawError)


def _responses(
    task: BoundTask, example: Row, given: Sequence[Row] | None
) -> Sequence[Row]:
    if given is not None:
        if not given:
            raise EvalkitError("responses must be a list that is not empty")
        return [{**each, "id": example["uid"]} for each in given]
    if not task.labels or task.answer_field is None:
        return []
    is_list = task.answer_kind in ("all-of", "ranked")
    return [
        {"id": example["uid"], task.answer_field: [label] if is_list else label}
        for label in task.labels[:_ANSWERS]
    ]


def _drawn_responses(trial: Trial) -> Sequence[Row]:
    """Return responses to the task's example that `Output` and the task take."""
    drawn = [
        {**each, "id": trial.example["uid"]} for each in drawn_responses(trial.task)
    ]
    known = [
        each for each in drawn if not refusal(replace(trial, responses=[each]), each)
    ]
    if known and trial.task.answer_field is not None:
        return known[:DRAWN]
    raise MissingOption(
        f"{trial.task.component.origin} has "
        + ("no labels" if trial.task.answer_field is not None else "no answer_field")
        + ", and no valid response to its `example` could be drawn: give some as "
        "responses=[…], such as {'answer': '7'}, without ids"
    )
