"""Makes texts and conversations of inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalkit.errors import DataError
from evalkit_models_base.choosing import Shown, choices_name, shown_options
from evalkit_models_base.inputs import Answered as Shot
from evalkit_models_base.inputs import ModelInputs
from evalkit_models_base.prompts import Form, Prompt, patterns_of
from evalkit_models_base.requests import Message, Request
from evalkit_models_base.templates import fields_of, fill


@dataclass(frozen=True)
class Rendered:
    """What a model is sent: a text or a conversation."""

    text: str | None = None
    messages: tuple[Message, ...] = ()

    @property
    def parts(self) -> list[str]:
        """The texts of it."""
        if self.text is not None:
            return [self.text]
        return [message.content for message in self.messages]

    def request(self, **settings: Any) -> Request:
        """Make a request of it."""
        return Request(prompt=self.text, messages=self.messages, **settings)


@dataclass(frozen=True)
class Renderer:
    """A prompt with all that it needs to know of a data set."""

    prompt: Prompt
    name: str
    form: Form
    inputs: ModelInputs
    _written: dict[int, tuple[Shot, str, list[Message]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def of_copies(self, inputs: ModelInputs) -> Renderer:
        """Return what makes requests of copies of the examples."""
        same = ("labels", "choices_field", "answer_field")
        known = {name: getattr(self.inputs, name) for name in same}
        same_inputs = replace(inputs, **known)
        return Renderer(self.prompt, self.name, self.form, same_inputs)

    @property
    def shows_options(self) -> bool:
        """Whether the options of an example are listed, or asked for one by one."""
        by_method = self.prompt.method not in ("generation", "language-modelling")
        return by_method or "choices" in self.prompt.named()

    def shown(self, row: Mapping[str, Any]) -> Shown:
        """Return the options of an example as they are shown."""
        try:
            return shown_options(self.prompt, self.inputs, row)
        except DataError as error:
            raise self.about(row, error) from error

    def about(self, row: Mapping[str, Any], error: DataError) -> DataError:
        """Return an error that names the prompt and an example."""
        return DataError(f"{self.name}: the example {row['uid']!r}: {error}")

    def render(
        self,
        row: Mapping[str, Any],
        shots: Sequence[Shot] = (),
        choice: str | None = None,
    ) -> Rendered:
        """Make what a model is sent."""
        if self.form == "text" or self.prompt.one_message:
            text = self._text(row, shots, choice)
            text = self.prompt.prefix + text + self.prompt.suffix
            if self.form == "text":
                return Rendered(text=self._substituted(text))
            messages = [*self._system(), _by_user(text)]
        else:
            messages = self._conversation(row, shots, choice)
        return Rendered(messages=tuple(self._trimmed(messages)))

    def _substituted(self, text: str) -> str:
        for pattern, replacement in patterns_of(self.prompt.substitutions):
            import polars as pl

            texts = pl.Series([text], dtype=pl.String)
            text = pattern.substitute(texts, replacement, 0)[0]
        return text

    def calibration(self) -> Rendered:
        """Make what stands in place of an input where options are calibrated."""
        said = self.prompt.calibration
        text = self.prompt.cue if said is None else said
        if self.form == "text":
            return Rendered(text=text)
        return Rendered(messages=(_by_user(text),))

    def query(self, row: Mapping[str, Any], choice: str | None = None) -> str:
        """Write an input, without the cue."""
        return self._filled(self.prompt.query, row, choice)

    def _text(
        self, row: Mapping[str, Any], shots: Sequence[Shot], choice: str | None
    ) -> str:
        between = self.prompt.separators
        blocks = [self._shot(shot)[0] for shot in shots]
        blocks.append(self._cued(row, choice))
        return self._instructed(between.shots.join(blocks))

    def _shot(self, shot: Shot) -> tuple[str, list[Message]]:
        """Write a shot, as a text and as what is said; each is written once."""
        known = self._written.get(id(shot))
        if known is None:
            answer, between = self.written(shot), self.prompt.separators
            text = self._cued(shot.row) + between.answer + answer
            said = Message(role="assistant", content=self._said(answer))
            messages = [*self._exchange(shot.row, None), said]
            # with the shot, so that no other one is at its place
            known = self._written[id(shot)] = (shot, text, messages)
        return known[1], known[2]

    def _conversation(
        self, row: Mapping[str, Any], shots: Sequence[Shot], choice: str | None
    ) -> list[Message]:
        messages: list[Message] = []
        for shot in shots:
            messages += self._shot(shot)[1]
        messages += self._exchange(row, choice)
        first = next(n for n, each in enumerate(messages) if each.role == "user")
        text = self.prompt.prefix + self._instructed(messages[first].content)
        messages[first] = _by_user(text)
        messages[-1] = _by_user(messages[-1].content + self.prompt.suffix)
        if self._begins_answer:
            messages.append(Message(role="assistant", content=self.prompt.cue))
        return [*self._system(), *messages]

    def _system(self) -> list[Message]:
        if self.prompt.system is None:
            return []
        system = fill(self.prompt.system, self._common())
        return [Message(role="system", content=system)]

    @property
    def _begins_answer(self) -> bool:
        """Whether the model's answer begins with the cue, before the options."""
        is_models = self.prompt.cue_by == "model" and bool(self.prompt.cue)
        return is_models and self.prompt.uses_continuations

    def _exchange(self, row: Mapping[str, Any], choice: str | None) -> list[Message]:
        messages = [
            Message(role=turn.role, content=self._filled(turn.content, row, choice))
            for turn in self.prompt.turns
        ]
        is_cued = self.prompt.cue_by == "user"
        text = self._cued(row, choice) if is_cued else self.query(row, choice)
        return [*messages, _by_user(text)]

    def _said(self, answer: str) -> str:
        prompt = self.prompt
        if prompt.cue_by == "user" or not prompt.cue:
            return answer
        return prompt.cue + prompt.separators.answer + answer

    def _trimmed(self, messages: Sequence[Message]) -> list[Message]:
        count = {"none": 0, "first": 1, "all": len(messages)}[self.prompt.trim]
        texts = [self._substituted(each.content) for each in messages]
        return [
            Message(role=each.role, content=text.strip() if n < count else text)
            for n, (each, text) in enumerate(zip(messages, texts, strict=True))
        ]

    def _cued(self, row: Mapping[str, Any], choice: str | None = None) -> str:
        query, cue = self.query(row, choice), self.prompt.cue
        return query + self.prompt.separators.cue + cue if cue else query

    def _instructed(self, text: str) -> str:
        if not self.prompt.instructions:
            return text
        instructions = fill(self.prompt.instructions, self._common())
        return instructions + self.prompt.separators.instructions + text

    def _common(self) -> dict[str, Any]:
        found = {"cue": self.prompt.cue}
        if self.inputs.labels is not None:
            found["labels"] = self.prompt.separators.labels.join(self.inputs.labels)
        return found

    def _filled(
        self, template: str, row: Mapping[str, Any], choice: str | None = None
    ) -> str:
        own = {**self._common(), **({} if choice is None else {"choice": choice})}
        if "choices" in fields_of(template):
            own["choices"] = self.shown(row).listed(self.prompt.choices)
        try:
            return fill(template, {**row, **own})
        except DataError as error:
            raise self.about(row, error) from error

    def written(self, shot: Shot) -> str:
        """Write the answer of a shot."""
        answers = shot.answer if isinstance(shot.answer, list) else [shot.answer]
        shown = self.shown(shot.row) if self.shows_options else None
        letters = [shown.letter_of(each) if shown else None for each in answers]
        if self.prompt.method == "joint" and None in letters:
            wrong = answers[letters.index(None)]
            error = DataError(f"its answer {wrong!r} is none of its options")
            raise self.about(shot.row, error)
        is_letter = self.prompt.method == "joint"
        own = {
            "answer": self._joined(letters if is_letter else answers),
            "letter": self._joined(letters) if None not in letters else None,
            "choice": self._joined(answers),
            "stored": None if shot.stored is None else _plain(shot.stored),
        }
        try:
            return fill(self.prompt.answer, {**shot.row, **self._common(), **own})
        except DataError as error:
            raise self.about(shot.row, error) from error

    def _joined(self, answers: Sequence[Any]) -> str:
        if self.prompt.answers == "json":
            return json.dumps(answers, ensure_ascii=False)
        kept = answers if self.prompt.answers == "all" else answers[:1]
        return self.prompt.separators.answers.join(map(_plain, kept))


def _by_user(text: str) -> Message:
    return Message(role="user", content=text)


def _plain(answer: Any) -> str:
    if isinstance(answer, str | int | float):
        return str(answer)
    return json.dumps(answer, ensure_ascii=False)


__all__ = ["Rendered", "Renderer", "Shot", "choices_name"]
