"""The base class of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from evalkit.plugins.classes import Plugin

if TYPE_CHECKING:
    from evalkit_models_base.hookspecs import Ability, ModelKind


class Model(Plugin):
    """What answers inputs, or requests that are made of them.

    A subclass implements one of `predict`, `generate` and `ask`, and sets `abilities`
    for the latter two. `evalkit_models_base.hookspecs.ModelAttributes` says what
    each attribute means.

    Example:
        ```python
        class Polite(Model):
            abilities = ("text", "chat")

            def generate(self, requests):
                return [text_reply("I would rather not say.") for _ in requests]
        ```
    """

    version: ClassVar[str] = "1"
    abilities: Sequence[Ability] = ()
    context_length: int | None = None
    concurrency: int = 1
    batch_requests: int = 32
    kind: ModelKind | None = None
    uses_network: bool = False
