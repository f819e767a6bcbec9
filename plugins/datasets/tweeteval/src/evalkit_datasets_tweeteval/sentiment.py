"""TweetEval's sentiment set, which is SemEval 2017 task 4, subtask A."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from evalkit import DataError, Dataset, Source
from evalkit_datasets_tweeteval.publisher import (
    CITATION,
    REPOSITORY,
    name_label,
    read_mapping,
    read_rows,
    url_of,
)

NAMES = ("negative", "neutral", "positive")


class TweetEvalSentiment(Dataset):
    """12 284 tweets; the official metric is macro-averaged recall.

    Predictions may be names or the publisher's label numbers.
    """

    name = "tweeteval-sentiment"
    task = "sentiment"
    labels = {str(number): name for number, name in enumerate(NAMES)}
    perf_metric = "macro-recall"
    eval_metrics = ("accuracy", "macro-f1")
    version = "1"
    license = "LicenseRef-Twitter-terms"
    source_url = REPOSITORY
    languages = ("en",)
    description = "Sentiment of tweets (SemEval 2017 task 4 A), as in TweetEval"
    content_warning = "contains tweets, some of them offensive"
    citation = CITATION
    sources = {
        filename: Source(
            url=url_of("sentiment", filename),
            sha256=sha256,
            license="LicenseRef-Twitter-terms",
            citation=CITATION,
        )
        for filename, sha256 in (
            (
                "test_text.txt",
                "09a93a55c63fd93f97485ef7302889d7edb4091cd49733aa37da094f0bfa0675",
            ),
            (
                "test_labels.txt",
                "6afb4afe9374d1f983bcf9a7c79b108d0f37fdf020a83f30488309bed215db9d",
            ),
            (
                "mapping.txt",
                "c0572796fbe261d8ea5fd16c5061076fbba49bc69fc865d6abccaf60daacee24",
            ),
        )
    }

    def load(self, split: str) -> list[dict[str, Any]]:
        """Read texts and labels; the id is the line's number."""
        if self._names != self.labels:
            raise DataError(
                f"{self.file('mapping.txt')}: names the labels {_listed(self._names)}; "
                f"expected {_listed(self.labels)}"
            )
        return read_rows(self.file("test_text.txt"), self.file("test_labels.txt"))

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return read_mapping(self.file("mapping.txt"))

    def adapt_response(self, response: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take label numbers for the names that the mapping gives them."""
        return name_label(response, self._names)


def _listed(names: Mapping[str, str]) -> str:
    return ", ".join(f"{number} {name}" for number, name in names.items())
