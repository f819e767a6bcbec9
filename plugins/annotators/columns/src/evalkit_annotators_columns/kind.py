"""The kind of plugins that are annotators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.catalog import Kind
from evalkit_annotators_columns.annotator import Annotator
from evalkit_annotators_columns.bound import BoundAnnotator
from evalkit_annotators_columns.hookspecs import AnnotatorAttributes, AnnotatorSpec


def _annotator_problems(
    attributes: Mapping[str, Any], implemented: Sequence[str]
) -> list[str]:
    """Find attributes of an annotator that are out of their range."""
    problems = [
        f"its {name} must be {least} or more, is {attributes[name]:g}"
        for name, least in (("batch_rows", 1), ("retries", 0), ("pause", 0))
        if not attributes[name] >= least
    ]
    columns = list(attributes["columns"])
    problems += [
        f"its columns name {name!r}, which holds one of '.:@' or is there twice"
        for name in dict.fromkeys(columns)
        if columns.count(name) > 1 or not name or {*name} & {*".:@"}
    ]
    return problems


ANNOTATORS = Kind(
    "annotators",
    AnnotatorSpec,
    AnnotatorAttributes,
    Annotator,
    ways=(("annotate_example",), ("annotate_batch",)),
    bound=BoundAnnotator,
    check=_annotator_problems,
)
