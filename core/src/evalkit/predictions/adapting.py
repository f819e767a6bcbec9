"""Adapts responses to the task's `Output`, before anything else looks at them.

What touches a response has one order: adapters that a user declares, `adapt_response`
of the data set, then of the task, the check of `Output`, the converter,
annotators. So each sees what is closer to the task than the one before it did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from evalkit.base.failures import described
from evalkit.base.ids import RESPONSE_ID_KEYS, read_id
from evalkit.base.terms import Unparsed
from evalkit.base.violations import WHOLE_RESPONSE, Violation, shorten
from evalkit.base.wording import count_of
from evalkit.errors import PluginContractError
from evalkit.plugins.bound import REFUSALS, BoundDataset, BoundTask, Converting
from evalkit.predictions.input_rows import ADAPTER
from evalkit.reading.rows import unwritable


class Adapted(NamedTuple):
    """What adapters made of a response."""

    response: Mapping[str, Any]
    refused: Violation | None = None
    """Why an adapter refused it; the response is then as that one got it."""
    unparsed: Unparsed | None = None
    """What an adapter said in place of the whole response."""


class Adapters:
    """The plugins that adapt responses, in their order.

    Rows are what the model was asked, by the example's id. Null in the field that is
    scored says that an adapter could extract no answer, unless the model wrote null.
    """

    def __init__(
        self,
        dataset: BoundDataset,
        task: BoundTask,
        rows: Mapping[str, Mapping[str, Any]],
        scored: str | None,
    ) -> None:
        self._scored = scored
        self._bound = [each for each in (dataset, task) if each.has(ADAPTER)]
        self._rows = rows
        self.refused: Counter[str] = Counter()

    def __bool__(self) -> bool:
        """Tell whether there is any."""
        return bool(self._bound)

    def adapt(self, response: Mapping[str, Any]) -> Adapted:
        """Adapt a response."""
        found = Adapted(response)
        for bound in self._bound if response else ():
            if found.refused is None and found.unparsed is None:
                found = self._adapt(bound, found.response)
        return found

    def _adapt(self, bound: Converting, response: Mapping[str, Any]) -> Adapted:
        origin = bound.component.origin
        uid = read_id(response, RESPONSE_ID_KEYS)
        row = self._rows.get(uid) if isinstance(uid, str) else None
        try:
            adapted = bound.call(ADAPTER, response=dict(response), row=row)
        except REFUSALS as error:
            self.refused[origin] += 1
            rule = f"{ADAPTER} of {origin} must accept it ({described(error)})"
            return Adapted(response, Violation(WHOLE_RESPONSE, rule))
        if isinstance(adapted, Unparsed):
            return Adapted(response, unparsed=adapted)
        if not isinstance(adapted, Mapping):
            raise PluginContractError(
                f"{origin}: {ADAPTER} must return a dict, returned {shorten(adapted)}"
            )
        refused = unwritable(adapted)
        if refused:
            return Adapted(response, refused)
        scored = self._scored
        if scored is not None and scored in adapted and adapted[scored] is None:
            wrote_null = scored in response and response[scored] is None
            adapted = adapted if wrote_null else {**adapted, scored: Unparsed()}
        return Adapted(adapted)

    def notices(self) -> tuple[str, ...]:
        """Say how many responses each adapter has refused so far."""
        return tuple(
            f"{ADAPTER} of {origin} refused {count_of(count, 'row')}"
            for origin, count in self.refused.items()
        )
