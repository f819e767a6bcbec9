"""Small examples of what a plugin does, computed when its card is shown."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit_cli.printing.parameter_lines import is_path
from evalkit_commands_perturb import perturb

if TYPE_CHECKING:
    from evalkit import Result
    from evalkit.catalog import Bound, BoundTask

_TEXTS = (
    "Emily can't say that she is happy with the color of her big new apartment.",
    "Mary Smith told her father that it is not a good film.",
    "He said that his friend Carlos would not like the new film, because it is far too "
    "long, and nobody could possibly remember any of its scenes on the day after.",
    "On 4 May 2019 she paid $12.50 for it (see https://example.org/films)!",
)
_SEEDS = 5
_CONTRAST = "Emily can't say that she is sad about the color of her apartment."

_DATA = (
    {"uid": "1", "statement": "It rained. I smiled.", "label": "positive"},
    {"uid": "2", "statement": "It rained.", "label": "neutral"},
)
_ALTERNATIVES = (
    {"id": "1", "responses": [{"label": "neutral"}, {"label": "positive"}]},
    {"id": "2", "responses": [{"label": "neutral"}, {"label": "negative"}]},
)
"""Two alternatives for each of two examples, ranked."""

_PROBABLE = tuple(
    {"id": id, "label": "neutral", "prob": dict(negative=0.1, neutral=n, positive=p)}
    for id, n, p in (("1", 0.5, 0.4), ("2", 0.7, 0.2))
)
"""A probability for every label."""

_COUNTED = tuple(
    {
        **{"id": id, "label": "neutral", "logprob": logprob},
        **{"num_tokens": 5, "num_characters": n, "num_bytes": n},
    }
    for id, logprob, n in (("1", -20.0, 20), ("2", -15.0, 10))
)
"""The log-probability of each text, and how long it is."""

_LISTS: Sequence[tuple[list[Any], list[Any]]] = (
    (["yes", "no", "no", "yes"], ["yes", "no", "yes", "yes"]),
    (["the blue car", "Paris"], [["blue car", "car"], ["London"]]),
    ([1.5, 2.0, 4.0], [1.0, 2.0, 5.0]),
)
"""Predictions and answers: labels, texts with acceptable answers, and numbers."""


def task_example(bound: BoundTask) -> dict[str, Any]:
    """Make a row of data and a prediction for a task."""
    example = dict(bound.example)
    for answer in _answers(bound, example):
        row = _response(bound, example, answer)
        if row is not None and _is_accepted(bound, row, example):
            if bound.answer_field and bound.answer_field in row:
                example[bound.answer_field] = row[bound.answer_field]
            return {"data": example, "prediction": row}
    return {"data": example}


def _answers(bound: BoundTask, example: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what could be an answer: a label, an option, a word of the input."""
    yield from list(bound.labels or ())[:1]
    options = example.get(bound.choices_field or "", ())
    yield from list(options)[:1] if isinstance(options, list | tuple) else ()
    for name, value in example.items():
        if isinstance(value, str) and name != "uid":
            yield value.rstrip(".?!").rpartition(" ")[2]
    yield from (1, 0.5, True, ["a", "b"], [], {})


def _response(
    bound: BoundTask, example: Mapping[str, Any], answer: Any
) -> dict[str, Any] | None:
    """Make a response with the required fields, and the answer in its own."""
    fields = bound.Output.model_fields
    row: dict[str, Any] = {}
    for name, field in fields.items():
        if name == "id":
            row[name] = example.get("uid", "1")
        elif name == bound.answer_field or field.is_required():
            row[name] = answer
    return row


def _is_accepted(
    bound: BoundTask, row: Mapping[str, Any], example: Mapping[str, Any]
) -> bool:
    from evalkit import EvalkitError

    try:
        bound.Output.model_validate(row)
        if not bound.has("verify_response"):
            return True
        verify = bound.row_function("verify_response")
        return not verify(
            response=row, example=example, labels=bound.labels, data=example
        )
    except (ValueError, AssertionError, EvalkitError):
        return False


def metric_example(name: str) -> dict[str, Any]:
    """Score two short lists, or else responses that say more, with a metric."""
    import evalkit

    for predictions, targets in _LISTS:
        try:
            found = evalkit.score(name, predictions, targets)
        except evalkit.EvalkitError:
            continue
        values = _values_of(found)
        if values:
            return {
                "call": f'evalkit.score("{name}", predictions, targets)',
                "predictions": predictions,
                "targets": targets,
                "values": values,
            }
    examples = (
        _example_of_responses(name, responses)
        for responses in (_ALTERNATIVES, _PROBABLE, _COUNTED)
    )
    return next(filter(None, examples), {})


def _values_of(result: Result) -> dict[str, float | None]:
    """Return the values for the whole set; none where there is no value at all."""
    found = {each.metric: each.value for each in result.scores if each.tag is None}
    return found if any(value is not None for value in found.values()) else {}


def _example_of_responses(
    name: str, responses: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    import evalkit

    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for stem, rows in (("data", _DATA), ("predictions", responses)):
            files[stem] = Path(folder) / f"{stem}.jsonl"
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
            files[stem].write_text(text, encoding="utf-8")
        try:
            result = evalkit.evaluate(
                *(files["data"], files["predictions"]), task="sentiment", metrics=[name]
            )
        except evalkit.EvalkitError:
            return {}
    values = _values_of(result)
    if not values:
        return {}
    return {
        "call": 'evalkit.evaluate("data.jsonl", "predictions.jsonl", '
        f'task="sentiment", metrics=["{name}"])',
        "predictions": list(responses),
        "targets": list(_DATA),
        "values": values,
    }


def perturbation_example(
    name: str, parameters: Mapping[str, Any], task: str | None
) -> dict[str, Any]:
    """Perturb a short text, with the first of a few seeds that changes it.

    What is drawn depends on parameters too, and the path of an example file is another
    one each time: with one seed a text may be left as it is.
    """
    import evalkit

    with tempfile.TemporaryDirectory() as folder:
        names = [
            _with_examples(name, parameters, Path(folder), required=required)
            for required in (True, False)
        ]
        if "preset" in parameters and "preset=" not in name:
            names += [_joined(each, "preset=hard") for each in names]
        tries = product(dict.fromkeys(names), range(_SEEDS), _TEXTS)
        for (named, shown), seed, text in tries:
            row = {
                **{"uid": "1", "statement": text, "label": "negative"},
                **{"contrast_inputs": [_CONTRAST], "contrast_answers": ["negative"]},
            }
            fields = None if task else ["statement"]
            try:
                copies = perturb([row], named, seed=seed, task=task, fields=fields)
                copy = next(iter(copies), None)
            except evalkit.EvalkitError:
                continue
            if copy is not None:
                after = copy["statement"]
                return {"perturbation": shown, "before": text, "after": after}
    return {}


def _with_examples(
    name: str, parameters: Mapping[str, Any], folder: Path, *, required: bool
) -> tuple[str, str]:
    """Return a name to perturb by and one to show, with examples of parameters.

    An example of a path is what the file holds. Those that are not required are given
    where nothing happens without them.
    """
    used, shown = [], []
    for key, schema in parameters.items():
        examples = schema.get("examples")
        is_given = f"{key}=" in name.partition(":")[2]
        if not examples or is_given or (required and not schema.get("required")):
            continue
        value = str(examples[0])
        if is_path(schema):
            file = folder / "words.tsv"
            file.write_text(value, encoding="utf-8")
            used.append(f"{key}={file}")
            shown.append(f"{key}={file.name}")
        else:
            used.append(f"{key}={value}")
            shown.append(f"{key}={value}")
    return _joined((name, name), ",".join(used), ",".join(shown))


def _joined(
    names: tuple[str, str], used: str, shown: str | None = None
) -> tuple[str, str]:
    """Add parameters to the two names of a perturbation."""
    added = (used, used if shown is None else shown)
    first, second = (
        f"{name}{',' if ':' in name else ':'}{more}" if more else name
        for name, more in zip(names, added, strict=True)
    )
    return first, second


def example_of(
    bound: Bound | None, kind: str, name: str, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Compute the example of a plugin."""
    from evalkit.catalog import BoundTask, find_components

    if kind == "tasks" and bound is not None:
        return task_example(BoundTask.of(bound))
    if kind == "metrics":
        required = [
            f"{key}={schema['examples'][0]}"
            for key, schema in parameters.items()
            if schema.get("required") and schema.get("examples")
        ]
        given = name if ":" in name or not required else f"{name}:{','.join(required)}"
        return metric_example(given)
    if kind == "perturbations":
        ids = {found.id for found in find_components().components}
        task = "sentiment" if "tasks/sentiment" in ids else None
        return perturbation_example(name, parameters, task)
    return {}
