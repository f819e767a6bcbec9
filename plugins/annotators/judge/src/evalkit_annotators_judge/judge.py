"""The annotator that asks models what responses are worth."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit import Annotation
from evalkit.errors import AnnotatorError, DataError, EvalkitError, PluginContractError
from evalkit_annotators_columns import Annotator
from evalkit_annotators_judge.checks import check, doubts_of, fields_read
from evalkit_annotators_judge.columns import (
    JUDGED,
    columns_of,
    names_of,
    of_both_orders,
    order_of,
    orders_of,
    without,
)
from evalkit_annotators_judge.conclusions import conclude
from evalkit_annotators_judge.declaration import Declaration
from evalkit_annotators_judge.labels import (
    COLUMN,
    COUNT,
    FOUND,
    WHY,
    UnknownVerdict,
    default_metrics,
    peoples_verdict,
    read_people,
)
from evalkit_annotators_judge.parsing import Verdict, is_closed, read_verdict
from evalkit_annotators_judge.questions import (
    Asked,
    Planned,
    Row,
    criteria_of,
    plan_of,
    questions,
)
from evalkit_models_base import Reply, Request

if TYPE_CHECKING:
    from evalkit_models_base import Session


class Heard(NamedTuple):
    """What came of a request."""

    reply: Reply
    is_cached: bool


_REFUSALS = ("refusal", "content_filter")


class _Said(NamedTuple):
    """What came of one question."""

    asked: Asked
    verdict: Verdict
    text: str | None
    cost: float | None
    is_fresh: bool
    """Whether a model said it now, and no cache did."""


class Judge(Annotator):
    """Asks a model, by a rubric, what each response is worth.

    It is declared in a file, which `evalkit eval --annotate FILE` names:
    `docs/judges.md` has all keys. Its columns are `value`, `label` and `status`, which
    is `judged` or says why there is no verdict; and the same three of each of several
    judges and criteria, under their names: `polite-value`.
    """

    Parameters = Declaration
    version = "1"
    retries = 0
    shares_work = False

    def __init__(self, parameters: Declaration) -> None:
        super().__init__(parameters)
        self._said = parameters
        check(parameters)
        file = parameters.human_file
        self._people = None if file is None else read_people(file, parameters)
        self._chats: dict[str, bool] = {}
        self._sessions: dict[int, Session] = {}
        self._asked = 0
        parameters._identities[:] = [
            self._bind(each.name, each.model) for each in parameters.panel
        ]
        parameters._people_sha256 = self._people.sha256 if self._people else None

    def _bind(self, name: str, model: str) -> dict[str, Any]:
        """Look at a model, and return what tells it from others."""
        from evalkit_models_base import bind_model, identity_of

        key = f"judges.{name}.model" if self._said.judges else "model"
        try:
            bound = bind_model(model)
        except EvalkitError as error:
            raise PluginContractError(f"{key}: {error}") from error
        if bound.way == "predict":
            raise PluginContractError(
                f"{key}: {bound.component.id} answers inputs of a task, and cannot be "
                "asked about responses; name one that answers requests"
            )
        if not {"chat", "text"} & {*bound.abilities}:
            raise PluginContractError(
                f"{key}: {bound.component.id} cannot generate text, which a judge must"
            )
        self._chats[name] = "chat" in bound.abilities
        return identity_of(bound, model)

    @property
    def batch_rows(self) -> int:  # type: ignore[override]
        """How many responses are judged at once; all, where that is only planned."""
        return 2**31 if self._said.asking.dry_run else 200

    @property
    def doubts(self) -> Sequence[str]:
        """What a user should know of the declaration before anything is asked."""
        return [*doubts_of(self._said)]

    @property
    def reads(self) -> Sequence[str]:  # type: ignore[override]
        """The fields that the prompt names."""
        return fields_read(self._said)

    @property
    def columns(self) -> Sequence[str]:  # type: ignore[override]
        """The verdict, and those of each judge and criterion."""
        return names_of(self._said)

    @property
    def metrics(self) -> Sequence[str]:  # type: ignore[override]
        """What is computed of it, `{name}` standing for what it is called."""
        return default_metrics(self._said)

    def annotate_batch(
        self,
        predictions: Sequence[Any],
        targets: Sequence[Any],
        fields: Mapping[str, Sequence[Any]],
    ) -> list[Annotation]:
        """Ask about responses, and read the verdicts."""
        if self._people is not None and not self._people.verdicts:
            raise PluginContractError(
                f"human_file: {self._said.human_file} is what a run recorded, and no "
                "file; name the file"
            )
        rows = [
            Row(prediction, target, {name: fields[name][n] for name in fields})
            for n, (prediction, target) in enumerate(
                zip(predictions, targets, strict=True)
            )
        ]
        asked: list[list[Asked]] = []
        problems: dict[int, str] = {}
        for number, row in enumerate(rows):
            try:
                asked.append(list(questions(self._said, row, self._chats)))
            except DataError as error:
                problems[number] = f"not asked: {error}"
                asked.append([])
        if self._said.asking.dry_run:
            raise Planned(plan_of(self._said, asked, [*problems.values()]))
        try:
            said = self._ask_all(asked)
        except BaseException:
            self._close()
            raise
        self._asked += sum(any(each.is_fresh for each in row) for row in said)
        found = [
            Annotation(without(self._said, problems[number]))
            if number in problems
            else self._annotation(row, said[number])
            for number, row in enumerate(rows)
        ]
        if self._said.human or self._people is not None:
            for row, annotation in zip(rows, found, strict=True):
                annotation.value.update(self._of_people(row))
        return found

    def conclude(self, values: Mapping[str, Sequence[Any]]) -> list[str]:
        """Say what came of all responses, and let the models go."""
        if self._said.asking.dry_run:  # all verdicts are known
            raise Planned(plan_of(self._said, [], []))
        self._close()
        asked, self._asked = self._asked, 0
        return conclude(self._said, values, asked)

    def _close(self) -> None:
        """Let the models go; they are loaded again where they are asked again."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.close()

    def _of_people(self, row: Row) -> dict[str, Any]:
        """Return what people say of a response, or why that does not count."""
        found: dict[str, Any] = dict.fromkeys((COLUMN, WHY, COUNT, FOUND))
        if self._people is None:
            field = self._said.human or ""
            try:
                found[COLUMN] = peoples_verdict(row.fields[field], self._said)
            except UnknownVerdict as error:
                found[WHY] = f"{field}: {error}"
            return found
        uid = str(row.fields["uid"])
        found[COUNT] = len(self._people.verdicts)
        if uid in self._people.verdicts:
            found[COLUMN], found[FOUND] = self._people.verdicts[uid], uid
        return found

    def _ask_all(self, asked: Sequence[Sequence[Asked]]) -> list[list[_Said]]:
        """Ask each judge all that it is asked, and hand the replies back to rows."""
        found: list[list[_Said]] = [[] for _ in asked]
        for number in range(len(self._said.panel)):
            places = [
                (row, each)
                for row, several in enumerate(asked)
                for each in several
                if each.judge == number
            ]
            heard = self._heard(number, [each.request for _, each in places])
            for (row, each), one in zip(places, heard, strict=True):
                found[row].append(self._read(each, one))
        return found

    def _heard(self, number: int, requests: Sequence[Request]) -> list[Heard]:
        """Ask one judge."""
        from evalkit_models_base import Session

        if not requests:
            return []
        judge, limits = self._said.panel[number], self._said.asking
        if number not in self._sessions:
            self._sessions[number] = Session(judge.model, asked=limits.asked)
        found = self._sessions[number].ask(requests)
        if found.ended is not None:
            kept = "; what was judged until then is kept" if limits.cache else ""
            why = found.ended.replace("--max-errors", "max_errors")  # of its file, too
            raise AnnotatorError(f"{judge.described}: {why}{kept}")
        return [*map(Heard, found.replies, found.cached)]

    def _read(self, asked: Asked, heard: Heard) -> _Said:
        reply, cost, is_fresh = heard.reply, self._cost(heard), not heard.is_cached
        if reply.error is not None:
            verdict = Verdict(reason=f"failed: {reply.error}")
            return _Said(asked, verdict, None, cost, is_fresh)
        said = reply.completions[0]
        if said.finish_reason in _REFUSALS:
            verdict = Verdict(reason="refused: the judge declines")
            return _Said(asked, verdict, said.text, cost, is_fresh)
        verdict = read_verdict(said.text, self._said.verdict, asked.is_swapped)
        is_whole = verdict.reason is None and is_closed(said.text, self._said.verdict)
        if said.finish_reason == "length" and not is_whole:
            verdict = Verdict(reason="unparsed: the reply was cut off (max_tokens)")
        return _Said(asked, verdict, said.text, cost, is_fresh)

    def _cost(self, heard: Heard) -> float | None:
        if self._said.prices is None:
            return None
        if heard.is_cached or heard.reply.error is not None:
            return 0.0
        return self._said.prices.of(heard.reply.usage)

    def _annotation(self, row: Row, said: Sequence[_Said]) -> Annotation:
        criteria = criteria_of(self._said, row)
        judges = range(len(self._said.panel))
        verdicts = [
            [self._verdict(said, judge, place) for place in range(len(criteria))]
            for judge in judges
        ]
        costs = [each.cost for each in said]
        orders = {
            name: order_of(_verdicts_of(said, judge, 0))
            for judge, name in enumerate(orders_of(self._said))
        }
        return Annotation(
            {**columns_of(self._said, criteria, verdicts), **orders},
            self._text(said, [each.name for each in criteria]),
            None if None in costs else sum(each or 0.0 for each in costs),
        )

    def _verdict(self, said: Sequence[_Said], judge: int, place: int) -> Verdict:
        """Return what a judge says on a criterion, in both orders together."""
        verdicts = _verdicts_of(said, judge, place)
        pair = self._said.pair
        if pair is None:
            return verdicts[0]
        return of_both_orders(verdicts, pair.ties, bool(self._said.verdict.values))

    def _text(self, said: Sequence[_Said], names: Sequence[str]) -> str | None:
        """Return what was replied; several replies as lines of JSON."""
        if len(said) == 1:
            return said[0].text
        lines = (
            {
                "judge": self._said.panel[each.asked.judge].name,
                "criterion": names[each.asked.criterion],
                "swapped": each.asked.is_swapped,
                "status": each.verdict.reason or JUDGED,
                "reply": each.text,
            }
            for each in said
        )
        return "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)


def _verdicts_of(said: Sequence[_Said], judge: int, place: int) -> list[Verdict]:
    """Return what a judge says on a criterion, of pairs in each order."""
    return [
        each.verdict
        for each in said
        if (each.asked.judge, each.asked.criterion) == (judge, place)
    ]
