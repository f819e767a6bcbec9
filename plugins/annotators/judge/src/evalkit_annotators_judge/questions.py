"""What a judge is asked about one response."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.errors import AnnotatorError, DataError
from evalkit.reporting import count_of
from evalkit_annotators_judge.declaration import Criterion, Declaration, JudgeModel
from evalkit_models_base import Message, Request


class Row(NamedTuple):
    """A response, and what it is judged by."""

    response: Any
    reference: Any
    fields: Mapping[str, Any]


class Asked(NamedTuple):
    """One question: which of the judges, about what, in which order."""

    judge: int
    criterion: int
    is_swapped: bool
    request: Request


def criteria_of(said: Declaration, row: Row) -> tuple[Criterion, ...]:
    """Return what a response is judged by."""
    if said.criteria_field is None:
        return said.criteria or (Criterion(name="rubric", rubric=said.rubric or ""),)
    given, name = row.fields[said.criteria_field], said.criteria_field
    if isinstance(given, str):  # as columns hold what has no one type
        try:
            given = json.loads(given)
        except ValueError:
            given = [given]
    if not isinstance(given, list) or not given:
        raise DataError(f"{name} holds no list of rubrics")
    return tuple(_criterion(name, n, each) for n, each in enumerate(given, start=1))


def _criterion(field: str, number: int, given: Any) -> Criterion:
    said = given if isinstance(given, Mapping) else {"rubric": given}
    rubric, points = said.get("rubric"), said.get("points")
    if not isinstance(rubric, str) or not rubric.strip():
        raise DataError(f"{field} has an element without a rubric")
    if isinstance(points, bool) or not isinstance(points, int | float | None):
        raise DataError(f"{field} has points that are no number")
    worth = 1.0 if points is None else float(points)
    if not math.isfinite(worth):
        raise DataError(f"{field} has points that are no number")
    return Criterion(name=f"criterion-{number}", rubric=rubric, points=worth)


def questions(
    said: Declaration, row: Row, chats: Mapping[str, bool]
) -> Iterator[Asked]:
    """Make the questions about a response."""
    orders = (False, True) if said.pair is not None and said.pair.swap else (False,)
    for place, criterion in enumerate(criteria_of(said, row)):
        for is_swapped in orders:
            values = _values(said, row, criterion, is_swapped)
            for number, judge in enumerate(said.panel):
                request = _request(said, judge, values, chats[judge.name])
                yield Asked(number, place, is_swapped, request)


def _values(
    said: Declaration, row: Row, criterion: Criterion, is_swapped: bool
) -> dict[str, Any]:
    own = {
        "response": _plain(row.response),
        "reference": _plain(row.reference),
        "rubric": criterion.rubric,
        "criterion": criterion.name,
    }
    if said.pair is not None:
        both = [own["response"], _plain(row.fields[said.pair.other])]
        if None in both:
            raise DataError(f"{said.pair.other} has no value")
        own["first"], own["second"] = both[::-1] if is_swapped else both
    return {**row.fields, **own}


def _plain(value: Any) -> Any:
    """Return a value as a template takes it; what has parts is written as JSON."""
    is_texts = isinstance(value, list) and all(isinstance(v, str) for v in value)
    if isinstance(value, Mapping) or (isinstance(value, list) and not is_texts):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return value


def _request(
    said: Declaration, judge: JudgeModel, values: Mapping[str, Any], is_chat: bool
) -> Request:
    from evalkit_models_base import fill

    user = fill(said.prompt.user, values)
    system = None if said.prompt.system is None else fill(said.prompt.system, values)
    generated = said.generates(judge).model_dump()
    if not is_chat:
        prompt = user if system is None else f"{system}\n\n{user}"
        return Request(prompt=prompt, **generated)
    messages = [Message(role="user", content=user)]
    if system is not None:
        messages.insert(0, Message(role="system", content=system))
    return Request(messages=tuple(messages), **generated)


class Planned(AnnotatorError):
    """Ends an evaluation before anything is asked.

    Attributes:
        plan: What `evalkit_models_base.planning.estimate` returns; `responses`, how
            many the requests are about; and `notices`, why others are not asked about.
    """

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.plan = plan
        super().__init__("nothing is asked in a dry run")


def plan_of(
    said: Declaration, asked: Sequence[Sequence[Asked]], problems: Sequence[str]
) -> dict[str, Any]:
    """Say what would be asked."""
    from evalkit_models_base.planning import estimate

    requests = [each.request for several in asked for each in several]
    notices = [
        f"{count_of(problems.count(each), 'response')} {each}"
        for each in dict.fromkeys(problems)
    ]
    responses = {"responses": sum(map(bool, asked))}
    return {**estimate(requests, said.prices), **responses, "notices": notices}
