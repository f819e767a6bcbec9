"""A plugin that is loaded, and the guard of all calls into it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Any, ClassVar, Literal, Self

import pluggy
from pydantic import BaseModel

from evalkit.base.failures import located
from evalkit.base.names import score_name
from evalkit.base.violations import shorten
from evalkit.errors import EvalkitError, PluginError
from evalkit.plugins.components import Component
from evalkit.plugins.contract import implemented_hooks, implements
from evalkit.plugins.kinds import kind_named


class _ComponentManager(pluggy.PluginManager):
    """A manager in which a method named like a hook is that hook."""

    def __init__(self, kind: str) -> None:
        super().__init__("evalkit")
        self._kind = kind
        self.add_hookspecs(kind_named(kind).spec)

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
            f"{self._origin}: {self._step} failed{where} with {located(error)}"
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
        return hook in self._implemented

    @cached_property
    def _implemented(self) -> frozenset[str]:
        return frozenset(implemented_hooks(self.component.kind, self.plugin))

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

    def depth_of(self, name: str) -> int:
        """Return how far up an attribute is defined; -1 for the object itself."""
        if name in getattr(self.plugin, "__dict__", {}):
            return -1
        bases = type(self.plugin).__mro__
        return next(place for place, base in enumerate(bases) if name in vars(base))

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
