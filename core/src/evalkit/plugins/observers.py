"""Tells observers what happens, and keeps them from changing it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from evalkit.base.failures import described, hook_failures
from evalkit.plugins.registry import Bound, Registry


class Observers:
    """The observers of one evaluation.

    Args:
        registry: Where they are found.
        names: Names of the observers to load.

    Attributes:
        warnings: What observers raised.
    """

    def __init__(self, registry: Registry, names: Sequence[str]) -> None:
        self._observers: list[Bound] = [
            registry.load("observers", name) for name in names
        ]
        self.warnings: list[str] = []

    def tell(self, hook: str, **values: Any) -> None:
        """Tell every observer, each with values of its own.

        Args:
            hook: Name of the hook.
            **values: Its arguments.
        """
        for observer in self._observers:
            try:
                getattr(observer.hooks, hook)(**copy.deepcopy(values))
            except hook_failures() as error:
                self.warnings.append(
                    f"{observer.component.origin}: {hook} failed with "
                    f"{described(error)}"
                )
