"""What a file says that declares a judge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    computed_field,
    field_serializer,
    field_validator,
    model_validator,
)

from evalkit import Parameters
from evalkit.errors import PluginContractError
from evalkit_models_base import Asked, Sampling
from evalkit_models_base.limits import Price

Finite = Annotated[float, Field(allow_inf_nan=False)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=62)]
Kind = Literal["label", "number", "json", "correct", "pair"]
Take = Literal["first", "last", "only"]
Label = Annotated[str, Field(min_length=1, pattern=r"^\S(.*\S)?$")]

RECORDED = "sha256:"
"""What a run writes in place of the name of a file, before its SHA-256."""


class _Declared(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class JudgePrompt(_Declared):
    """What a judge is asked: templates over fields of the data and the response.

    Beside these there are `response` (what is judged; of pairs `first` and `second`),
    `reference` (the answer of the data), `rubric`, and `criterion`, its name.
    """

    user: str
    """The message; it names `{rubric}`, and `{response}` or, of pairs, `{first}` and
    `{second}`."""
    system: str | None = None
    """What stands before it; joined to it for a model that cannot chat."""


class VerdictRule(_Declared):
    """How a verdict is read from a reply, and what it is worth."""

    kind: Kind
    """`label`: one of `values`. `number`: one within `range`. `json`: the value of
    `key` in the last object that has it. `correct`: one of two `words`. `pair`: one of
    `marks`."""
    values: Mapping[Label, Finite] | None = None
    """What each label is worth. Of a pair, in place of `marks`: what each mark is worth
    for the first answer (`[[A>>B]]` to `[[B>>A]]`, in any order); of the second answer
    it is worth what the mark with A and B exchanged is. The verdict on both orders is
    the mean."""
    range: tuple[Finite, Finite] | None = None
    """The least and the greatest number that counts."""
    tag: Annotated[str, Field(pattern=r"^[A-Za-z][\w-]*$")] | None = None
    """Name of the tag that a label or number stands in: `score` for
    `<score>7</score>`."""
    pattern: str | None = None
    """In place of a tag: a regular expression with one group, which is the verdict."""
    take: Take | None = None
    """Which of several counts; `only` for none of them. By default the last one in a
    tag or pattern, and else `only`."""
    key: str = "criteria_met"
    """The key of an object of JSON: true and false, a number within `range`, or one of
    the labels of `values`."""
    words: tuple[Label, Label] = ("CORRECT", "INCORRECT")
    """What says that a response is right, and what that it is wrong, as whole words in
    this case; `NOT CORRECT` is wrong."""
    marks: tuple[Label, Label, Label] = ("[[A]]", "[[B]]", "[[C]]")
    """What says that the first answer is better, the second, and neither."""


class Criterion(_Declared):
    """One of several things that a response is judged by."""

    name: Name
    rubric: Annotated[str, Field(min_length=1)]
    points: Finite = 1.0
    """How much it weighs; less than 0 for what a response should not do."""


class PairRule(_Declared):
    """How two answers are compared."""

    other: str = "against"
    """The field of the data or the predictions that holds the other answer; `against`
    for that of the run that `--against` names."""
    swap: bool = True
    """Whether each pair is judged in both orders."""
    ties: bool = True
    """Whether verdicts that differ by order are a tie; else they are inconsistent."""


class JudgeModel(_Declared):
    """One of several judges."""

    name: Name
    model: str
    generate: Sampling | None = None
    """How it generates, in place of what the file says for all."""

    @property
    def described(self) -> str:
        """Which judge it is, and which model, for messages."""
        name = "" if self.name == "judge" else f" ({self.name})"
        return f"the judge {self.model}{name}"


class Limits(_Declared):
    """Limits of asking, which change no verdict: part of no identity."""

    concurrency: Annotated[int, Field(ge=1)] | None = None
    retries: Annotated[int, Field(ge=0)] = 5
    timeout: Annotated[Finite, Field(gt=0)] = 600.0
    requests_per_minute: Annotated[Finite, Field(gt=0)] | None = None
    tokens_per_minute: Annotated[Finite, Field(gt=0)] | None = None
    token_limit: Annotated[int, Field(ge=1)] | None = None
    max_errors: Annotated[Finite, Field(ge=0)] | None = None
    """How many requests may fail for good before nothing more is asked; below 1 which
    share of them. By default 20, or 5 % where that is more."""
    cache: bool = True
    dry_run: bool = False
    """Whether to say what would be asked, and ask nothing: `--dry-run`."""

    @property
    def asked(self) -> Asked:
        """The same for who asks."""
        own = self.model_dump(exclude={"timeout", "max_errors", "cache", "dry_run"})
        own |= {"seconds": self.timeout, "is_cached": self.cache}
        if self.max_errors is None:
            return Asked(**own, least_errors=20)
        return Asked(**own, max_errors=self.max_errors)


def unknown_keys(
    place: str, model: type[BaseModel], said: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Find keys that there are not, also in tables within tables."""
    fields = model.model_fields
    for name, value in said.items():
        if name not in fields:
            near = get_close_matches(name, fields, n=1)
            mend = (
                f"did you mean {near[0]!r}?" if near else f"it is {', '.join(fields)}"
            )
            yield f"{place}{name}", f"there is no such key; {mend}"
            continue
        inner = _model_in(fields[name].annotation)
        for each in value if isinstance(value, list) else [value]:
            if inner is not None and isinstance(each, Mapping):
                yield from unknown_keys(f"{place}{name}.", inner, each)


def _model_in(kind: Any) -> type[BaseModel] | None:
    """Return the model that an annotation is of, alone, in a tuple or with None."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind
    found = (_model_in(part) for part in get_args(kind))
    return next((each for each in found if each is not None), None)


class Declaration(Parameters):
    """A judge: which model is asked, how, and what its verdicts are worth."""

    model: str | None = None
    """The model that judges: `NAME[:KEY=VALUE,…]`, as for `--model`."""
    judges: tuple[JudgeModel, ...] = ()
    """Several of them, in place of `model`."""
    combine: Literal["majority", "mean"] | None = None
    """What several judges say together: what more than half of them say, or the mean
    of what all of them say."""
    prompt: JudgePrompt
    rubric: Annotated[str, Field(min_length=1)] | None = None
    """What is judged, and how."""
    criteria: tuple[Criterion, ...] = ()
    """Several rubrics, in place of one; each is asked about alone."""
    criteria_field: str | None = None
    """In place of them: the field of the data that holds an example's own rubrics: a
    list of texts, or of objects with `rubric` and `points`."""
    verdict: VerdictRule
    pair: PairRule | None = None
    generate: Sampling = Sampling()
    human: str | None = None
    """The field of the data or the predictions that holds people's verdicts."""
    human_file: Path | None = None
    """In place of it: a file of JSON lines or CSV with people's verdicts: `id`, of the
    example, and `verdict`."""
    asking: Limits = Field(default=Limits(), exclude=True)
    prices: Price | None = Field(default=None, exclude=True)
    _identities: list[dict[str, Any]] = PrivateAttr(default_factory=list)
    _people_sha256: str | None = PrivateAttr(default=None)

    @field_validator("judges", "criteria")
    @classmethod
    def _have_names_of_their_own(cls, given: tuple[Any, ...]) -> tuple[Any, ...]:
        names = [each.name for each in given]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"the name {twice[0]!r} stands there twice")
        return given

    @model_validator(mode="before")
    @classmethod
    def _forget_what_is_found_anew(cls, given: Any) -> Any:
        """Take what a run recorded, which holds the models' identities, too."""
        if not isinstance(given, Mapping):
            return given
        said = {name: value for name, value in given.items() if name != "identities"}
        for key, problem in unknown_keys("", cls, said):
            # not a ValueError, of which pydantic would lose the place
            raise PluginContractError(f"{key}: {problem}")
        return said

    @computed_field
    def identities(self) -> list[dict[str, Any]]:
        """What tells the models from others, as they say themselves."""
        return self._identities

    # what a run is known by says what models and files are, not how they are named

    @field_serializer("model")
    def _model_as_known(self, given: str | None) -> str | None:
        return self._known(0, given) if given is not None else None

    @field_serializer("judges")
    def _judges_as_known(self, given: tuple[JudgeModel, ...]) -> list[dict[str, Any]]:
        return [
            {
                **each.model_dump(mode="json", exclude_defaults=True),
                "model": self._known(number, each.model),
            }
            for number, each in enumerate(given)
        ]

    @field_serializer("human_file")
    def _file_as_known(self, given: Path | None) -> str | None:
        if self._people_sha256 is not None:
            return f"{RECORDED}{self._people_sha256}"
        return None if given is None else str(given)

    def _known(self, number: int, given: str) -> str:
        if not self._identities or ".py:" in given:
            return given
        identity = self._identities[number]
        name = str(identity["id"]).partition("/")[2]
        texts = {
            key: each if isinstance(each, str) else json.dumps(each)
            for key, each in sorted(identity["parameters"].items())
        }
        said = ",".join(f"{key}={text}" for key, text in texts.items())
        return f"{name}:{said}" if said else name

    @property
    def panel(self) -> tuple[JudgeModel, ...]:
        """The judges; one without a name of its own is called `judge`."""
        if self.judges:
            return self.judges
        return (JudgeModel(name="judge", model=self.model or ""),)

    def generates(self, judge: JudgeModel) -> Sampling:
        """Return how a judge generates."""
        return self.generate if judge.generate is None else judge.generate
