"""A model that says what it was asked."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit_models_base import Model, Reply, Request, text_reply


class Echo(Model):
    """Replies with the prompt, or the last message: to see how a model is asked."""

    abilities = ("text", "chat")
    batch_requests = 1_000

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """Return the texts that the requests end with."""
        return [
            text_reply(
                request.messages[-1].content
                if request.prompt is None
                else request.prompt
            )
            for request in requests
        ]
