"""The model `my-thing`."""

from __future__ import annotations

from collections.abc import Sequence

import evalkit
from evalkit_models_base import Model, Reply, Request, text_reply


class MyThing(Model):
    """Replies with one of the words of the last line of a prompt."""

    version = "1"
    abilities = ("text", "chat")

    class Parameters(evalkit.Parameters):
        """What a user may set: `my-thing:place=1`.

        Attributes:
            place: Which word of the last line, from 0.
        """

        place: int = 0

    def __init__(self, parameters: Parameters) -> None:
        self._place = parameters.place

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """Reply to a batch of requests."""
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        text = request.prompt or request.messages[-1].content
        words = text.strip().rpartition("\n")[2].split()
        if self._place >= len(words):
            return Reply(error=f"the last line has {len(words)} words")
        return text_reply(words[self._place])
