"""Texts as tokens, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from evalkit_models_base import NotAnswered, Request

_PIECE = "\ufffd"
"""What stands for a part of a character."""


class Given(NamedTuple):
    """Tokens of a text that is given.

    Attributes:
        tokens: All of them.
        start: Which one is the first of the continuation.
    """

    tokens: list[int]
    start: int


class Encoder:
    """Makes tokens of texts."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._lead = self._lead_of("a")

    def prompt(self, request: Request) -> list[int]:
        """Return the tokens of what a request says."""
        text = request.prompt
        lead, plain = (
            (self._lead, self._plain(text))
            if text is not None
            else ([], self._plain(self._conversation(request)))
        )
        return [*lead, *plain] or self._something()

    def continuations(self, request: Request) -> list[Given]:
        """Return the tokens of a prompt with each of its continuations."""
        is_text = request.prompt is not None
        before = request.prompt if is_text else self._conversation(request)
        lead = self._lead if is_text else []
        return [self._after(str(before), each, lead) for each in request.continuations]

    def _after(self, before: str, continuation: str, lead: list[int]) -> Given:
        whole, alone = self._plain(before + continuation), self._plain(before)
        place = len(alone)
        if whole[:place] != alone:
            place = self._boundary(before + continuation, len(before))
        if place >= len(whole):
            raise NotAnswered("the continuation has no tokens of its own")
        first = lead or (self._something() if place == 0 else [])
        return Given([*first, *whole], len(first) + place)

    def _boundary(self, whole: str, end: int) -> int:
        """Return which token begins where the prompt ends."""
        if self._tokenizer.is_fast:
            spans = self._tokenizer(
                whole,
                add_special_tokens=False,
                return_offsets_mapping=True,
                verbose=False,
            )["offset_mapping"]
            starts = [n for n, (start, _) in enumerate(spans) if start >= end]
            before = spans[: starts[0]] if starts else spans
            if starts and all(stop <= end for _, stop in before):
                return starts[0]
        raise NotAnswered(
            "a token lies across the beginning of the continuation, so that its "
            "probability is not known: let the continuation begin with the space, and "
            "the prompt end without"
        )

    def _conversation(self, request: Request) -> str:
        from jinja2.exceptions import TemplateError

        messages = [message.model_dump() for message in request.messages]
        is_begun = messages[-1]["role"] == "assistant"
        end = "continue_final_message" if is_begun else "add_generation_prompt"
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    messages, tokenize=False, **{end: True}
                )
            )
        except (TemplateError, ValueError) as error:
            raise NotAnswered(
                f"the tokenizer's template cannot write this conversation: {error}"
            ) from error

    def _plain(self, text: str) -> list[int]:
        return self._encoded(text, False)

    def _encoded(self, text: str, has_special: bool) -> list[int]:
        found: list[int] = self._tokenizer(
            text, add_special_tokens=has_special, verbose=False
        )["input_ids"]
        return found

    def _lead_of(self, text: str) -> list[int]:
        """Return the tokens that are put before a text, and none of those after it."""
        whole, plain = self._encoded(text, True), self._plain(text)
        places = range(len(whole) - len(plain) + 1)
        found = (n for n in places if whole[n : n + len(plain)] == plain)
        return whole[: next(found, 0)]

    def _something(self) -> list[int]:
        """Return a token to stand before an empty prompt."""
        known = (self._tokenizer.bos_token_id, self._tokenizer.eos_token_id)
        for each in known:
            if each is not None:
                return [int(each)]
        raise NotAnswered("the prompt is empty, and the model needs one")

    # from tokens to texts

    def text_after(
        self, before: Sequence[int], tokens: Sequence[int], *, shows_special: bool
    ) -> str:
        """Return what some tokens add to a text."""
        context = list(before[-1:])
        special = () if shows_special else self._tokenizer.all_special_ids
        seen = [token for token in tokens if token not in special]
        lead, whole = self._decoded(context), self._decoded([*context, *seen])
        if lead.endswith(_PIECE) or not whole.startswith(lead):
            return self._decoded(seen)
        return whole[len(lead) :]

    def _decoded(self, tokens: Sequence[int]) -> str:
        return str(
            self._tokenizer.decode(
                list(tokens),
                skip_special_tokens=False,
                clean_up_tokenization_spaces=False,
            )
        )
