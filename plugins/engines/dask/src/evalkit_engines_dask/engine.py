"""The base class of engines."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from evalkit import Result
from evalkit_engines_dask.evaluation import evaluate_on
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
