"""All laws of all components of a distribution, as items of pytest."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args, get_origin

import pytest

import evalkit_testing
from evalkit import EvalkitError, PluginError, Registry
from evalkit.catalog import Component, FunctionMetric, Resolver, import_component
from evalkit.errors import RequiredParameterError, StorageError
from evalkit_testing.distributions import (
    DISTRIBUTION_LAWS,
    DistributionLawError,
    Surveyed,
    check_surveyed,
    surveyed,
)
from evalkit_testing.laws import (
    LawBroken,
    LawError,
    MissingOption,
    refused_end,
    untried_laws,
)
from evalkit_testing.shared_state import State
from evalkit_testing.unchecked import MARK, PROPERTY

_OF_DISTRIBUTION = ("metadata", "licence", "cost")
"""Laws that are told once, and not of each component."""


_OF_EACH_CHECK = (
    *("the generator", "the threads", "the filter", "the handlers", "the context"),
    "the garbage",
)
"""Of what is shared that which checks themselves, or pytest, may change."""


class Group(NamedTuple):
    """Laws that are checked together."""

    name: str
    laws: tuple[str, ...] | None
    """None for all laws of the kind."""


GROUPS: Mapping[str, tuple[Group, ...]] = {
    "metrics": (
        Group("values", ("values", "counts", "nothing", "single", "width")),
        Group(
            "same",
            (
                *("repeatable", "stateless", "order", "answers", "each-answer"),
                *("batches", "split", "tags"),
            ),
        ),
        Group(
            "best-and-worst",
            ("missing", "null", "left-out", "nan", "reasons", "perfect"),
        ),
    )
}
"""Groups of the kinds whose laws are many; other kinds have one."""


def check_of(kind: str) -> Callable[..., None] | None:
    """Return the check of a kind; None where the kit has none."""
    return getattr(evalkit_testing, f"check_{kind.removesuffix('s')}", None)


class Conformance(pytest.File):
    """The distributions that `--evalkit-conformance` names."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield them."""
        for name in self.config.getoption("--evalkit-conformance"):
            yield Checked.from_parent(self, name=name)


class Checked(pytest.Collector):
    """A distribution."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each component and group of laws."""
        try:
            found = surveyed(self.name)
            found.survey()
        except (PluginError, LawBroken) as error:
            raise self.CollectError(str(error)) from error
        each = [law.name for law in DISTRIBUTION_LAWS]
        yield LawItem.of(self, "distribution", _loading(found, _OF_DISTRIBUTION))
        rest = tuple(name for name in each if name not in _OF_DISTRIBUTION)
        for component in found.components:
            one = found.of(component)
            yield LawItem.of(self, f"{component.id}-loading", _loading(one, rest))
            if check_of(component.kind) is not None:
                yield from self._of_kind(component, one.unsafe(component))

    def _of_kind(self, component: Component, unsafe: str) -> Iterator[pytest.Item]:
        # of every conftest.py: none of them stands above this file
        options = self.config.hook.pytest_evalkit_options(
            kind=component.kind, name=component.name
        )
        for group in GROUPS.get(component.kind, (Group("laws", None),)):
            count = self.config.getoption("--evalkit-examples")
            check = _checking(
                component, group, {} if options is None else options, count
            )
            if unsafe:
                check = _refusing(component, unsafe)
            yield LawItem.of(self, f"{component.id}-{group.name}", check)

    def collect_error_text(self) -> str:
        """Say what it is that could not be collected."""
        return f"evalkit: {self.name}"


class LawItem(pytest.Item):
    """Some laws of one component."""

    check: Callable[[], None]

    @classmethod
    def of(
        cls, parent: pytest.Collector, name: str, check: Callable[[], None]
    ) -> LawItem:
        """Make an item."""
        made: LawItem = cls.from_parent(parent, name=name)
        made.check = check
        return made

    def runtest(self) -> None:
        """Check the laws, and that nothing else is another afterwards."""
        import polars  # noqa: F401 - it sets a variable where it is first imported

        before = State()
        try:
            with refused_end():
                self._check_and_keep()
        finally:
            changed = [
                name for name in before.changed() if not name.startswith(_OF_EACH_CHECK)
            ]
            before.put_back(changed)
        if changed:
            raise LawError(
                f"{self.name}: after its laws were checked {changed[0]} is another, "
                "which others use, too; have a hook put back what it changes",
                "state",
            )

    def _check_and_keep(self) -> None:
        with untried_laws() as untried:
            self.check()
        self.user_properties += [(PROPERTY, f"{self.name}: {each}") for each in untried]

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> Any:
        """Show what was found, without the way to it."""
        if isinstance(excinfo.value, AssertionError | EvalkitError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Name the item."""
        return (
            self.path,
            None,
            f"{self.parent.name if self.parent else ''}: {self.name}",
        )


def _loading(found: Surveyed, laws: tuple[str, ...]) -> Callable[[], None]:
    return lambda: check_surveyed(found, laws)


def _refusing(component: Component, unsafe: str) -> Callable[[], None]:
    """Return what fails in place of laws that would harm this process, and others."""

    def run() -> None:
        raise DistributionLawError(
            f"{component.origin}: not tried, as loading it {unsafe}", "contract"
        )

    return run


def _checking(
    component: Component, group: Group, options: Any, count: int
) -> Callable[[], None]:
    check = check_of(component.kind)
    assert check is not None
    takes = inspect.signature(check).parameters

    def run() -> None:
        _verify_options(component, check.__name__, options, [*takes])
        given = dict(options)
        named = given.pop("plugin", None) or _with_choices(component)
        plugin = _plugin_of(component, named)
        if "max_examples" in takes:
            given.setdefault("max_examples", count)
        if group.laws is not None:
            given["laws"] = _laws_of(component, group.laws, given.get("laws"))
        first, *others = takes.values()
        lacking = [
            each.name
            for each in others
            if each.default is each.empty and each.name not in given
        ]
        if component.kind == "storage" and "place" not in given:
            lacking = ["place"]
        if lacking:
            _skip(component, f"{check.__name__} needs {', '.join(lacking)}")
        own = {} if "place" in given else {first.name: plugin}
        _check_or_skip(component, check, {**own, **given})

    return run


def _verify_options(
    component: Component, check: str, options: object, takes: list[str]
) -> None:
    """Refuse what is no argument, or would have something else be checked."""
    whose = (
        f"pytest_evalkit_options({component.kind!r}, {component.name!r}) in conftest.py"
    )
    if not isinstance(options, Mapping):
        raise EvalkitError(f"{whose} must return a dict or None, returns {options!r}")
    own = ["plugin", *takes[1:]] if component.kind != "storage" else takes
    unknown = [name for name in options if name not in own]
    if unknown:
        raise EvalkitError(
            f"{whose} gives {unknown[0]!r}, which is no argument of "
            f"{check} here; there are {', '.join(own)}"
        )
    plugin = options.get("plugin", component.name)
    names = (component.name, f"{component.name}@{component.distribution}")
    if not isinstance(plugin, str) or plugin.partition(":")[0] not in names:
        raise EvalkitError(
            f"{whose} gives plugin={plugin!r}: it must be {component.name!r}, with "
            "parameters if it takes some"
        )


def _with_choices(component: Component) -> str:
    """Name a component with the first value of each choice that it requires."""
    model = getattr(import_component(component), "Parameters", None)
    choices = [
        f"{name}={get_args(field.annotation)[0]}"
        for name, field in getattr(model, "model_fields", {}).items()
        if field.is_required() and get_origin(field.annotation) is Literal
    ]
    return ":".join([component.name, *filter(None, [",".join(choices)])])


def _plugin_of(component: Component, plugin: str) -> str:
    """Name the distribution, as another one may have a component of the name."""
    _, colon, parameters = plugin.partition(":")
    return f"{component.name}@{component.distribution}{colon}{parameters}"


def _laws_of(
    component: Component, laws: tuple[str, ...], chosen: object
) -> tuple[str, ...]:
    """Return the laws of a group that are wanted, where the author chooses some."""
    if not isinstance(chosen, list | tuple | set | frozenset):
        return laws
    wanted = tuple(name for name in laws if name in chosen)
    if not wanted:
        _skip(component, "laws= of pytest_evalkit_options leaves these out")
    return wanted


def _check_or_skip(
    component: Component, check: Callable[..., None], given: Mapping[str, Any]
) -> None:
    """Check a component; what it lacks for that is no failure, and is told."""
    try:
        _check(component, check, given)
    except LawError as error:
        if not error.is_untested:
            raise
        _skip(component, str(error))
    except (MissingOption, RequiredParameterError, StorageError) as error:
        _skip(component, str(error))


def _check(
    component: Component, check: Callable[..., None], given: Mapping[str, Any]
) -> None:
    """Check a component; a metric that does not say that it takes numbers with those.

    That is a function which says nothing of answers, and fails for texts.
    """
    try:
        check(**given)
    except LawError as error:
        is_given = "examples" in given or "answer_kind" in given
        if component.kind != "metrics" or is_given or "it failed:" not in str(error):
            raise
        bound = Resolver(Registry()).metric(given["metric"])
        kinds = FunctionMetric.answer_kinds
        if not isinstance(bound.plugin, FunctionMetric) or bound.answer_kinds != kinds:
            raise
        check(**given, answer_kind="number")


def _skip(component: Component, why: str) -> None:
    named = why if why.startswith(component.id) else f"{component.id}: {why}"
    pytest.skip(f"{MARK}{named}")
