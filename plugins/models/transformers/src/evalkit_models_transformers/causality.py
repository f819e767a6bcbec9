"""Whether a model looks at later tokens."""

from __future__ import annotations

from typing import Any

_SAME = 2
"""Tokens that begin both texts."""

_TOKENS = 8
_NOISE = 1e-4
_ROUNDINGS = 4
"""So much of the greatest logit is noise, or so many times what a number is rounded by:
what is later may change how products are computed."""


def looks_ahead(model: Any, most: int | None) -> bool:
    """Tell whether logits depend on what comes after them.

    Two pairs of texts are asked whose beginnings are the same; of one pair noise may
    send a token to another expert.
    """
    words = int(model.config.get_text_config().vocab_size)
    count = min(_TOKENS, most or _TOKENS)
    if words < 2 or count < 2:
        return False
    same = min(_SAME, count - 1)
    return all(
        _changes(model, _text(words, count, first), same) for first in (0, words // 3)
    )


def _text(words: int, count: int, first: int) -> list[int]:
    step = max(words // (2 * count), 1)
    return [(first + (place + 1) * step) % words for place in range(count)]


def _changes(model: Any, tokens: list[int], same: int) -> bool:
    """Tell whether other tokens at the end change the logits at the beginning."""
    import torch

    words = int(model.config.get_text_config().vocab_size)
    later = [(token + words // 2) % words for token in tokens[same:]]
    given = torch.tensor([tokens, [*tokens[:same], *later]], device=model.device)
    with torch.inference_mode():
        one, other = (
            model(
                input_ids=row[None],
                attention_mask=torch.ones_like(row[None]),
                use_cache=False,
            ).logits[0, :same]
            for row in given
        )
    share = max(_NOISE, _ROUNDINGS * torch.finfo(one.dtype).eps)
    one, other = one.float(), other.float()
    # what is no number is an error of each text, and says nothing of what is read
    return bool(((one - other).abs() > share * one.abs().max()).any())
