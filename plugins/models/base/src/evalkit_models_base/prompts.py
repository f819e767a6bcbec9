"""Prompts: how an input of a task becomes requests, as declared data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from evalkit.catalog import is_file_name
from evalkit.errors import DataError, EvalkitError
from evalkit_models_base.requests import Sampling
from evalkit_models_base.templates import fields_of

if TYPE_CHECKING:
    from evalkit_adapters_rows.patterns import Pattern

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

TRAINING = "train"
"""The split that shots are from, where nobody says another."""

OWN_FIELDS = ("choices", "labels", "cue", "choice", "letter")
"""Fields of templates that no input has."""

Form = Literal["text", "chat"]
"""What a model is sent."""

Method = Literal[
    "generation", "joint", "separate", "calibrated", "ranking", "language-modelling"
]
"""What is asked of an example."""

Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Declared(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Choices(_Declared):
    """How the options of an example are listed."""

    field: str | None = None
    """The field of the input that holds them; by default the task's, and where it has
    none the labels."""
    letters: tuple[str, ...] = tuple(LETTERS)
    """What stands for each; a text is taken letter by letter."""
    line: str = "{letter}. {choice}"
    separator: str = "\n"
    order: Literal["given", "shuffled", "sorted"] = "given"
    """As in the data, drawn anew for each example, or by their texts."""
    seed: int = 0
    """What a shuffled order is drawn with, beside the example's id."""

    @field_validator("letters", mode="before")
    @classmethod
    def _taken_apart(cls, given: Any) -> Any:
        return tuple(given) if isinstance(given, str) else given

    @field_validator("letters")
    @classmethod
    def _differ(cls, letters: tuple[str, ...]) -> tuple[str, ...]:
        bare = [letter.strip() for letter in letters]
        twice = sorted(each for each, count in Counter(bare).items() if count > 1)
        if not bare or "" in bare:
            raise ValueError("there must be letters, and none may be blank")
        if twice:
            raise ValueError(f"the letter {twice[0]!r} stands for two options")
        return letters

    @field_validator("line")
    @classmethod
    def _names_choice(cls, line: str) -> str:
        named = _fields(line)
        if "choice" not in named or not {*named} <= {"choice", "letter"}:
            raise ValueError("a line names {choice}, may name {letter}, nothing else")
        return line


class Separators(_Declared):
    """What stands between the parts of a prompt."""

    instructions: str = "\n\n"
    """Between the instructions and what follows."""
    shots: str = "\n\n"
    """Between shots, and before the query; in texts only."""
    cue: str = "\n"
    """Between the query and the cue."""
    answer: str = " "
    """Between the cue and an answer."""
    answers: str = ", "
    """Between several answers of a shot."""
    labels: str = ", "
    """Between the labels."""


class Turn(_Declared):
    """What one side said before; a template as the query is."""

    role: Literal["user", "assistant"]
    content: str


class Shots(_Declared):
    """Examples with answers that stand before the query."""

    count: Annotated[int, Field(strict=True, ge=0)] | None = None
    """How many; by default all `examples`, and none of a source."""
    source: str | None = None
    """Where they are from: another split of the data set, or a file like its data; by
    default the split `train`, where there is one that is not asked."""
    examples: tuple[Mapping[str, Any], ...] | None = None
    """The examples themselves, in place of a source: fields of the input, and
    `answer`."""
    draw: Literal["first", "random", "balanced", "lm-eval", "helm"] | None = None
    """In their order; by chance; by chance with each answer equally often; as
    lm-evaluation-harness does, anew for each example; or as HELM does. By default
    `examples` stand in their order, and those of a source are drawn."""
    match: str | None = None
    """A facet or column, in which shots are like the example."""
    spare: bool | None = None
    """With `lm-eval`, whether one more is drawn, to leave out the example itself; with
    `first`, whether the first others of each example are shown. With `lm-eval` by
    default where the source is the split that is asked."""
    fewer: bool = False
    """Whether all are shown, with a notice, where there are fewer than `count`."""
    seed: int | None = None
    """By default 1234 for `lm-eval`, else 0."""

    @property
    def drawn(self) -> str:
        """How they are drawn."""
        return self.draw or ("first" if self.examples is not None else "random")

    @property
    def is_by_example(self) -> bool:
        """Whether each example has shots of its own, which only leave out itself."""
        return self.draw == "lm-eval" or bool(self.spare)

    @property
    def drawn_with(self) -> int:
        """The seed."""
        return (
            (1234 if self.draw == "lm-eval" else 0) if self.seed is None else self.seed
        )

    @property
    def are_in_order(self) -> bool:
        """Whether the first ones are shown."""
        return self.drawn == "first"

    @property
    def wanted(self) -> int:
        """How many there are."""
        return len(self.examples or ()) if self.count is None else self.count

    def said(self) -> dict[str, Any]:
        """Return what it says, as it comes to; nothing where none are shown."""
        if not self.wanted:
            return {}
        said = self.model_dump(mode="json", exclude_defaults=True)
        said |= {"count": self.wanted, "draw": self.drawn, "seed": self.drawn_with}
        if self.are_in_order or not self.drawn_with:
            del said["seed"]
        if self.source == TRAINING:
            del said["source"]
        elif self.source is not None and is_file_name(self.source):
            said["source"] = PurePath(self.source).name
        return said

    @model_validator(mode="after")
    def _come_from_one_place(self) -> Self:
        if self.source is not None and self.examples is not None:
            raise ValueError("shots have either a source or examples")
        if self.spare is not None and self.draw not in ("lm-eval", "first"):
            raise ValueError("spare is for the draws lm-eval and first")
        for number, each in enumerate(self.examples or (), start=1):
            if each.get("answer") is None:
                raise ValueError(f"the example {number} has no answer")
        return self


class Prompt(_Declared):
    """How an input becomes requests.

    A text is made of `instructions`, shots and the query, each shot a query, the cue
    and an answer. In a chat instructions and query are the user's, and the answers of
    shots the model's.
    """

    query: str
    """The input, as a template over its fields."""
    method: Method = "generation"
    """What is asked: a text, a letter, or how probable each option is."""
    instructions: str = ""
    """What stands before all; a template over `labels` and `cue`."""
    system: str | None = None
    """The first message of a chat; left out of texts."""
    turns: tuple[Turn, ...] = ()
    """What was said before the query, in a chat."""
    cue: str = ""
    """What the answer stands behind, such as `Answer:`."""
    cue_by: Literal["user", "model"] = "user"
    """Who writes the cue in a chat."""
    answer: str = "{answer}"
    """How the answer of a shot is written: a template over the fields of the shot and
    `answer`, which is the letter where the method is joint."""
    answers: Literal["first", "all", "json"] = "first"
    """Which answers are written of a shot that has several; `json` for a list of them
    in JSON, as which the reply is read too."""
    separators: Separators = Separators()
    choices: Choices = Choices()
    shots: Shots = Shots()
    trim: Literal["none", "first", "all"] = "none"
    """Of which messages of a chat blanks at both ends are taken away."""
    form: Form | None = None
    """What the model is sent; by default a chat where it can."""
    one_message: bool = False
    """Whether the user writes the whole text, with its shots, as one message of a
    chat."""
    normalise: Literal["sum", "tokens", "bytes", "characters"] = "sum"
    """What the log-probability of an option is divided by; `sum` for nothing."""
    calibration: str | None = None
    """What stands in place of the query where options are calibrated; by default the
    cue alone."""
    verdicts: tuple[str, str] = ("Yes", "No")
    """What a model says of an option that is relevant, and of one that is not, where
    the method is ranking."""
    extract: str | Sequence[str | Mapping[str, Any]] | None = None
    """What takes the answer out of the reply, as for `--extract`."""
    generate: Sampling = Sampling()
    prefix: str = ""
    """What stands before the whole text, or the first message of the user."""
    suffix: str = ""
    """What stands behind the whole text, or the last message of the user."""
    substitutions: tuple[tuple[str, str], ...] = ()
    """Regular expressions and replacements, for the whole text or each message."""
    trials: Annotated[int, Field(strict=True, ge=1)] = 1
    """How often all are asked, each time with other shots."""
    replications: Annotated[int, Field(strict=True, ge=1)] = 1
    """How often the same is asked anew in each trial."""

    @field_validator("substitutions")
    @classmethod
    def _can_be_used(cls, given: tuple[tuple[str, str], ...]) -> Any:
        try:
            patterns_of(given)
        except EvalkitError as error:
            raise ValueError(str(error)) from error
        return given

    @property
    def uses_continuations(self) -> bool:
        """Whether log-probabilities of given texts are asked for."""
        return self.method not in ("generation", "joint")

    @property
    def input_templates(self) -> list[str]:
        """The templates that are filled anew for each example."""
        return [self.query, *(turn.content for turn in self.turns)]

    def named(self) -> set[str]:
        """Return the names of all fields that its templates name, but for `answer`.

        Raises:
            DataError: A template is malformed.
        """
        others = (self.instructions, self.system or "")
        templates = (*self.input_templates, *others)
        return {name for template in templates for name in fields_of(template)}

    def fields(self) -> list[str]:
        """Return the names of the fields of the input that it takes.

        Raises:
            DataError: A template is malformed.
        """
        names = [
            name
            for template in self.input_templates
            for name in fields_of(template)
            if name not in OWN_FIELDS
        ]
        return list(dict.fromkeys(names))

    def said(self) -> dict[str, Any]:
        """Return what it says, without what would be so if it were left out.

        Files are named without their folder.
        """
        said = self.model_dump(mode="json", exclude_defaults=True)
        said["shots"] = self.shots.said()
        said.pop("trials", None), said.pop("replications", None)
        if self.choices.order != "shuffled":
            said.get("choices", {}).pop("seed", None)
        if self.calibration == self.cue:
            said.pop("calibration", None)
        return {key: each for key, each in said.items() if each != {}}


def read_prompt(
    given: str | Path | Mapping[str, Any] | Prompt | None,
    declared: Mapping[str, Mapping[str, Any]],
    where: str,
    kind: str | None = None,
) -> tuple[str, Prompt]:
    """Return the prompt that is meant; by default that for the kind of the model."""
    if isinstance(given, Prompt):
        return "prompt", given
    if isinstance(given, Mapping):
        return "prompt", checked_prompt("prompt", given)
    if given is None:
        if not declared:
            raise DataError(
                f"{where} declares no prompts: say how a model is asked with --prompt "
                "FILE (prompt=)"
            )
        kinds = [kind or "instruct", *(["instruct"] if kind == "reasoning" else [])]
        given = next(name for name in (*kinds, *declared) if name in declared)
    name = str(given)
    if name in declared:
        return name, checked_prompt(f"{where}: the prompt {name!r}", declared[name])
    if not any(sign in name for sign in "./"):
        known = ", ".join(map(repr, declared)) or "none"
        raise DataError(f"{where} has no prompt {name!r}; it has {known}")
    from evalkit_adapters_rows import read_stages

    return name, checked_prompt(name, read_stages(name))


def checked_prompt(where: str, said: Any) -> Prompt:
    """Return what is said as a prompt."""
    if not isinstance(said, Mapping):
        raise DataError(f"{where}: a prompt is an object, with a query at least")
    try:
        json.dumps(dict(said), ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{where}: it holds half of a surrogate pair, which is no text: {error}"
        ) from error
    try:
        return Prompt.model_validate(dict(said))
    except ValidationError as error:
        raise DataError(f"{where}: {_problem(error, said)}") from error


def _problem(error: ValidationError, said: Mapping[str, Any]) -> str:
    from difflib import get_close_matches

    found = error.errors()
    unknown = [each for each in found if each["type"] == "extra_forbidden"]
    first = (unknown or found)[0]
    *above, key = first["loc"] or ("prompt",)
    place = ".".join(map(str, (*above, key)))
    if first["type"] != "extra_forbidden":
        return f"{place}: {first['msg'].removeprefix('Value error, ')}"
    model: Any = Prompt
    for part in above:
        field = model.model_fields.get(part) if hasattr(model, "model_fields") else None
        model = field.annotation if field is not None else None
    known = list(getattr(model, "model_fields", ()))
    near = get_close_matches(str(key), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; there is {', '.join(known)}"
    return f"there is no key {place!r}{hint if known else ''}"


@lru_cache(maxsize=100)
def patterns_of(
    substitutions: tuple[tuple[str, str], ...],
) -> list[tuple[Pattern, str]]:
    """Return patterns that take linear time, each with its replacement."""
    if not substitutions:  # which spares an import
        return []
    from evalkit_adapters_rows.patterns import Pattern

    patterns = [(Pattern(text), replacement) for text, replacement in substitutions]
    return [(each, each.replacement(said)) for each, said in patterns]


def _fields(template: str) -> list[str]:
    """Return the fields of a template; a malformed one breaks the schema."""
    try:
        return fields_of(template)
    except DataError as error:
        raise ValueError(str(error)) from error
