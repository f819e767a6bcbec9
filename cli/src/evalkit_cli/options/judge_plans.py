"""Finds out what judges would be asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalkit_annotators_columns import BoundAnnotator

Plan = Mapping[str, Any]


def plans_of_judges(
    annotators: Mapping[str, BoundAnnotator],
    evaluate: Callable[[Mapping[str, BoundAnnotator]], object],
) -> list[Plan]:
    """Return what each judge would be asked."""
    from evalkit.errors import AnnotatorError

    found: list[Plan] = []
    for name, annotator in annotators.items():
        try:
            evaluate({name: annotator})
        except AnnotatorError as error:
            plan = getattr(error.__cause__, "plan", None)
            if plan is None:
                raise
            found.append({"title": name, **plan})
    return found
