"""The data set `my-thing`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import evalkit

REVIEWS = {
    "dev": [("Dull.", "negative")],
    "test": [("What a film!", "positive"), ("I left early.", "negative")],
}


class MyThing(evalkit.Dataset):
    """Short reviews of films, by visitors of one cinema."""

    name = "my-thing"
    task = "sentiment"
    splits = ("dev", "test")
    default_split = "test"
    version = "1"
    license = "CC0-1.0"
    languages = ("en",)

    def load(self, split: str) -> Iterator[dict[str, Any]]:
        """Yield the examples of a split."""
        for number, (text, label) in enumerate(REVIEWS[split]):
            length = "short" if len(text) < 10 else "long"
            yield {
                "uid": f"{split}-{number}",
                "statement": text,
                "label": label,
                "tags": [f"length:{length}"],
            }
