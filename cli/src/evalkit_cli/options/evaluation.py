"""The options of a command as those of `evalkit.evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evalkit_cli.options.choices import (
    read_adapters,
    read_filters,
    read_map,
    row_source,
)

if TYPE_CHECKING:
    from evalkit import EvaluationOptions


_OF_ROWS = ("split", "limit", "cluster", "on_missing", "on_invalid", "on_duplicate")

_OF_SCORES = (
    *("by", "min_n", "confidence", "seed", "jobs", "keep", "observers"),
    *("columns", "against"),
)


def evaluation_options(
    given: Mapping[str, Any], metrics: list[Any] | None
) -> EvaluationOptions:
    """Return the options of `evalkit eval` as one object."""
    return replace(
        validation_options(given),
        metrics=metrics,
        include_examples=not given["no_examples"],
        **{name: given[name] for name in _OF_SCORES},
    )


def validation_options(given: Mapping[str, Any]) -> EvaluationOptions:
    """Return the options of `evalkit validate` as those of an evaluation."""
    from evalkit import EvaluationOptions

    return EvaluationOptions(
        filters=read_filters(given["filters"]),
        **{name: given[name] for name in _OF_ROWS},
        rows=row_source(
            read_adapters(given["adapters"]),
            read_map(given["mapped"], "--map"),
            map_predictions=read_map(given["mapped_predictions"], "--map-predictions"),
            normalise=given["normalise"],
            extract=given["extract"],
        ),
    )
