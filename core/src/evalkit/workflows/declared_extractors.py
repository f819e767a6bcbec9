"""The extractors that a file beside predictions declares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evalkit.adapting.extraction import extraction
from evalkit.errors import DataError, EvalkitError
from evalkit.plugins.registry import Registry
from evalkit.predictions.systems import read_system, system_file
from evalkit.workflows.options import NO_EXTRACTOR, EvaluationOptions


def with_extractors(
    options: EvaluationOptions, predictions: Any, registry: Registry | None
) -> EvaluationOptions:
    """Take the extractors that belong to the prompt, where a user names none."""
    system = read_system(predictions) if options.extract is None else None
    if system is None or system.extract is None:
        return options
    try:
        if system.extract != NO_EXTRACTOR:
            extraction(system.extract, registry)
    except EvalkitError as error:
        where = system_file(predictions)
        raise DataError(
            f"{where}: extract: {error}. It is what the prompt of the predictions "
            "says; --extract (extract=) names others, or none"
        ) from error
    return replace(options, extract=system.extract)
