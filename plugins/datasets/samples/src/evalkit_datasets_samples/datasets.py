"""The four sample data sets."""

from __future__ import annotations

from pathlib import Path

from evalkit import Dataset

_PACKAGE = Path(__file__).parent


def _predictions(dataset: str, *models: str) -> dict[str, Path]:
    folder = _PACKAGE / "predictions" / dataset
    return {model: folder / f"{model}.jsonl" for model in models}


class _Sample(Dataset):
    """What the samples share: a packaged file, and a public-domain licence."""

    license = "CC0-1.0"
    languages = ("en",)
    version = "1"

    def load(self, split: str) -> Path:
        """Return the packaged file of the split; that of `test` has no more name."""
        part = "" if split == "test" else f"-{split}"
        return _PACKAGE / "data" / f"{self.name}{part}.jsonl"


class SampleNli(_Sample):
    """Pairs of context and hypothesis."""

    name = "sample-nli"
    task = "nli"
    description = "Natural language inference over short English texts"
    example_predictions = _predictions("sample-nli", "rules", "overlap")


class SampleHateSpeech(_Sample):
    """Hateful statements, and harmless ones that look like them."""

    name = "sample-hs"
    task = "hs"
    description = "Hate speech detection with counter-speech and other hard cases"
    content_warning = "contains derogatory statements about groups of people"
    example_predictions = _predictions("sample-hs", "keywords", "profanity")


class SampleSentiment(_Sample):
    """Statements with sentiment, and some without."""

    name = "sample-sentiment"
    task = "sentiment"
    splits = ("test", "train")
    description = "Sentiment of short English statements"
    example_predictions = _predictions("sample-sentiment", "vader", "afinn")


class SampleQuestionAnswering(_Sample):
    """Short passages with questions."""

    name = "sample-qa"
    task = "qa"
    cluster = "context"
    description = "Extractive question answering over short English passages"
    example_predictions = _predictions("sample-qa", "typed", "overlap")
