"""Prints the card of a plugin: what it is, an example, parameters, where it is from."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from evalkit_cli.printing.escapes import for_terminal
from evalkit_cli.printing.parameter_lines import parameter_lines
from evalkit_cli.printing.streams import echo, echo_lines

WIDTH = 80
"""Columns of a card."""

_FOR_AUTHORS = re.compile(r"\n\n(?:Raises|Attributes|Args|Returns):\n(?: .*\n?)+")
"""Sections of a docstring that are about its code."""

_LIST_ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s")


def print_card(described: Mapping[str, Any], *, verbose: bool) -> None:
    """Print the card of a plugin for a person."""
    kind = described["id"].partition("/")[0]
    kind = "datasets" if kind == "benchmarks" else kind
    echo(described["id"])
    for lines in _sections(kind, described, verbose):
        echo()
        for line in lines:
            echo_lines(line)


def _sections(
    kind: str, described: Mapping[str, Any], verbose: bool
) -> Iterator[list[str]]:
    documentation = described["documentation"]
    if kind == "commands":
        yield documentation.splitlines()
    elif documentation:
        yield list(_wrapped(_FOR_AUTHORS.sub("", documentation)))
    if described["example"]:
        yield ["example", *_example_lines(kind, described)]
    if described["parameters"]:
        title = "fields" if kind == "schemas" else "parameters"
        yield [title, *parameter_lines(described["parameters"])]
    facts, rest = _facts(kind, described["attributes"])
    if facts:
        yield ["facts", *_rows(facts)]
    if verbose and rest:
        yield ["attributes", *_rows(rest)]
    citation = described["attributes"].get("citation")
    if citation:
        yield ["citation", *str(citation).splitlines()]
    yield list(_origin(kind, described, has_more=bool(rest), verbose=verbose))


def _wrapped(text: str) -> Iterator[str]:
    """Fill paragraphs; what is indented, and lists, stay as they are written."""
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ""
        lines = paragraph.splitlines()
        if any(line.startswith(" ") or _LIST_ITEM.match(line) for line in lines):
            yield from lines
        else:
            yield from _filled(" ".join(lines))


def _filled(text: str, first: str = "", later: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_on_hyphens=False,
        break_long_words=False,
    ) or [first.rstrip()]


def _rows(rows: Mapping[str, str]) -> Iterator[str]:
    width = max(map(len, rows))
    for name, text in rows.items():
        yield from _filled(text, f"  {name.ljust(width)}  ", " " * (width + 4))


def _example_lines(kind: str, described: Mapping[str, Any]) -> Iterator[str]:
    code = described["example"].get("code")
    if code is None:
        yield from _EXAMPLES[kind](described)
    else:
        yield from textwrap.indent(code, "  ").splitlines()


def _task_lines(described: Mapping[str, Any]) -> Iterator[str]:
    titles = {"data": "a row of data", "prediction": "a row of predictions"}
    for key, row in described["example"].items():
        yield f"  {titles[key]}:"
        yield from _json_lines([row])


def _json_lines(rows: Iterable[Any]) -> Iterator[str]:
    """Write rows as JSON: in a line, or with a line for each field."""
    for row in rows:
        line = json.dumps(row, ensure_ascii=False, default=str)
        if len(line) > WIDTH - 2:
            line = json.dumps(row, ensure_ascii=False, default=str, indent=1)
        yield from textwrap.indent(line, "  ").splitlines()


def _metric_lines(described: Mapping[str, Any]) -> Iterator[str]:
    example = described["example"]
    attributes = described["attributes"]
    scale = attributes.get("scale") or 1
    unit = attributes.get("unit") or ""
    if example["call"].startswith("evalkit.evaluate"):
        for name, rows in (("data", "targets"), ("predictions", "predictions")):
            yield f"  {name}.jsonl:"
            yield from _json_lines(example[rows])
    else:
        for name in ("predictions", "targets"):
            yield f"  {name} = {example[name]!r}"
    yield from _filled(example["call"], "  ", "      ")
    width = max(map(len, example["values"]))
    for name, value in example["values"].items():
        shown = "no value" if value is None else f"{value * scale:.2f} {unit}".rstrip()
        yield f"    {name.ljust(width)}  {shown}"


def _perturbation_lines(described: Mapping[str, Any]) -> Iterator[str]:
    example = described["example"]
    yield f"  {example['perturbation']}, seed 0"
    for key in ("before", "after"):
        # what cannot be seen is escaped, and longer
        yield from _filled(for_terminal(example[key]), f"  {key.ljust(8)}", " " * 10)


_EXAMPLES: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "tasks": _task_lines,
    "metrics": _metric_lines,
    "perturbations": _perturbation_lines,
}

_FACTS: Mapping[str, tuple[str, ...]] = {
    "tasks": (
        *("Input", "Output", "labels", "answer_kind", "perf_metric", "eval_metrics"),
        *("perturb_fields", "content_warning"),
    ),
    "datasets": (
        *("task", "description", "labels", "languages", "splits", "version"),
        *("license", "source_url", "content_warning", "tags", "cluster"),
        *("perf_metric", "eval_metrics", "example_predictions"),
    ),
    "metrics": ("range", "unit", "answer_kinds", "columns", "interval"),
    "perturbations": ("families", "label_effect", "version"),
    "annotators": ("columns", "reads", "version", "metrics"),
    "schemas": (),
}
"""What a user wants to know of a kind, the most important first; all of the others."""


def _facts(
    kind: str, attributes: Mapping[str, Any]
) -> tuple[dict[str, str], dict[str, str]]:
    """Split the attributes into what users want to know and what evalkit does."""
    given = dict(attributes)
    given.pop("citation", None)
    if kind == "metrics":
        given["range"] = _range(given)
        given["columns"] = _columns(given)
    shown = {
        name: one_line(name, value)
        for name, value in given.items()
        if value not in (None, [], {}, "")
    }
    wanted = _FACTS.get(kind, tuple(shown))
    facts = {_word(kind, name): shown[name] for name in wanted if name in shown}
    return facts, {name: text for name, text in shown.items() if name not in wanted}


_WORDS = {
    "answer_kind": "answers",
    "answer_kinds": "answers",
    "columns": "reads",
    "perf_metric": "main metric",
    "eval_metrics": "other metrics",
    "perturb_fields": "perturbed",
    "content_warning": "warning",
    "label_effect": "answer",
    "license": "licence",
    "source_url": "source",
    "Input": "input",
    "Output": "prediction",
    "example_predictions": "predictions",
}


def _word(kind: str, name: str) -> str:
    if (kind, name) == ("annotators", "columns"):
        return "gives"
    return _WORDS.get(name, name.replace("_", " "))


_DIRECTIONS: Mapping[bool | None, str] = {
    True: "higher is better",
    False: "lower is better",
    None: "neither high nor low is said to be better",
}


def _columns(attributes: Mapping[str, Any]) -> list[str]:
    """Name what a metric reads beside prediction and answer, like fields of a task."""
    optional = attributes.get("optional_columns") or ()
    return [
        f"[{name}]" if name in optional else name
        for name in attributes.get("columns") or ()
    ]


def _range(attributes: Mapping[str, Any]) -> str:
    """Say between what values a metric lies, and which way is better."""
    low, high = attributes.get("bounds") or (None, None)
    limits = [
        f"{word} {bound:g}"
        for word, bound in (("from", low), ("to", high))
        if bound is not None
    ]
    is_better = attributes.get("higher_is_better", True)
    return f"{' '.join(limits) or 'any number'}, {_DIRECTIONS[is_better]}"


def one_line(name: str, value: Any) -> str:
    """Write the value of an attribute in a line."""
    if name in ("Input", "Output"):
        required = value.get("required", ())
        return ", ".join(
            field if field in required else f"[{field}]"
            for field in value.get("properties", {})
        )
    if name == "label_effect" and isinstance(value, Mapping):
        rest = "all others" if len(value) > 1 else "all"
        return ", ".join(
            f"{effect} for {rest if task == '*' else task}"
            for task, effect in value.items()
        )
    if name == "example_predictions" and isinstance(value, Mapping):
        return ", ".join(value)
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)


_NEXT: Mapping[str, str] = {
    "datasets": "evalkit eval {name} --predictions FILE",
    "metrics": "evalkit eval DATASET --predictions FILE -m {name}",
    "perturbations": "evalkit perturb DATASET --perturbation {name}",
    "tasks": "evalkit eval --data FILE --task {name} --predictions FILE",
    "schemas": "evalkit schema show {name}",
}


def _origin(
    kind: str, described: Mapping[str, Any], *, has_more: bool, verbose: bool
) -> Iterator[str]:
    """Say what to do next, and where the plugin is from."""
    from evalkit.catalog import AS_READ

    is_read = described["distribution"] == AS_READ
    name = described["object"] if is_read else described["id"].partition("/")[2]
    asked = {k: v for k, v in described["parameters"].items() if v.get("required")}
    given = [f"{k}={v['enum'][0]}" for k, v in asked.items() if "enum" in v]
    name += f":{','.join(given)}" if given else ""
    if kind in _NEXT:
        yield _NEXT[kind].format(name=name)
    if kind == "datasets":
        yield f"evalkit show datasets/{name} -n 3 prints its first rows"
    version = "" if is_read else f" {described['version']}"
    yield f"{described['distribution']}{version}"
    if verbose:
        yield described["object"]
    elif has_more:
        yield "-v also prints the attributes that its author set, --json all"
