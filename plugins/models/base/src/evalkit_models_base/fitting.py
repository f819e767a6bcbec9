"""Makes prompts fit into what a model can read: fewer shots, then a shorter input."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalkit.errors import DataError
from evalkit.reporting import count_of
from evalkit_models_base.questions import Sent
from evalkit_models_base.rendering import Rendered, Renderer, Shot

CountTokens = Callable[[str], int]
"""Says into how many tokens a model takes a text apart."""

_BYTES_OF_TOKEN = 3
"""Fewer than tokens of English have (about 4), and as many as a character of Chinese
has, so that the estimate is rather too high."""

_TOKENS_OF_MESSAGE = 4
"""What a chat's template adds to a message, as far as that can be known."""


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a text: one for every three bytes of UTF-8."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / _BYTES_OF_TOKEN)


class Fitter:
    """Makes prompts that fit, and counts what that took."""

    def __init__(
        self,
        makes: Renderer,
        context_length: int | None,
        count: CountTokens | None = None,
    ) -> None:
        self._makes, self._length = makes, context_length
        self.count = count or estimated_tokens
        self._is_estimated = count is None
        self._made = self._with_fewer = self._cut = self._shots_left_out = 0
        self._fewest: int | None = None

    def room(self, reply: int) -> int | None:
        """Return how many tokens a prompt may have; None for no limit."""
        return None if self._length is None else self._length - reply

    def fitted(
        self,
        row: Mapping[str, Any],
        shots: Sequence[Shot],
        reply: int,
        choice: str | None = None,
    ) -> tuple[Rendered, Sent]:
        """Make what a model is sent, so that it and the reply fit."""
        room = self.room(reply)
        whole = self._makes.render(row, shots, choice)
        self._made += 1
        if room is None or self._size(whole) <= room:
            return whole, _showing(shots, len(shots))
        for kept in range(len(shots) - 1, -1, -1):
            fewer = self._makes.render(row, shots[:kept], choice)
            if self._size(fewer) <= room:
                self._left_out(kept, len(shots))
                return fewer, _showing(shots, kept)
        if shots:
            self._left_out(0, len(shots))
        self._cut += 1
        text, field, cut = self._shortened(row, room, choice)
        sent = _showing(shots, 0)._replace(cut_field=field, cut_characters=cut)
        return text, sent

    def refuse_too_long(
        self, row: Mapping[str, Any], reply: int, choice: str | None = None
    ) -> None:
        """Refuse an example that would not fit without shots and its longest text."""
        room = self.room(reply)
        if room is not None:
            longest = self._longest(row)
            bare = row if longest is None else {**row, longest: ""}
            if self._size(self._makes.render(bare, (), choice)) > room:
                raise self._too_long(row, room)

    def _longest(self, row: Mapping[str, Any]) -> str | None:
        names = self._makes.prompt.fields()
        texts = [name for name in names if isinstance(row.get(name), str)]
        return max(texts, key=lambda name: len(row[name]), default=None)

    def _left_out(self, kept: int, shots: int) -> None:
        self._with_fewer += 1
        self._shots_left_out += shots - kept
        self._fewest = kept if self._fewest is None else min(kept, self._fewest)

    def _size(self, rendered: Rendered) -> int:
        tokens = sum(map(self.count, rendered.parts))
        return tokens + _TOKENS_OF_MESSAGE * len(rendered.messages)

    def _shortened(
        self, row: Mapping[str, Any], room: int, choice: str | None
    ) -> tuple[Rendered, str, int]:
        longest = self._longest(row)
        if longest is None:
            raise self._too_long(row, room)
        text = row[longest]

        def cut(length: int) -> Rendered:
            return self._makes.render({**row, longest: text[:length]}, (), choice)

        if self._size(cut(0)) > room:
            raise self._too_long(row, room)
        least, most = 0, len(text)
        while most - least > 1:
            middle = (least + most) // 2
            if self._size(cut(middle)) <= room:
                least = middle
            else:
                most = middle
        return cut(least), longest, len(text) - least

    def _too_long(self, row: Mapping[str, Any], room: int) -> DataError:
        return self._makes.about(
            row,
            DataError(
                f"without its longest text the prompt has more than the {room} tokens "
                f"that fit (context_length {self._length}, less what the reply takes); "
                "shorten it, or lower generate.max_tokens"
            ),
        )

    @property
    def said(self) -> dict[str, Any]:
        """What was left out so as to fit; nothing if all of it was sent."""
        if not (self._with_fewer or self._cut):
            return {}
        return {
            "fitted": {
                "prompts": self._made,
                "prompts_with_fewer_shots": self._with_fewer,
                "shots_left_out": self._shots_left_out,
                "fewest_shots": self._fewest,
                "prompts_cut": self._cut,
                "context_length": self._length,
            }
        }

    @property
    def notices(self) -> tuple[str, ...]:
        """What was cut, in words."""
        how = " (tokens are estimated)" if self._is_estimated else ""
        made, found = count_of(self._made, "prompt"), []
        if self._with_fewer:
            found.append(
                f"{self._with_fewer} of {made} had shots left out, down to "
                f"{self._fewest}, so as to fit into {self._length} tokens{how}"
            )
        if self._cut:
            found.append(
                f"{self._cut} of {made} had the end of the input cut off, so as to "
                f"fit into {self._length} tokens{how}"
            )
        return tuple(found)


def _showing(shots: Sequence[Shot], kept: int) -> Sent:
    ids = tuple(str(shot.row["uid"]) for shot in shots[:kept])
    return Sent(shots=ids, shots_left_out=len(shots) - kept)
