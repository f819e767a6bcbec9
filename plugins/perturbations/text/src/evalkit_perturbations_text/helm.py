"""Perturbations as HELM 0.5.16 makes them, with its seeds and its faults."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from random import Random
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from evalkit import Parameters, Perturbation
from evalkit_perturbations_text.text_perturbations import UNCHANGED_LABEL, Effect, Share


class HelmPerturbation(Perturbation):
    """Family `helm`, with HELM's random numbers.

    HELM seeds with the id of an example alone, so that all perturbations draw the same
    numbers; each further copy puts its number before the id. Nothing is protected.
    """

    families: ClassVar[frozenset[str]] = frozenset({"helm"})
    version: ClassVar[str] = "1"
    label_effect: ClassVar[Mapping[str, Effect]] = UNCHANGED_LABEL
    protects: ClassVar[bool] = False

    def make_rng(self, seed: int, uid: str, variant: int) -> Random:
        """Make the random numbers of one example."""
        number = seed + variant
        return Random(uid if number == 0 else f"{number}{uid}")


class HelmTextPerturbation(HelmPerturbation):
    """Changes one text at a time."""

    @abstractmethod
    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""


def match_case(source: str, target: str) -> str:
    """Return a word the capitals of another, as HELM does."""
    if all(sign.islower() for sign in source):
        return target.lower()
    if all(sign.isupper() for sign in source):
        return target.upper()
    if source[0].isupper():
        return target.capitalize()
    return target


class HelmLowercase(HelmTextPerturbation):
    """Turns the text into lower case.

    HELM's `lowercase` (Liang et al., Holistic Evaluation of Language Models, 2023;
    version 0.5.16). Deterministic, and nothing is protected: numbers, addresses and
    placeholders are changed as any other text. The answer to a question may not be part
    of the context any more.
    """

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        return text.lower()


_NEGATED = (
    "are could did does do had has have is might must need ought should was were would"
)

_ENDINGS = {
    "'m": ("am", "I i"),
    "'s": ("is", "he how she that there what when where who why it"),
    "'re": ("are", "they we what you"),
    "'ve": ("have", "I i they we you where who could might must should would"),
    "'ll": ("will", "I i he how it she they we who you"),
    "'d": ("would", "I i he it she that there they we you"),
}

_OTHERS = {
    "ain't": "is not",
    "can't": "cannot",
    "can't've": "cannot have",
    "he'd've": "he would have",
    "how'd": "how did",
    "how'd'y": "how do you",
    "ma'am": "madam",
    "shan't": "shall not",
    "where'd": "where did",
    "won't": "will not",
    "you'd've": "you would have",
}


def full_forms() -> dict[str, str]:
    """Return the table."""
    regular = {f"{verb}n't": f"{verb} not" for verb in _NEGATED.split()}
    for ending, (verb, hosts) in _ENDINGS.items():
        regular |= {f"{host}{ending}": f"{host} {verb}" for host in hosts.split()}
    table = _OTHERS | regular
    return {short: table[short] for short in sorted(table, key=len)}


_FULL_FORMS = full_forms()
_SHORT_FORMS = {full: short for short, full in _FULL_FORMS.items() if short != "ain't"}

_FULL = re.compile(rf"\b({'|'.join(_SHORT_FORMS)})\b ", re.IGNORECASE)
_SHORT = re.compile(rf"\b({'|'.join(_FULL_FORMS)})\b", re.IGNORECASE)


def _look_up(table: dict[str, str], word: str) -> str:
    found = table.get(word, table.get(word.lower()))
    return word if found is None else match_case(word, found)


class HelmContractions(HelmTextPerturbation):
    """Draws full forms together wherever a blank follows them.

    HELM's `contraction` (Liang et al., Holistic Evaluation of Language Models, 2023;
    version 0.5.16). Deterministic. Also where English has no short form: `yes, it is
    and` becomes `yes, it's and`; `contractions` is more careful.
    """

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        return _FULL.sub(lambda match: _look_up(_SHORT_FORMS, match[1]) + " ", text)


class HelmExpansions(HelmTextPerturbation):
    """Writes contractions in full; `isn't it` becomes `is not it`.

    HELM's `expansion` (Liang et al., Holistic Evaluation of Language Models, 2023;
    version 0.5.16). Deterministic. Questions are not turned around, and each `'s` of
    its list of words is written in full; `expansions` is more careful.
    """

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        return _SHORT.sub(lambda match: _look_up(_FULL_FORMS, match[0]), text)


_BLANKS = re.compile(" +")


class HelmExtraSpaceParameters(Parameters):
    """How many blanks there are then."""

    num_spaces: Annotated[int, Field(ge=1, le=100)] = 2
    """For each blank so many."""


class HelmExtraSpace(HelmTextPerturbation):
    """Writes each blank several times.

    HELM's `extra_space` (Liang et al., Holistic Evaluation of Language Models, 2023;
    version 0.5.16); `num_spaces` for each. Deterministic.
    """

    Parameters: ClassVar[type[BaseModel]] = HelmExtraSpaceParameters

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        assert isinstance(self.parameters, HelmExtraSpaceParameters)
        return text.replace(" ", " " * self.parameters.num_spaces)


class HelmSpaceParameters(Parameters):
    """How many blanks there may be."""

    max_spaces: Annotated[int, Field(ge=1, le=100)] = 3
    """The most in one place."""


class HelmSpace(HelmTextPerturbation):
    """Gives each run of blanks a drawn length, which may be the one that it has.

    HELM's `space` (Liang et al., Holistic Evaluation of Language Models, 2023; version
    0.5.16): from 1 to `max_spaces`, each as likely. `random-space` changes every run
    that it draws.
    """

    Parameters: ClassVar[type[BaseModel]] = HelmSpaceParameters

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        assert isinstance(self.parameters, HelmSpaceParameters)
        most = self.parameters.max_spaces
        return _BLANKS.sub(lambda _: " " * rng.randint(1, most), text)


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


class HelmSuffixParameters(Parameters):
    """What is appended."""

    suffix: Annotated[str, Field(min_length=1, examples=["pixel art"])]
    """The text."""


class HelmSuffix(HelmTextPerturbation):
    """Appends a comma, a blank and the user's suffix; it has to be given.

    HELM's `style` (Liang et al., Holistic Evaluation of Language Models, 2023; version
    0.5.16), which it uses for prompts of images. Deterministic. What the suffix does to
    an answer is not known.
    """

    Parameters: ClassVar[type[BaseModel]] = HelmSuffixParameters
    label_effect: ClassVar[dict[str, Effect]] = {"*": "uncertain"}

    def perturb(self, text: str, rng: Random) -> str:
        """Change one text."""
        assert isinstance(self.parameters, HelmSuffixParameters)
        return f"{text}, {self.parameters.suffix}"


Gender = Literal["neutral", "female", "male"]

_GENDERS: tuple[Gender, ...] = ("neutral", "female", "male")

# in HELM's order, since each word of the text is drawn for in turn; grandfather stands
# where grandfathers should
_TERMS = (
    "child daughter son, children daughters sons, parent mother father, "
    "parents mothers fathers, kiddo girl boy, kiddos girls boys, person woman man, "
    "people women men, sibling sister brother, siblings sisters brothers, "
    "nibling niece nephew, niblings nieces nephews, monarch queen king, "
    "monarchs queens kings, server waitress waiter, servers waitresses waiters, "
    "parent mom dad, parents moms dads, stepchild stepdaughter stepson, "
    "stepchildren stepdaughters stepsons, stepparent stepmother stepfather, "
    "stepparents stepmothers stepfathers, stepparent stepmom stepdad, "
    "stepparents stepmoms stepdads, grandchild granddaughter grandson, "
    "grandchildren granddaughters grandsons, grandparent grandmother grandfather, "
    "grandparents grandmothers grandfather, grandparent grandma granddad, "
    "grandparents grandmas granddads, human female male, humans females males"
)
_PRONOUNS = (
    "they she he, them her him, their her his, theirs hers his, "
    "themselves herself himself"
)


class HelmGenderParameters(Parameters):
    """Which words become which, and how many."""

    prob: Share = 1.0
    """The share of words; HELM's easy, medium and hard are .1, .3 and .5."""
    source: Gender = "male"
    """The gender of the words that are replaced."""
    target: Gender = "female"
    """The gender of the words in their place."""


class _HelmGender(HelmPerturbation):
    """Replaces words of one gender by those of another.

    References come first and share the random numbers of the texts. As in HELM, the
    first and last word of a text and the second of two beside each other are missed,
    and `his` becomes `their` before it can become `theirs`; `gender-swap` has none of
    these faults.
    """

    Parameters: ClassVar[type[BaseModel]] = HelmGenderParameters
    label_effect: ClassVar[dict[str, Effect]] = {
        "*": "invariant",
        "hs": "uncertain",
        "qa": "transforms",
        "math-qa": "transforms",
    }
    words: ClassVar[str]

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        assert isinstance(chosen, HelmGenderParameters)
        self.prob = chosen.prob
        source, target = (_GENDERS.index(g) for g in (chosen.source, chosen.target))
        rows = [row.split() for row in self.words.split(", ")]
        self.pairs = [
            (re.compile(rf"[^\w]({row[source]})[^\w]", re.IGNORECASE), row[target])
            for row in rows
        ]

    def perturb_example(
        self,
        example: Mapping[str, Any],
        rng: Random,
        fields: Sequence[str],
        answer_field: str | None,
        task: str,
    ) -> Mapping[str, Any] | None:
        """Change the answer, where the task's answers change, and then the fields."""
        names = list(fields)
        if answer_field is not None and self.label_effect.get(task) == "transforms":
            names = [answer_field, *(name for name in fields if name != answer_field)]
        changed = {}
        for name in names:
            before = example.get(name)
            after = self._change(before, rng)
            if after != before:
                changed[name] = after
        return changed or None

    def _change(self, value: Any, rng: Random) -> Any:
        if isinstance(value, str):
            return self.change_text(value, rng)
        if isinstance(value, list | tuple):
            return [self._change(element, rng) for element in value]
        return value

    def change_text(self, text: str, rng: Random) -> str:
        """Change one text."""
        for pattern, new in self.pairs:
            text = pattern.sub(partial(self._put, new, rng), text)
        return text

    def _put(self, new: str, rng: Random, match: re.Match[str]) -> str:
        if rng.uniform(0, 1) >= self.prob:
            return match[0]
        return match[0].replace(match[1], match_case(match[1], new))


class HelmGenderTerms(_HelmGender):
    """Replaces nouns such as `father`, by default by female ones.

    HELM's `gender`, mode `terms` (Liang et al., Holistic Evaluation of Language Models,
    2023; version 0.5.16). In one direction only, and with HELM's faults: the first and
    last word of a text, and the second of two beside each other, are missed.
    `gender-swap` has none of them.
    """

    words = _TERMS


class HelmGenderPronouns(_HelmGender):
    """Replaces pronouns such as `his`, by default by female ones.

    HELM's `gender`, mode `pronouns` (Liang et al., Holistic Evaluation of Language
    Models, 2023; version 0.5.16). In one direction only, and with HELM's faults: the
    first and last word of a text are missed, and of words that are two things, such as
    `her`, the first is taken. `gender-swap` decides by grammar.
    """

    words = _PRONOUNS
