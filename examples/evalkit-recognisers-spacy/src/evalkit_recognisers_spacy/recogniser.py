"""Finds people, places and organisations by the entity recogniser of a spaCy model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evalkit import Entity, Parameters, PluginLoadError

if TYPE_CHECKING:
    from spacy.language import Language

_KINDS = {"PERSON": "person", "PER": "person"}
"""What evalkit calls the labels of English and of other models."""

_NEEDED = ("ner", "tok2vec", "transformer")
"""The parts of a model that find entities; the others are not loaded."""


class SpacyRecogniser:
    """Finds entities by a model of spaCy that is installed.

    Parameters:
        model: Name of the model's package, or the path of its folder. A model is
            installed with `python -m spacy download en_core_web_sm`.
    """

    class Parameters(Parameters):
        """Which model is used."""

        model: str = "en_core_web_sm"

    version = "1"
    languages = ()  # those of the model

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.parameters: Any = parameters or self.Parameters()

    @cached_property
    def _pipeline(self) -> Language:
        import spacy

        name = self.parameters.model
        try:
            pipeline = spacy.load(name)
        except OSError as error:
            raise PluginLoadError(
                f"recognisers/spacy: the model {name!r} cannot be loaded: {error}; "
                f"install it with `python -m spacy download {name}`, or name another "
                "one (spacy:model=NAME)"
            ) from error
        if "ner" not in pipeline.pipe_names:
            raise PluginLoadError(
                f"recognisers/spacy: the model {name!r} has no entity recogniser; it "
                f"has {', '.join(pipeline.pipe_names) or 'nothing'}"
            )
        pipeline.select_pipes(
            enable=[part for part in pipeline.pipe_names if part in _NEEDED]
        )
        return pipeline

    def find_entities(self, texts: Sequence[str]) -> list[list[Entity]]:
        """Find entities.

        Args:
            texts: The texts of one example.

        Returns:
            For each text its entities; the kind is `person`, else spaCy's label in
            lower case, such as `org`.

        Raises:
            PluginLoadError: The model is not installed, or finds no entities.
        """
        return [
            [
                Entity(
                    found.start_char,
                    found.end_char,
                    _KINDS.get(found.label_, found.label_.lower()),
                )
                for found in document.ents
            ]
            for document in self._pipeline.pipe(texts)
        ]
