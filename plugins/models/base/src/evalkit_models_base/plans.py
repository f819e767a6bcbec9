"""All questions, in their order, and the responses that come of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from evalkit.catalog import is_file_name
from evalkit.errors import EvalkitError
from evalkit_models_base.checks import check_rows, notices_of_empty
from evalkit_models_base.choosing import stages_of
from evalkit_models_base.fitting import CountTokens, Fitter
from evalkit_models_base.inputs import ModelInputs
from evalkit_models_base.methods import Methods, NoAnswer, Read
from evalkit_models_base.questions import Answer, Question, Sent
from evalkit_models_base.rendering import Renderer
from evalkit_models_base.requests import InputReply, Reply, Request
from evalkit_models_base.shots import Drawn, Origin, drawn_for_copies


class _Open(NamedTuple):
    uid: str
    replication: str | None
    requests: int
    read: Read


class Plan:
    """What is asked of all examples: in each trial, and in each repetition of it."""

    def __init__(
        self,
        makes: Renderer,
        drawn: Drawn | None = None,
        replications: int = 1,
        context_length: int | None = None,
        count_tokens: CountTokens | None = None,
    ) -> None:
        if replications < 1:
            raise EvalkitError(f"replications must be 1 or more, is {replications}")
        self.makes = makes
        self._length, self._count_tokens = context_length, count_tokens
        self._drawn = drawn or Drawn()
        self._replications = replications
        self._fitter = Fitter(makes, context_length, count_tokens)
        self._methods = Methods(makes, self._fitter, makes.inputs.answer_field)
        self._open: deque[_Open] = deque()
        self._replies: list[Reply] = []
        if context_length is not None:
            for row in makes.inputs.rows:
                self._methods.refuse_too_long(row)
        self._earlier: dict[str, set[int]] = {}
        self._asked_before = self._asked_later = 0
        self._sent_shots: set[str] = set()
        of_one = self._methods.requests_of_one
        passes = len(self._drawn.trials) * replications
        self.total = passes * sum(of_one(row) for row in makes.inputs.rows)

    def of_copies(self, inputs: ModelInputs, origin: Origin) -> Plan:
        """Return a plan that asks about copies of the examples in the same way."""
        makes = self.makes.of_copies(inputs)
        check_rows(makes)
        drawn = drawn_for_copies(makes, self._drawn, origin)
        limits = (self._length, self._count_tokens)
        return Plan(makes, drawn, self._replications, *limits)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know, once all was asked."""
        alike: tuple[str, ...] = ()
        if self._asked_before:
            alike = (
                f"{self._asked_before} of {self._asked_later} prompts of the second "
                "and later trials are those of an earlier one, their shots having been "
                "left out; the trials do not differ in them",
            )
        makes = self.makes
        fields, rows = makes.prompt.fields(), makes.inputs.rows
        return (
            *notices_of_empty(fields, rows, f"the prompt {makes.name} names"),
            *self._drawn.notices,
            *self._fitter.notices,
            *alike,
            *self._methods.notices,
        )

    @property
    def said(self) -> dict[str, Any]:
        """The prompt, with what its settings came to: which shots, and how often.

        Files are named without their folder: what they hold is said, too.
        """
        prompt = self.makes.prompt.said()
        extract = self._methods.extract
        if extract not in (None, self.makes.prompt.extract):
            if "extract" in prompt:
                prompt["read_by"] = stages_of(prompt["extract"])
            prompt["extract"] = extract
        elif extract is not None:
            prompt["extract"] = stages_of(extract)
        name = self.makes.name
        passes = {"trials": len(self._drawn.trials), "replications": self._replications}
        return {
            "name": PurePath(name).name if is_file_name(name) else name,
            "form": self.makes.form,
            **prompt,
            **self._drawn.said(self._sent_shots),
            **self._fitter.said,
            **{key: count for key, count in passes.items() if count > 1},
        }

    def questions(self) -> Iterator[Question]:
        """Make the questions, one after another, as they are needed."""
        for trial in range(len(self._drawn.trials)):
            for repetition in range(1, self._replications + 1):
                name = self._name(trial + 1, repetition)
                passes = trial * self._replications + repetition - 1
                # the first repetition is what one alone would be, also in the cache
                key = "" if repetition == 1 else str(repetition)
                for row in self.makes.inputs.rows:
                    shots = self._drawn.shots(trial, row["uid"])
                    asked = self._methods.ask(row, shots)
                    if repetition == 1 and len(self._drawn.trials) > 1:
                        self._compare(row["uid"], tuple(r for r, _ in asked.requests))
                    self._open.append(
                        _Open(row["uid"], name, len(asked.requests), asked.read)
                    )
                    for number, (request, sent) in enumerate(asked.requests):
                        self._sent_shots.update(sent.shots)
                        sent = sent._replace(replication=name, number=number)
                        if request.seed is not None and passes:
                            seed = {"seed": request.seed + passes}
                            request = request.model_copy(update=seed)
                        yield Question(row["uid"], request, key, row, sent)

    def _compare(self, uid: str, requests: tuple[Request, ...]) -> None:
        """Count what an earlier trial asked, as it may where shots were left out."""
        if self._length is None:
            return
        earlier = self._earlier.setdefault(uid, set())
        self._asked_later += bool(earlier)
        said = hash(requests)
        self._asked_before += said in earlier
        earlier.add(said)

    def _name(self, trial: int, repetition: int) -> str | None:
        """Return the replication of the rows of a pass; None where there is one."""
        if len(self._drawn.trials) == 1:
            return None if self._replications == 1 else str(repetition)
        return str(trial) if self._replications == 1 else f"{trial}.{repetition}"

    def take(self, answer: Answer) -> dict[str, Any] | None:
        """Take the next answer, in the order of the questions."""
        self._replies.append(answer.reply)
        if len(self._replies) < self._open[0].requests:
            return None
        first, replies = self._open.popleft(), self._replies
        self._replies = []
        row: dict[str, Any] = {"id": first.uid}
        if first.replication is not None:
            row["_replication_"] = first.replication
        return {**row, **_read(first, replies)}


def _read(first: _Open, replies: list[Reply]) -> Mapping[str, Any]:
    failed = [reply.error for reply in replies if reply.error is not None]
    if failed:
        return {"error": failed[0]}
    try:
        return first.read(replies)
    except NoAnswer as error:
        return {"error": str(error)}


class InputPlan:
    """What a model without prompts is asked: all inputs, in each repetition."""

    def __init__(self, inputs: ModelInputs, replications: int = 1) -> None:
        self._inputs, self._replications = inputs, replications
        self.total = len(inputs) * replications
        self._taken = 0

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know of the inputs."""
        keys = self._inputs.keys
        return notices_of_empty(keys, self._inputs.rows, "the model is sent")

    @property
    def said(self) -> dict[str, Any]:
        """Nothing: there is no prompt."""
        return {}

    def questions(self) -> Iterator[Question]:
        """Make the questions, one after another, as they are needed."""
        for repetition in range(1, self._replications + 1):
            # the first repetition is what one alone would be, also in the cache
            key = "" if repetition == 1 else str(repetition)
            name = str(repetition) if self._replications > 1 else None
            for row in self._inputs.rows:
                yield Question(row["uid"], row, key, sent=Sent(name))

    def take(self, answer: Answer) -> dict[str, Any]:
        """Take the next answer, in the order of the questions."""
        reply, row = answer.reply, {"id": answer.question.uid}
        if reply.error is not None:
            row["error"] = reply.error
        elif isinstance(reply, InputReply):
            row |= reply.response
        if self._replications > 1:
            row["_replication_"] = answer.question.replication or "1"
        return row
