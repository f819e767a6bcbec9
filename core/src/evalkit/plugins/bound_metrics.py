"""Loaded metrics, with typed attributes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, NamedTuple

from evalkit.base.failures import hook_failures
from evalkit.base.ids import RESPONSES_KEY
from evalkit.base.names import score_name
from evalkit.base.terms import IntervalKind, MetricContext, NotScored
from evalkit.errors import MetricError
from evalkit.hookspecs import MetricAttributes
from evalkit.plugins.binding import Bound


class Failed(NamedTuple):
    """What a metric raised in the place of an example's score."""

    error: BaseException


@dataclass(frozen=True, eq=False)
class BoundMetric(Bound, MetricAttributes):
    """A metric that is loaded, or one of the scores that it gives in one pass."""

    name: str = field(init=False)
    """The plugin's name with those parameters that are not at their default, and the
    score's own name where it is one of several."""
    part: str = ""
    """The score's own name within the metric; "" for the main one."""
    whole: BoundMetric | None = None
    """The metric that gives all its scores in one pass; None where this is it."""
    prepared: Any = None
    """What `prepare` returned."""
    computed: dict[Any, Any] = field(repr=False, default_factory=dict)
    """What one pass gave, for all scores of the metric."""

    _failure = MetricError
    _own_words = (MetricError,)
    _refusals = dict.fromkeys(("compute", "finalize"), (NotScored,))

    def __post_init__(self) -> None:
        """Set the metric's attributes, and its name."""
        super().__post_init__()
        vars(self).update(name=score_name(self.name, {}, self.part))

    @property
    def counts_labels(self) -> bool:
        """Whether its two keys are the gold and the predicted label of what it counts.

        A metric says so by its interval.
        """
        return self.interval == "multinomial"

    @property
    def example_hook(self) -> str | None:
        """The hook that scores single examples; None where it has no such scores."""
        return next(filter(self.has, ("score_example", "score_batch")), None)

    @property
    def example_column(self) -> str | None:
        """The statistic that is the score of an example; None without such scores."""
        return self.per_example if self.example_hook is None else "score"

    @property
    def interval_kind(self) -> IntervalKind:
        """The kind of its intervals: as it declares, or as its hooks imply."""
        implied: IntervalKind = "bootstrap" if self.example_hook is None else "t"
        return self.interval or implied

    @property
    def is_costly(self) -> bool:
        """Whether it is called no more often than its scores need."""
        return self.has("score_batch") if self.costly is None else self.costly

    def absent_columns(self, held: Collection[str]) -> list[str]:
        """Return the columns without which it cannot score.

        Args:
            held: Names of the columns that there are.
        """
        needed = (name for name in self.columns if name not in self.optional_columns)
        return [name for name in needed if name not in held]

    @property
    def columns_of_data(self) -> list[str]:
        """The columns that may be fields of the data, which a run need not hold."""
        return [
            name
            for name in self.columns
            if name not in self.optional_columns
            or name.partition(".")[0] != RESPONSES_KEY
        ]

    def score_of(self, part: str) -> BoundMetric:
        """Return the metric with the attributes of one of its scores.

        Args:
            part: Name of the score; of one that it does not declare, it has its own.
        """
        if part not in self.scores:
            return self
        attributes = {**self.attributes, **self.scores[part], "scores": {}}
        return replace(self, attributes=attributes, part=part, whole=self)

    def parts(self) -> list[BoundMetric]:
        """Return a metric for each score that one call gives; itself where it is one.

        What `finalize` makes of sums is one metric, however many scores it has.
        """
        if not self.scores or self.has("finalize"):
            return [self]
        return list(map(self.score_of, self.scores))

    def prepare(self, targets: list[Any], context: MetricContext) -> BoundMetric:
        """Return the metric with what its `prepare` returned.

        Args:
            targets: All answers.
            context: What else the metric knows.

        Raises:
            MetricError: The metric failed.
        """
        if not self.has("prepare"):
            return self
        prepared = self.call("prepare", targets=targets, context=context)
        return replace(self, prepared=prepared, computed={})

    def name_resources(self) -> Any:
        """Return what the metric says that its numbers depend on, unchecked.

        Raises:
            MetricError: The metric failed.
        """
        return self.call("resources") if self.has("resources") else {}

    def call(
        self, hook: str, at: tuple[str, Any] | None = None, /, **offered: Any
    ) -> Any:
        """Call a hook as `Bound.call` does; `NotScored` that it raised is returned."""
        if isinstance(offered.get("context"), MetricContext):
            offered["context"] = self._prepared_context(offered["context"])
        try:
            return super().call(hook, at, **offered)
        except NotScored as outcome:
            return outcome

    def _prepared_context(self, context: MetricContext) -> MetricContext:
        return context._replace(prepared=self.prepared)

    def score_examples(
        self,
        hook: str,
        columns: Mapping[str, Callable[[], Sequence[Any]]],
        context: MetricContext,
        rows: int,
    ) -> list[Any]:
        """Call a hook that handles one example for each of some.

        Args:
            hook: Its name.
            columns: How the values of each argument but the context are made, one for
                each example; called for those that the metric takes.
            context: What else the metric knows.
            rows: The number of examples.

        Returns:
            What the metric returned, unchecked; `NotScored` or `Failed` where it
            raised.
        """
        function: Callable[..., Any] = getattr(self.plugin, hook)
        prepared = self._prepared_context(context)
        arguments = [
            repeat(prepared, rows) if name == "context" else columns[name]()
            for name in self.arguments_of(hook)
        ]
        # without an argument, it is the number of calls that ends them
        calls = (
            map(function, *arguments)
            if arguments
            else map(lambda _: function(), range(rows))
        )
        values: list[Any] = []
        append = values.append
        while len(values) < rows:
            try:
                for value in calls:
                    append(value)
                if len(values) < rows:
                    raise StopIteration  # raised in the function, it ends the loop
            except NotScored as outcome:
                append(outcome)
            except hook_failures() as error:
                append(Failed(error))
        return values

    def score_batch(
        self, columns: Mapping[str, Callable[[], Any]], context: MetricContext
    ) -> Any:
        """Return what the metric says of a batch, unchecked; or what it raised.

        Args:
            columns: How the value of each argument but the context is made.
            context: What else the metric knows.
        """
        hook, prepared = "score_batch", self._prepared_context(context)
        taken = [name for name in self.arguments_of(hook) if name != "context"]
        offered = {name: columns[name]() for name in taken}
        try:
            return self.row_function(hook)(**offered, context=prepared)
        except NotScored as outcome:
            return outcome
        except hook_failures() as error:
            return Failed(error)

    @property
    def finalizes_counts(self) -> bool:
        """Whether it makes values of an array of counts as its `finalize` does.

        A hook that is inherited says nothing of a `finalize` of the class itself.
        """
        return self.has("finalize_counts") and (
            self.depth_of("finalize_counts") <= self.depth_of("finalize")
        )
