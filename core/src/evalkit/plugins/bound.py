"""A plugin that is loaded, with its typed attributes, and the one way to call it.

Whatever a hook raises becomes an error that names the plugin and its distribution: all
calls of hooks go through `Bound.guard`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import pluggy
from pydantic import BaseModel, ValidationError

from evalkit.base.failures import described, hook_failures
from evalkit.base.ids import RESPONSE_ID_KEYS
from evalkit.base.names import score_name
from evalkit.base.terms import MetricContext
from evalkit.base.violations import shorten
from evalkit.errors import DataError, EvalkitError, MetricError, PluginError
from evalkit.hookspecs import (
    DatasetAttributes,
    MetricAttributes,
    PerturbationAttributes,
    RecogniserAttributes,
    TaskIOAttributes,
)
from evalkit.plugins.components import Component
from evalkit.plugins.contract import CONTRACTS, implements, read_attributes

if TYPE_CHECKING:
    import polars as pl


REFUSALS = (ValueError, TypeError, LookupError)
"""By what an adapter, which sees responses that nobody has checked, may refuse one."""

_HOW_TO_REFUSE = "; it refuses a response by a ValueError, a TypeError or a LookupError"


class _ComponentManager(pluggy.PluginManager):
    """A manager in which a method named like a hook is that hook."""

    def __init__(self, kind: str) -> None:
        super().__init__("evalkit")
        self._kind = kind
        self.add_hookspecs(CONTRACTS[kind].spec)

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        if not implements(self._kind, plugin, name):
            return None
        return super().parse_hookimpl_opts(plugin, name) or {}


class Guard:
    """Names the plugin in whatever is raised while it does something.

    Args:
        origin: Id, distribution and version of the plugin.
        step: What it is doing, such as the name of a hook.
        subject: What it was given, such as `example`; "" where that is not one thing.
        uid: The id of what it was given.
        error: The class of the error.
        own_words: What a plugin raises to say itself what is wrong; its name is added.
        passes: What is no failure, or names the plugin already.
        hint: What the error says besides.
    """

    __slots__ = (
        *("_error", "_hint", "_origin", "_own_words", "_passes", "_place", "_step"),
    )

    def __init__(
        self,
        origin: str,
        step: str,
        subject: str = "",
        uid: Any = None,
        error: type[EvalkitError] = PluginError,
        own_words: tuple[type[EvalkitError], ...] = (),
        passes: tuple[type[BaseException], ...] = (),
        hint: str = "",
    ) -> None:
        self._origin, self._step, self._place = origin, step, (subject, uid)
        self._error, self._own_words, self._passes = error, own_words, passes
        self._hint = hint

    def __enter__(self) -> None:
        """Begin; nothing is done."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        """Raise an error that names the plugin in place of what was raised.

        An interrupt by the user is left as it is.
        """
        if error is None or isinstance(error, (KeyboardInterrupt, self._passes)):
            return False
        if isinstance(error, self._own_words):
            if self._origin in str(error):
                return False
            is_ours = type(error).__module__ == EvalkitError.__module__
            kind = type(error) if is_ours else self._error
            raise kind(f"{self._origin}: {error}") from error
        raise self.failure(error) from error

    def failure(self, error: BaseException) -> EvalkitError:
        """Return the error that says what failed; chain it with `from`.

        Args:
            error: What was raised.
        """
        subject, uid = self._place
        where = f" for the {subject} {shorten(uid)}" if subject else ""
        return self._error(
            f"{self._origin}: {self._step} failed{where} with {described(error)}"
            f"{self._hint}"
        )


@dataclass(frozen=True, eq=False)
class Bound:
    """A loaded plugin, checked and bound to the hooks of its kind.

    Each kind has a class of its own, whose instances have the plugin's attributes as
    `evalkit.hookspecs` declares and documents them, with defaults filled in.
    """

    component: Component
    """What its distribution's metadata say."""
    plugin: object
    """The object."""
    parameters: BaseModel | None
    """Its parameters; None where it takes none."""
    attributes: Mapping[str, Any]
    """Checked attributes by name, with defaults filled in."""
    loaded_with: Mapping[str, Any] | None = None
    """The values that it was loaded with by name; None for an object that the caller
    passed."""
    name: str = field(init=False)
    """The plugin's name with those parameters that are not at their default."""
    _row_functions: dict[str, Callable[..., Any]] = field(
        init=False, repr=False, default_factory=dict
    )

    _failure: ClassVar[type[EvalkitError]] = PluginError
    _own_words: ClassVar[tuple[type[EvalkitError], ...]] = ()

    def __post_init__(self) -> None:
        """Set the plugin's attributes, and its name."""
        name = score_name(self.component.name, self.changed_parameters)
        vars(self).update(self.attributes)
        vars(self).update(name=name)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy is made of; its functions would call this plugin."""
        return {**vars(self), "_row_functions": {}}

    @classmethod
    def of(cls, bound: Bound) -> Self:
        """Return a bound plugin as one of this kind.

        Args:
            bound: The plugin.

        Raises:
            TypeError: It is of another kind.
        """
        if not isinstance(bound, cls):
            raise TypeError(f"{bound.component.id} is not a {cls.__name__}")
        return bound

    @cached_property
    def hooks(self) -> Any:
        """The pluggy relay of this one plugin.

        Raises:
            pluggy.PluginValidationError: Its hooks are not as pluggy wants them.
        """
        manager = _ComponentManager(self.component.kind)
        manager.register(self.plugin)
        return manager.hook

    @property
    def changed_parameters(self) -> Mapping[str, Any]:
        """Parameters that are not at their default, as JSON values."""
        if self.parameters is None:
            return {}
        return self.parameters.model_dump(mode="json", exclude_defaults=True)

    def has(self, hook: str) -> bool:
        """Tell whether the plugin implements a hook as a method."""
        return implements(self.component.kind, self.plugin, hook)

    def row_function(self, hook: str) -> Callable[..., Any]:
        """Return a hook that handles one row as a plain function.

        Args:
            hook: Name of an implemented hook.

        Returns:
            A function that takes any of the spec's arguments by keyword, and hands
            over those that the implementation names. It guards nothing.
        """
        if hook not in self._row_functions:
            function: Callable[..., Any] = getattr(self.plugin, hook)
            names = self.arguments_of(hook)

            def call(**offered: Any) -> Any:
                return function(*[offered[name] for name in names])

            self._row_functions[hook] = call
        return self._row_functions[hook]

    def arguments_of(self, hook: str) -> tuple[str, ...]:
        """Return the names of the arguments that the implementation of a hook takes."""
        return tuple(inspect.signature(getattr(self.plugin, hook)).parameters)

    def guard(
        self,
        step: str,
        subject: str = "",
        uid: Any = None,
        passes: tuple[type[BaseException], ...] = (),
    ) -> Guard:
        """Return a context in which whatever is raised names the plugin.

        Args:
            step: What it is doing, such as the name of a hook.
            subject: What it was given, such as `example`.
            uid: The id of that.
            passes: What is no failure, or names the plugin already.
        """
        origin = self.component.origin
        return Guard(origin, step, subject, uid, self._failure, self._own_words, passes)


class Converting(Bound):
    """A plugin that may have converters."""

    def label_field_converter(self, example: Mapping[str, Any]) -> Any:
        """Return what the method makes of an example, unchecked.

        Args:
            example: A row; `uid` holds its id.

        Raises:
            PluginError: It failed.
        """
        hook = "label_field_converter"
        with self.guard(hook, "example", example["uid"]):
            return self.row_function(hook)(example=example)

    def pred_field_converter(self, response: Mapping[str, Any]) -> Any:
        """Return what the method makes of a response, unchecked.

        Args:
            response: A response; `id` holds its id.

        Raises:
            PluginError: It failed.
        """
        hook = "pred_field_converter"
        # read first, as the method might change the response
        uid = response["id"]
        with self.guard(hook, "response", uid):
            return self.row_function(hook)(response=response, example=response)


class BoundTask(Converting, TaskIOAttributes):
    """A task that is loaded."""

    def verify_response(self, uid: str, **offered: Any) -> Any:
        """Return what the task's own check says of a response, unchecked.

        Args:
            uid: The response's id.
            **offered: The arguments of the hook.

        Raises:
            AssertionError: The check's way to say that the response is invalid.
            PluginError: It failed.
        """
        hook = "verify_response"
        with self.guard(hook, "response", uid, (AssertionError,)):
            return self.row_function(hook)(**offered)

    def verify_columns(
        self, responses: pl.DataFrame, labels: Sequence[str] | None
    ) -> Any:
        """Return what the task's check of columns says, unchecked.

        Args:
            responses: The fields of `Output` but for the id.
            labels: The labels; None where there are none.

        Raises:
            PluginError: It failed.
        """
        with self.guard("verify_columns"):
            return self.hooks.verify_columns(responses=responses, labels=labels)

    def validate_input(self, example: Mapping[str, Any]) -> None:
        """Check that an example keeps `Input`.

        Args:
            example: A row; `uid` holds its id.

        Raises:
            pydantic.ValidationError: It does not.
            PluginError: A validator of the task failed.
        """
        with self.guard("Input", "example", example["uid"], (ValidationError,)):
            self.Input.model_validate(example)

    def validate_output(self, response: Mapping[str, Any]) -> BaseModel:
        """Return a response as an `Output`.

        Args:
            response: A response; `id` holds its id.

        Raises:
            pydantic.ValidationError: It does not keep `Output`.
            PluginError: A validator of the task failed.
        """
        with self.guard("Output", "response", response["id"], (ValidationError,)):
            return self.Output.model_validate(response)


@dataclass(frozen=True, eq=False)
class BoundDataset(Converting, DatasetAttributes):
    """A data set that is loaded."""

    name: str = field(init=False)
    """The plugin's name with those parameters that are not at their default."""
    chosen_cluster: tuple[str, ...] = ()
    """The columns that a user chose for the clusters, in place of `cluster`."""

    @property
    def declared_cluster(self) -> tuple[str, ...]:
        """The columns of `cluster`."""
        cluster = self.cluster
        return (cluster,) if isinstance(cluster, str) else tuple(cluster or ())

    def guard_of_load(self, split: str) -> Guard:
        """Return a context in which examples are loaded, and read where that is lazy.

        Args:
            split: The split that is loaded.
        """
        step, origin = f"load({split!r})", self.component.origin
        return Guard(origin, step, error=DataError, passes=(EvalkitError,))

    def adapt_response(self, response: Mapping[str, Any]) -> Any:
        """Return what the data set makes of a response, unchecked.

        Args:
            response: A response as it was read.

        Raises:
            ValueError, TypeError, LookupError: The ways to refuse the response, which
                nobody has checked.
            PluginError: It failed otherwise.
        """
        uid = next(filter(None, map(response.get, RESPONSE_ID_KEYS)), None)
        hook, origin = "adapt_response", self.component.origin
        with Guard(origin, hook, "response", uid, passes=REFUSALS, hint=_HOW_TO_REFUSE):
            return self.row_function(hook)(response=response)

    def as_metric(self) -> BoundMetric:
        """Return the data set as the metric of its own scores."""
        attributes, _ = read_attributes("metrics", object())
        return BoundMetric(self.component, self.plugin, self.parameters, attributes)

    def evaluate(self, frame: pl.DataFrame) -> Any:
        """Return the data set's own scores, unchecked.

        Args:
            frame: One row for each scored example.

        Raises:
            MetricError: It failed.
        """
        origin, own = self.component.origin, (MetricError,)
        with Guard(origin, "evaluate", error=MetricError, own_words=own):
            return self.hooks.evaluate(frame=frame)


class BoundMetric(Bound, MetricAttributes):
    """A metric that is loaded."""

    _failure = MetricError
    _own_words = (MetricError,)

    @property
    def counts_labels(self) -> bool:
        """Whether its two keys are the gold and the predicted label of what it counts.

        A metric says so by its interval.
        """
        return self.interval == "multinomial"

    def compute(self, predictions: list[Any], targets: list[Any]) -> Any:
        """Return the score of two lists, unchecked.

        Args:
            predictions: One prediction for each example.
            targets: One answer for each example.

        Raises:
            MetricError: The metric failed.
        """
        with self.guard("computing it"):
            return self.hooks.compute(predictions=predictions, targets=targets)

    def score_examples(
        self, columns: Mapping[str, Callable[[], Sequence[Any]]], rows: int
    ) -> tuple[list[Any], BaseException | None]:
        """Score examples one by one until it fails.

        Args:
            columns: How the values of each argument are made, one for each example;
                called for those that the metric takes.
            rows: The number of examples.

        Returns:
            What the metric returned, unchecked, and what it raised for the next
            example; None where it scored all.
        """
        plugin: Any = self.plugin
        function: Callable[..., Any] = plugin.score_example
        names = self.arguments_of("score_example")
        values: list[Any] = []
        append = values.append
        arguments = [columns[name]() for name in names]
        try:
            alone = (function() for _ in range(rows))
            for value in map(function, *arguments) if names else alone:
                append(value)
            if len(values) < rows:
                raise StopIteration  # raised in the function, it ends the loop above
        except hook_failures() as error:
            return values, error
        return values, None

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> Any:
        """Return columns that add up over examples, unchecked.

        Args:
            batch: The examples.
            context: What else the metric knows.

        Raises:
            MetricError: The metric failed.
        """
        with self.guard("statistics"):
            return self.hooks.statistics(batch=batch, context=context)

    def finalize(self, sums: pl.DataFrame, context: MetricContext) -> Any:
        """Return scores of sums, unchecked.

        Args:
            sums: Sums by group and key.
            context: What else the metric knows.

        Raises:
            MetricError: The metric failed.
        """
        with self.guard("finalize"):
            return self.hooks.finalize(sums=sums, context=context)


class BoundPerturbation(Bound, PerturbationAttributes):
    """A perturbation that is loaded."""

    _own_words = (PluginError,)

    def ask(self, hook: str, subject: str, uid: str, offered: Mapping[str, Any]) -> Any:
        """Return what a hook says of one row, unchecked.

        Args:
            hook: Name of an implemented hook.
            subject: What the row is: `example` or `copy`.
            uid: Its id.
            offered: The arguments of the hook.

        Raises:
            PluginError: The perturbation failed.
        """
        with self.guard(hook, subject, uid):
            return self.row_function(hook)(**offered)


class BoundRecogniser(Bound, RecogniserAttributes):
    """A recogniser that is loaded."""


class BoundObserver(Bound):
    """An observer that is loaded."""

    def tell(self, hook: str, values: Mapping[str, Any]) -> None:
        """Tell it what happens.

        Args:
            hook: Name of the hook.
            values: Its arguments.

        Raises:
            PluginError: The observer failed.
        """
        with self.guard(hook):
            getattr(self.hooks, hook)(**values)


BOUND: Mapping[str, type[Bound]] = {
    "tasks": BoundTask,
    "datasets": BoundDataset,
    "metrics": BoundMetric,
    "perturbations": BoundPerturbation,
    "recognisers": BoundRecogniser,
    "observers": BoundObserver,
}
"""The class of each kind, by the kind's name."""
