"""Publish datasets, predictions and runs."""

from __future__ import annotations

from evalkit_commands_publish.publishing import (
    Publication,
    Published,
    prepare_dataset,
    prepare_predictions,
    publish,
    publish_run,
)

__all__ = [
    "Publication",
    "Published",
    "prepare_dataset",
    "prepare_predictions",
    "publish",
    "publish_run",
]
