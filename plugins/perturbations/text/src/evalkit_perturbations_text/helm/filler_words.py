"""HELM's `filler_words`."""

from __future__ import annotations

from random import Random
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from evalkit import Parameters
from evalkit_perturbations_text.helm.base import HelmTextPerturbation
from evalkit_perturbations_text.text_perturbations import Effect, Share

# in HELM's order, since a phrase is drawn by its place
_SPEAKER = (
    "I think",
    "I believe",
    "I mean",
    "I guess",
    "that is",
    "I assume",
    "I feel",
    "In my opinion",
    "I would say",
)
_UNCERTAIN = ("maybe", "perhaps", "probably", "possibly", "most likely")
_FILL = (
    "uhm",
    "umm",
    "ahh",
    "err",
    "actually",
    "obviously",
    "naturally",
    "like",
    "you know",
)


class HelmFillerWordsParameters(Parameters):
    """How much is inserted, and what."""

    insert_prob: Share = 0.333
    """The share of words that get a phrase before them; HELM's scenarios take .3 or .1
    with `speaker_ph=false`."""
    max_num_insert: Annotated[int, Field(ge=0)] | None = None
    """The most phrases in a text; None for any number."""
    speaker_ph: bool = True
    """Whether phrases such as `I think` are among them."""
    uncertain_ph: bool = True
    """Whether words such as `maybe` are among them."""
    fill_ph: bool = True
    """Whether words such as `uhm` are among them."""


class HelmFillerWords(HelmTextPerturbation):
    """Puts phrases before words; some of them change what a text entails.

    HELM's `filler_words` (Liang et al., Holistic Evaluation of Language Models, 2023;
    version 0.5.16). Each word, also the first, is drawn with `insert_prob`. Since
    `maybe` and `I think` change what follows from a text, the answer is uncertain for
    `nli` and `qa`.
    """

    Parameters: ClassVar[type[BaseModel]] = HelmFillerWordsParameters
    label_effect: ClassVar[dict[str, Effect]] = {
        "*": "invariant",
        "nli": "uncertain",
        "qa": "uncertain",
    }

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, HelmFillerWordsParameters)
        self.prob = chosen.insert_prob
        self.most = chosen.max_num_insert
        self.phrases = (
            _SPEAKER * chosen.speaker_ph
            + _UNCERTAIN * chosen.uncertain_ph
            + _FILL * chosen.fill_ph
        )

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text; without any phrase it stays."""
        if not self.phrases:
            return text
        changed = []
        inserted = 0
        for word in text.split(" "):
            may_insert = self.most is None or inserted < self.most
            if may_insert and rng.random() <= self.prob:
                changed.append(rng.choice(self.phrases))
                inserted += 1
            changed.append(word)
        return " ".join(changed)
