"""Models that a user names: where they lie, and what is missing where they do not."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from evalkit import Metric, MetricError, Parameters
from evalkit.hookspecs import AnswerKind

DISTRIBUTION = "evalkit-metrics-generation"


class ModelParameters(Parameters):
    """Which model, and where it runs."""

    model: str
    """Folder of the model, or the name of one in the cache of Hugging Face."""
    device: str = ""
    """Where it runs, such as `cpu` or `cuda:1`; by default on a graphics card, where
    there is one."""


class ModelMetric(Metric):
    """A metric whose numbers come from a model that the user names."""

    answer_kinds: ClassVar[Sequence[AnswerKind]] = ("one", "any-of")
    higher_is_better = True
    interval = "t"
    batch_rows = 64
    shares_work = False
    costly = True

    extra: str
    """The extra of this distribution that installs what the model needs."""

    @cached_property
    def folder(self) -> Path:
        """Where the model lies.

        Raises:
            MetricError: There is no such folder, or no such model in the cache.
        """
        given = self._given.model
        if Path(given).is_dir():
            return Path(given)
        hub = self.library("huggingface_hub")
        try:
            return Path(hub.snapshot_download(given, local_files_only=True))
        except (hub.errors.HFValidationError, OSError, ValueError) as error:
            raise MetricError(
                f"model={given} is neither a folder nor a model in the cache of "
                "Hugging Face; evalkit downloads none: fetch it with "
                f"`hf download {given}`, or name its folder"
            ) from error

    def resources(self) -> dict[str, Path | str]:
        """Return the folder, or the name and the revision that the cache holds.

        Raises:
            MetricError: A library or the model is not there, or is not what it must be.
        """
        self.library("torch")
        self.check()
        if self.folder == Path(self._given.model):
            return {"model": self.folder}
        return {"model": f"{self._given.model} at {self.folder.name}"}

    def check(self) -> None:
        """Look at the model before anything is scored.

        Raises:
            MetricError: It cannot be used.
        """

    def library(self, name: str) -> Any:
        """Import a library that the metric's extra installs.

        Args:
            name: Name of the module.

        Returns:
            The module.

        Raises:
            MetricError: It is not installed; the message says how to install it.
        """
        try:
            return importlib.import_module(name)
        except ImportError as error:
            raise MetricError(
                f"it needs {error.name or name}, which is not installed: pip install "
                f'"{DISTRIBUTION}[{self.extra}]"'
            ) from error

    @cached_property
    def device(self) -> str:
        """Where the model runs."""
        has_card = self.library("torch").cuda.is_available()
        return self._given.device or ("cuda" if has_card else "cpu")

    @property
    def _given(self) -> ModelParameters:
        given = self.parameters
        assert isinstance(given, ModelParameters)
        return given
