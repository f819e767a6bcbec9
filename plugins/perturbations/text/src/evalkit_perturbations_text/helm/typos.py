"""HELM's `typos`."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from pydantic import BaseModel

from evalkit import Parameters
from evalkit_perturbations_text.helm.base import HelmTextPerturbation
from evalkit_perturbations_text.text_perturbations import Share

# in HELM's order, since a letter is drawn by its place
_KEYS = (
    "q:was w:qesad e:wsdfr r:edfgt t:rfghy y:tghju u:yhjki i:ujklo o:iklp p:ol "
    "a:qwsz s:weadzx d:erfcxs f:rtgvcd g:tyhbvf h:yujnbg j:uikmnh k:iolmj l:opk "
    "z:asx x:sdcz c:dfvx v:fgbc b:ghnv n:hjmb m:jkn"
)
_NEIGHBOURS = dict(key.split(":") for key in _KEYS.split(" "))


class HelmTyposParameters(Parameters):
    """How much is changed."""

    prob: Share = 0.1
    """The share of letters; HELM's easy, medium and hard are .1, .3 and .5."""


class HelmTypos(HelmTextPerturbation):
    """Replaces letters by one whose key is near theirs (QWERTY).

    HELM's `typos` (Liang et al., Holistic Evaluation of Language Models, 2023; version
    0.5.16). Each letter is drawn with `prob`, .1 by default; HELM's easy, medium and
    hard are .1, .3 and .5. A letter may become the one above, below or beside it;
    capitals stay capitals.
    """

    Parameters: ClassVar[type[BaseModel]] = HelmTyposParameters

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        assert isinstance(self.parameters, HelmTyposParameters)
        prob = self.parameters.prob
        changed = []
        for letter in text:
            new = small = letter.lower()
            if small in _NEIGHBOURS and rng.random() < prob:
                new = rng.choice(_NEIGHBOURS[small])
            changed.append(new if small == letter else new.upper())
        return "".join(changed)
