"""The base class of engines."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from evalkit import Result
from evalkit.examples.table import Examples
from evalkit.predictions.alignment import Alignment
from evalkit_engines_dask.evaluation import evaluate_on, match_on
from evalkit_engines_dask.tasks import Tasks


class Engine(Tasks):
    """Base class of engines: it evaluates in parts, each a task."""

    def evaluate(self, *arguments: Any, **options: Any) -> Result:
        """Do what `evalkit.evaluate_with` does, in parts.

        Args:
            *arguments: Dataset, predictions and options.
            **options: Further arguments of `evaluate_with`.

        Returns:
            The result. Its examples lie in the run folder only.
        """
        with nullcontext() if self.is_running else self:
            return evaluate_on(self, *arguments, **options)

    def match(self, *arguments: Any) -> tuple[Examples, Alignment]:
        """Match predictions with examples in parts, for `evalkit.validate_with`.

        Args:
            *arguments: Bound plugins, predictions, name of the model and progress.

        Returns:
            What is known of the examples, and what became of the predictions.
        """
        with nullcontext() if self.is_running else self:
            return match_on(self, *arguments)
