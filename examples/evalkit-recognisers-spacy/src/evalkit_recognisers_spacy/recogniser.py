"""Finds people, places and organizations with a spaCy model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.language import Language

_KINDS = {"PERSON": "person", "PER": "person"}
"""Kinds of the labels of English models and of others."""

_NEEDED = ("ner", "tok2vec", "transformer")
"""Parts of a model that find entities. The others are not loaded."""


class SpacyRecogniser:
    """Finds entities with an installed model of spaCy.

    Args:
        model: Name of the model's package, or the path of its folder. Install a model
            with `python -m spacy download en_core_web_sm`.
    """

    def __init__(self, model: str = "en_core_web_sm") -> None:
        self.model = model

    @cached_property
    def _pipeline(self) -> Language:
        import spacy

        try:
            pipeline = spacy.load(self.model)
        except OSError as error:
            raise ValueError(
                f"model {self.model!r} cannot be loaded: {error}. Install it with "
                f"`python -m spacy download {self.model}`, or use another one "
                "(spacy:model=NAME)"
            ) from error
        if "ner" not in pipeline.pipe_names:
            raise ValueError(
                f"model {self.model!r} has no entity recognizer (ner). Its parts: "
                f"{', '.join(pipeline.pipe_names) or 'none'}"
            )
        pipeline.select_pipes(
            enable=[part for part in pipeline.pipe_names if part in _NEEDED]
        )
        return pipeline

    def find_entities(self, texts: Sequence[str]) -> list[list[tuple[int, int, str]]]:
        """Find entities.

        Args:
            texts: The texts of one example.

        Returns:
            Start, end and kind of each entity, for each text. The kind is `person`, or
            spaCy's label in lower case, such as `org`.

        Raises:
            ValueError: The model is not installed, or finds no entities.
        """
        return [
            [
                (
                    entity.start_char,
                    entity.end_char,
                    _KINDS.get(entity.label_, entity.label_.lower()),
                )
                for entity in document.ents
            ]
            for document in self._pipeline.pipe(texts)
        ]
