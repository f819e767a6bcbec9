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


def evaluation_options(
    given: Mapping[str, Any], metrics: list[Any] | None
) -> EvaluationOptions:
    """Return the options of `evalkit eval` as one object."""
    return replace(
        validation_options(given),
        metrics=metrics,
        by=given["by"],
        min_n=given["min_n"],
        confidence=given["confidence"],
        seed=given["seed"],
        jobs=given["jobs"],
        include_examples=not given["no_examples"],
        keep=given["keep"],
        observers=given["observers"],
        columns=given["columns"],
        against=given["against"],
    )


def validation_options(given: Mapping[str, Any]) -> EvaluationOptions:
    """Return the options of `evalkit validate` as those of an evaluation."""
    from evalkit import EvaluationOptions

    return EvaluationOptions(
        split=given["split"],
        limit=given["limit"],
        filters=read_filters(given["filters"]),
        cluster=given["cluster"],
        on_missing=given["on_missing"],
        on_invalid=given["on_invalid"],
        on_duplicate=given["on_duplicate"],
        rows=row_source(
            read_adapters(given["adapters"]),
            read_map(given["mapped"], "--map"),
            map_predictions=read_map(given["mapped_predictions"], "--map-predictions"),
            normalise=given["normalise"],
            extract=given["extract"],
        ),
    )
