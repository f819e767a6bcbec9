"""A plugin that is loaded, and the one way to call its hooks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel

from evalkit.base.failures import located
from evalkit.base.ids import RESPONSE_ID_KEYS
from evalkit.base.names import score_name
from evalkit.base.violations import shorten
from evalkit.errors import EvalkitError, PluginError
from evalkit.plugins.components import Component
from evalkit.plugins.kinds import kind_named


@dataclass(frozen=True)
class Guard:
    """Names the plugin in whatever is raised while it does something."""

    origin: str
    """Id, distribution and version of the plugin."""
    step: str
    """What it is doing, such as the name of a hook."""
    subject: str = ""
    """What it was given, such as `example`; "" if that is not one thing."""
    uid: Any = None
    """The id of what it was given."""
    error: type[EvalkitError] = PluginError
    """Class of the error."""
    own_words: tuple[type[EvalkitError], ...] = ()
    """Errors by which a plugin says itself what is wrong; its name is added."""
    passes: tuple[type[BaseException], ...] = ()
    """What is not a failure, or names the plugin already."""
    hint: str = ""
    """Further clause of the error."""

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
        if error is None or isinstance(error, (KeyboardInterrupt, self.passes)):
            return False
        if isinstance(error, self.own_words):
            if self.origin in str(error):
                return False
            is_ours = type(error).__module__ == EvalkitError.__module__
            kind = type(error) if is_ours else self.error
            raise kind(f"{self.origin}: {error}") from error
        raise self.failure(error) from error

    def failure(self, error: BaseException) -> EvalkitError:
        """Return the error that says what failed; chain it with `from`."""
        where = f" for the {self.subject} {shorten(self.uid)}" if self.subject else ""
        return self.error(
            f"{self.origin}: {self.step} failed{where} with {located(error)}{self.hint}"
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
    """Its parameters; None if it takes none."""
    attributes: Mapping[str, Any]
    """Checked attributes by name, with defaults filled in."""
    loaded_with: Mapping[str, Any] | None = None
    """The values that it was loaded with by name; None for an object that the caller
    passed."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file that a reader made it of, when it was read."""
    name: str = field(init=False)
    """The plugin's name with those parameters that are not at their default."""
    _arguments: dict[str, tuple[str, ...]] = field(
        init=False, repr=False, default_factory=dict
    )

    _failure: ClassVar[type[EvalkitError]] = PluginError
    """Class of the errors of failed hooks."""
    _own_words: ClassVar[tuple[type[EvalkitError], ...]] = ()
    """Errors by which a hook says itself what is wrong."""
    _refusals: ClassVar[Mapping[str, tuple[type[BaseException], ...]]] = {}
    """Exceptions that a hook raises on purpose, which `call` lets pass."""
    _hints: ClassVar[Mapping[str, str]] = {}
    """Further clauses of the errors of hooks."""

    def __post_init__(self) -> None:
        """Set the plugin's attributes, and its name."""
        name = score_name(self.component.name, self.changed_parameters)
        vars(self).update(self.attributes)
        vars(self).update(name=name)

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

    @property
    def changed_parameters(self) -> Mapping[str, Any]:
        """Parameters that are not at their default, as JSON values."""
        if self.parameters is None:
            return {}
        return self.parameters.model_dump(mode="json", exclude_defaults=True)

    def has(self, hook: str) -> bool:
        """Tell whether the plugin implements a hook as a method."""
        return hook in self._implemented

    @cached_property
    def _implemented(self) -> frozenset[str]:
        return frozenset(kind_named(self.component.kind).implemented(self.plugin))

    def call(
        self, hook: str, at: tuple[str, Any] | None = None, /, **offered: Any
    ) -> Any:
        """Call a hook with those arguments that the implementation names.

        Args:
            hook: Name of an implemented hook.
            at: What it is called for and its id, such as `("example", "7")`, for
                messages. Default: the example or response among the arguments.
            **offered: The arguments of the spec.

        Returns:
            What the hook returned, unchecked.

        Raises:
            EvalkitError: It failed; the error names the plugin, the hook and the
                example.
            BaseException: An exception that the spec allows the hook to raise.
        """
        # found first, as the hook might change its arguments
        subject, uid = _place(offered) if at is None else at
        with self.guard(hook, subject, uid, self._refusals.get(hook, ())):
            return self.row_function(hook)(**offered)

    def row_function(self, hook: str) -> Callable[..., Any]:
        """Return a hook as a function of any arguments of the spec, without guard.

        Args:
            hook: Name of an implemented hook.
        """
        function: Callable[..., Any] = getattr(self.plugin, hook)
        names = self.arguments_of(hook)
        return lambda **offered: function(*[offered[name] for name in names])

    def arguments_of(self, hook: str) -> tuple[str, ...]:
        """Return the names of the arguments that the implementation of a hook takes."""
        names = self._arguments.get(hook)
        if names is None:
            names = tuple(inspect.signature(getattr(self.plugin, hook)).parameters)
            self._arguments[hook] = names
        return names

    def depth_of(self, name: str) -> int:
        """Return how far up an attribute is defined; -1 for the object itself."""
        if name in getattr(self.plugin, "__dict__", {}):
            return -1
        bases = type(self.plugin).__mro__
        return next(place for place, base in enumerate(bases) if name in vars(base))

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
            passes: What is not a failure, or names the plugin already.
        """
        return Guard(
            *(self.component.origin, step, subject, uid),
            *(self._failure, self._own_words, passes, self._hints.get(step, "")),
        )


def _place(offered: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the response or example among arguments, and its id."""
    response, example = offered.get("response"), offered.get("example")
    if response is not None:
        ids = map(response.get, RESPONSE_ID_KEYS)
        return "response", next((each for each in ids if each), None)
    return ("", None) if example is None else ("example", example.get("uid"))
