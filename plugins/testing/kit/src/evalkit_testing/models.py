"""Checks that a model answers as replies are kept: by the question alone."""

from __future__ import annotations

import asyncio
import copy
import inspect
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalkit import EvalkitError, PluginError, Registry, TryAgain
from evalkit.catalog import BoundTask, Resolver
from evalkit_models_base import BoundModel, Message, NotAnswered, Reply, Request
from evalkit_models_base.services import Cleaner
from evalkit_testing.laws import (
    Law,
    LawBroken,
    LawError,
    MissingOption,
    NotTried,
    check_laws,
    chosen_laws,
    told_alone,
    two_instances,
)

Question = Request | Mapping[str, Any]
"""A request, or the input of a model that implements `predict`."""

REFUSALS = (TryAgain, NotAnswered, TimeoutError, ConnectionError)
"""What a model raises where it does not answer."""

_SECONDS = 60.0


class Answer(NamedTuple):
    """What a model said to one question."""

    said: Any
    """What is compared: the answer, or the texts and numbers of a reply."""
    refusal: str | None = None
    """Why there is no answer."""
    reply: Reply | None = None


class Asker:
    """A model that is asked outside of an evaluation, so that nothing is kept.

    Args:
        model: The model.
    """

    def __init__(self, model: BoundModel) -> None:
        self.model = model
        self._runner = asyncio.Runner()

    def answers(
        self,
        questions: Sequence[Question],
        size: int | None = None,
        as_given: bool = False,
    ) -> list[Answer]:
        """Ask questions in their order."""
        most = min(size or self.model.batch_requests, self.model.batch_requests)
        # what a model does to them must not be what it is asked the next time
        questions = questions if as_given else copy.deepcopy([*questions])
        found: list[Answer] = []
        for start in range(0, len(questions), most):
            found += self._batch(questions[start : start + most])
        return found

    def at_once(self, questions: Sequence[Question]) -> list[Answer]:
        """Ask as many questions at the same time as the model takes."""
        most = self.model.concurrency
        questions = copy.deepcopy([*questions])
        if self.model.way == "ask":
            return self._runner.run(self._gathered(questions, most))
        with ThreadPoolExecutor(most) as pool:
            return [
                each[0] for each in pool.map(lambda one: self._batch([one]), questions)
            ]

    async def _gathered(self, questions: Sequence[Any], most: int) -> list[Answer]:
        limit = asyncio.Semaphore(most)

        async def one(question: Request) -> Answer:
            async with limit:
                return await self._asked(question)

        return [*await asyncio.gather(*map(one, questions))]

    def _batch(self, questions: Sequence[Any]) -> list[Answer]:
        if self.model.way == "ask":
            return [self._runner.run(self._asked(each)) for each in questions]
        try:
            return self._said(questions)
        except REFUSALS as error:
            if len(questions) > 1:
                return [self._batch([each])[0] for each in questions]
            return [_refused(error)]

    def _said(self, questions: Sequence[Any]) -> list[Answer]:
        if self.model.way == "predict":
            return [*map(_answer, self.model.predict(questions, _SECONDS))]
        return [*map(_of_reply, self.model.generate(questions))]

    async def _asked(self, request: Request) -> Answer:
        try:
            with self.model.guard_of_asking():
                function = self.model.row_function("ask")
                reply = await asyncio.to_thread(function, request=request)
                if inspect.isawaitable(reply):
                    reply = await asyncio.wait_for(reply, _SECONDS)
        except REFUSALS as error:
            return _refused(error)
        return _of_reply(self.model.checked(reply, request))

    def close(self) -> None:
        """Have the model give up what it holds."""
        if not self.model.has("close"):
            return
        with self.model.guard("close"):
            closed = self.model.row_function("close")()
            if inspect.isawaitable(closed):
                self._runner.run(_awaited(closed))

    def end(self) -> None:
        """Give up the event loop."""
        self._runner.close()


@contextmanager
def asked(model: BoundModel) -> Iterator[Asker]:
    """Ask a model, and have it closed at the end."""
    asker = Asker(model)
    try:
        yield asker
        asker.close()
    finally:
        asker.end()


async def _awaited(what: Any) -> Any:
    return await what


def _refused(error: BaseException) -> Answer:
    text = str(error) or type(error).__name__
    return Answer(text, text)


def _answer(entry: Any) -> Answer:
    if isinstance(entry, REFUSALS):
        return _refused(entry)
    return Answer(copy.deepcopy(entry))


def _of_reply(reply: Reply) -> Answer:
    if reply.error is not None:
        return Answer(reply.error, reply.error, reply)
    said = [(each.text, each.thinking) for each in reply.completions]
    given = [(each.logprob, each.tokens) for each in reply.continuations]
    return Answer(said or given, None, reply)


def shown(question: Question) -> str:
    """Show a question by what is asked, without settings that are usual."""
    if isinstance(question, Request):
        return repr(question.model_dump(exclude_defaults=True))
    return repr(dict(question))


_PROMPTS = (
    "Say yes or no: is snow white?",
    "Answer with a number.\n1 + 1 =",
    "Straße, 日本, \N{GRINNING FACE}: which of these is a street?",
)
_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")


class ModelLawError(LawError):
    """A model breaks a law; `law` is its name, one of `MODEL_LAWS`."""


@dataclass
class _Trial:
    model: BoundModel
    another: BoundModel
    questions: Sequence[Question]
    failing: Sequence[Question]
    secrets: Sequence[str]
    asker: Asker
    tolerance: float
    known: list[Answer] = field(default_factory=list)

    @property
    def is_alone(self) -> bool:
        """Whether an instance was given: there is no other one that may be closed."""
        return self.another.plugin is self.model.plugin

    def answers(self) -> list[Answer]:
        if not self.known:
            self.known = self.asker.answers(self.questions)
        return self.known


@told_alone
def check_model(
    model: Any,
    *,
    requests: Sequence[Request] | None = None,
    inputs: Sequence[Mapping[str, Any]] | None = None,
    task: Any = None,
    failing: Sequence[Any] = (),
    deterministic: bool = True,
    tolerance: float = 0.0,
    secrets: Sequence[str] | None = None,
    laws: Collection[str] | None = None,
    registry: Registry | None = None,
) -> None:
    """Check that a model keeps the laws of `evalkit_testing.MODEL_LAWS`.

    It is asked each question about six times, and no reply is kept. Of a model that
    asks a service, the service is asked.

    Args:
        model: Name of an installed model with its parameters (`constant:answer=yes`),
            or a class or instance; of an instance there is no other one to compare.
        requests: What a model that takes requests is asked; by default a few short
            prompts of each of its `abilities`.
        inputs: What a model that implements `predict` is asked; by default the
            `example` of `task`, with other texts in it.
        task: A task, by name or as an object, whose `example` is asked.
        failing: Requests or inputs that it cannot answer.
        deterministic: Whether the same question always has the same answer. Where not,
            answers are not compared.
        tolerance: By how much log-probabilities may differ.
        secrets: What must not be in what it says of itself or of failures; by default
            the values of variables of the environment whose names say that they are
            secret, such as `MY_API_KEY`.
        laws: Names of the laws to check; all by default.
        registry: Where plugins are found; all that are installed by default.

    Raises:
        ModelLawError: It breaks a law; the message has the law and the question. It is
            an AssertionError.
        EvalkitError: There is nothing to ask, or there is no such law.
        PluginError: The model is unknown or broken.
    """
    chosen = chosen_laws(MODEL_LAWS, laws)
    if not deterministic:
        chosen = [law for law in chosen if law.name not in OF_THE_SAME_QUESTION]
    registry = registry or Registry()
    first, other = map(BoundModel.of, two_instances("models", model, registry))
    given = inputs if first.way == "predict" else requests
    questions = _questions(first, task, registry) if given is None else [*given]
    if not questions:
        raise EvalkitError("requests and inputs must be lists that are not empty")
    hidden = _secrets() if secrets is None else secrets
    with asked(first) as asker:
        trial = _Trial(first, other, questions, failing, hidden, asker, tolerance)
        check_laws(chosen, trial, first.component.origin, ModelLawError)


def _secrets() -> list[str]:
    return [
        value
        for name, value in os.environ.items()
        if name.upper().endswith(_SECRET_NAMES) and len(value) > 7
    ]


def _questions(model: BoundModel, task: Any, registry: Registry) -> list[Question]:
    if model.way != "predict":
        return [*_requests(model.abilities)]
    if task is None:
        raise MissingOption(
            f"{model.component.origin} answers the inputs of a task: give check_model "
            "inputs=…, a list of them, or task=…, whose `example` is asked"
        )
    bound = BoundTask.of(Resolver(registry).bind("tasks", task))
    example = {**bound.example, "uid": "1"}
    found: list[Question] = [example]
    for number, text in enumerate(_PROMPTS, start=2):
        texts = {
            name: text
            for name, value in example.items()
            if isinstance(value, str) and name in bound.perturb_fields
        }
        found.append({**example, **texts, "uid": str(number)})
    return found


def _requests(abilities: Sequence[str]) -> list[Question]:
    found: list[Question] = []
    if "text" in abilities:
        found += [Request(prompt=text, max_tokens=8) for text in _PROMPTS]
    if "chat" in abilities:
        found += [
            Request(messages=(Message(role="user", content=text),), max_tokens=8)
            for text in _PROMPTS
        ]
    if "logprobs" in abilities:
        first = found[0] if found else Request(prompt=_PROMPTS[0])
        assert isinstance(first, Request)
        found.append(first.model_copy(update={"logprobs": 1}))
    if "continuations" in abilities:
        found.append(Request(prompt="1 + 1 =", continuations=(" 2", " three")))
    return found


def _check_answers(trial: _Trial) -> None:
    try:
        answers = trial.answers()
    except PluginError as error:
        raise LawBroken(str(error)) from error
    for question, answer in zip(trial.questions, answers, strict=True):
        if answer.refusal is not None:
            raise LawBroken(
                f"{answer.refusal!r}, for {shown(question)}; give requests= or inputs= "
                "that it answers"
            )
    _refuse_silence(trial)


def _refuse_silence(trial: _Trial) -> None:
    """Of one ability not all replies are empty: what failed is no empty answer."""
    for is_chat in (False, True):
        said = [
            [text for text, _ in answer.said]
            for question, answer in zip(trial.questions, trial.answers(), strict=True)
            if isinstance(question, Request)
            and not question.continuations
            and bool(question.messages) is is_chat
        ]
        if len(said) > 1 and not any(text for texts in said for text in texts):
            way = "chats" if is_chat else "prompts"
            raise LawBroken(
                f"all replies to {way} are empty; what it cannot answer is a Reply "
                "with an error"
            )


def _check_logprobs(trial: _Trial) -> None:
    for question, answer in zip(trial.questions, trial.answers(), strict=True):
        if not isinstance(question, Request) or question.logprobs is None:
            continue
        for completion in answer.reply.completions if answer.reply else ():
            tokens = completion.tokens
            if not tokens or any(each.logprob is None for each in tokens):
                raise LawBroken(
                    f"no log-probability of each token, for {shown(question)}; leave "
                    "`logprobs` out of `abilities`"
                )


def _check_repeatable(trial: _Trial) -> None:
    _compare(trial, trial.asker.answers(trial.questions), "asked again")


def _check_stateless(trial: _Trial) -> None:
    if trial.is_alone:
        return
    with asked(trial.another) as asker:
        answers = asker.answers(trial.questions)
    _compare(trial, answers, "by another instance")


def _check_order(trial: _Trial) -> None:
    found = trial.asker.answers([*reversed(trial.questions)])
    _compare(trial, [*reversed(found)], "asked in the other order")


def _check_batches(trial: _Trial) -> None:
    for size in (1, 2):
        how = f"in batches of {size}"
        _compare(trial, trial.asker.answers(trial.questions, size), how)


def _check_concurrent(trial: _Trial) -> None:
    if trial.model.concurrency > 1:
        how = f"asked up to {trial.model.concurrency} at once"
        _compare(trial, trial.asker.at_once(trial.questions), how)


def _compare(trial: _Trial, others: Sequence[Answer], how: str) -> None:
    pairs = zip(trial.questions, trial.answers(), others, strict=True)
    for question, answer, other in pairs:
        if not _is_same(answer.said, other.said, trial.tolerance):
            raise LawBroken(
                f"{answer.said!r}, and {how} {other.said!r}, for {shown(question)}; "
                "where it cannot be otherwise, deterministic=False says so"
            )


def _is_same(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or abs(one - other) <= tolerance
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(
            _is_same(*pair, tolerance) for pair in zip(one, other, strict=True)
        )
    return bool(one == other)


def _check_inputs(trial: _Trial) -> None:
    given = copy.deepcopy([*trial.questions])
    trial.asker.answers(given, as_given=True)
    for before, after in zip(trial.questions, given, strict=True):
        if before != after:
            raise LawBroken(f"{shown(before)} became {shown(after)}")


def _check_described(trial: _Trial) -> None:
    try:
        first, *others = (
            each.describe() for each in (trial.model, trial.model, trial.another)
        )
    except PluginError as error:
        raise LawBroken(str(error)) from error
    for other in others:
        if first != other:
            raise LawBroken(f"describe says {first!r}, and then {other!r}")
    name = first.get("name", "")
    if first and (not isinstance(name, str) or name != name.strip()):
        raise LawBroken(f"describe gives the name {name!r}, which is no plain text")


def _check_failures(trial: _Trial) -> None:
    if not trial.failing:
        raise NotTried("give failing=…, a list of what it cannot answer")
    for question in trial.failing:
        batch = [question, *trial.questions[:1]]
        try:
            failed, *others = trial.asker.answers(batch)
        except PluginError as error:
            raise LawBroken(
                f"{error}; raise NotAnswered or evalkit.TryAgain, or return a "
                "Reply with an error"
            ) from error
        if failed.refusal is None:
            raise LawBroken(f"{failed.said!r} is the answer to {shown(question)}")
        for other in others:
            if other.refusal is not None:
                raise LawBroken(
                    f"beside {shown(question)} nothing else is answered: "
                    f"{other.refusal!r}"
                )


def _check_secrets(trial: _Trial) -> None:
    if not any(trial.secrets):
        raise NotTried(
            f"no variable whose name ends with {', '.join(_SECRET_NAMES)} has a value "
            "of eight letters or more; set one, or give secrets=…"
        )
    cleaner = Cleaner(trial.secrets)
    told: dict[str, Any] = {"describe": trial.model.describe()}
    for question in trial.failing:
        try:
            (answer,) = trial.asker.answers([question])
        except PluginError as error:
            told["an error"] = str(error)
        else:
            told["a failure"] = answer.refusal
    for where, text in told.items():
        if cleaner.finds(text):
            raise LawBroken(
                f"{where} holds a secret; "
                "evalkit_models_base.services.Cleaner takes it out"
            )


def _check_closed(trial: _Trial) -> None:
    try:
        if not trial.is_alone:
            with asked(trial.another) as asker:
                asker.close()
        trial.asker.close()
        trial.asker.close()
    except PluginError as error:
        raise LawBroken(
            f"{error}; close may be called where nothing is open"
        ) from error


OF_THE_SAME_QUESTION = ("repeatable", "stateless", "order", "batches", "concurrent")
"""Laws that compare the answers to the same question."""

MODEL_LAWS: tuple[Law[_Trial], ...] = (
    Law("answers", "it answers each question, and does not fail.", _check_answers),
    Law(
        "logprobs",
        "asked for log-probabilities, it gives one of each token.",
        _check_logprobs,
    ),
    Law(
        "repeatable",
        "the same question has the same answer, as replies are kept.",
        _check_repeatable,
        mend="keep nothing between requests, and seed what is random.",
    ),
    Law(
        "stateless",
        "another instance answers the same.",
        _check_stateless,
        mend="keep nothing between requests.",
    ),
    Law("order", "an answer does not depend on what was asked before.", _check_order),
    Law(
        "batches", "an answer does not depend on what is asked with it.", _check_batches
    ),
    Law(
        "concurrent",
        "asked several times at once, it answers the same.",
        _check_concurrent,
    ),
    Law("inputs", "what it is asked is not changed.", _check_inputs),
    Law(
        "described",
        "describe says the same each time, as it is part of a run's id.",
        _check_described,
    ),
    Law(
        "failures",
        "what it cannot answer is said to be so, and the rest is answered.",
        _check_failures,
    ),
    Law("secrets", "neither describe nor a failure tells a secret.", _check_secrets),
    Law("closed", "it can be closed unasked, and twice.", _check_closed),
)
"""What holds of every model."""
