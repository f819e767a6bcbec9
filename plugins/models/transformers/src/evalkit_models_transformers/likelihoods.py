"""Log-probabilities of texts that are given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from evalkit_models_base import Continuation
from evalkit_models_transformers.encoding import Given


def continuations_of(
    model: Any, given: Sequence[Given], padding: int
) -> list[Continuation | None]:
    """Return the log-probability of each text, the sum over its tokens.

    There is None where the model's logits are no numbers.

    Shorter texts are filled up at the end, where no token before looks.
    """
    import torch

    rows = [torch.tensor(each.tokens) for each in given]
    pad = torch.nn.utils.rnn.pad_sequence
    tokens = pad(rows, batch_first=True, padding_value=padding)
    is_token = pad([torch.ones_like(row) for row in rows], batch_first=True)
    with torch.inference_mode():
        logits = model(
            input_ids=tokens.to(model.device),
            attention_mask=is_token.to(model.device),
            use_cache=False,
        ).logits
        return [
            _scored(row_logits, each)
            for row_logits, each in zip(logits, given, strict=True)
        ]


def _scored(logits: Any, given: Given) -> Continuation | None:
    """Read what each token of a continuation was expected with, one place before."""
    import torch

    end = len(given.tokens)
    expected = torch.log_softmax(logits[given.start - 1 : end - 1].float(), dim=-1)
    own = torch.tensor(given.tokens[given.start :], device=logits.device)
    each = expected.gather(1, own[:, None]).double()
    found = each.sum().item()
    if math.isnan(found):  # negative infinity is a probability of 0
        return None
    return Continuation(
        logprob=min(found, 0.0),
        tokens=end - given.start,
        token_logprobs=tuple(each.flatten().tolist()),
        conditioning_tokens=given.start,
    )
