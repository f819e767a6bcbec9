"""Checks that an object keeps the contract of its kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evalkit.plugins.kinds import Kind, all_kinds, kind_named


def implemented_hooks(kind: str, plugin: object) -> list[str]:
    """Return the names of the hooks that a plugin implements as methods."""
    return [name for name in kind_named(kind).hooks if _is_method(plugin, name)]


def _is_method(plugin: object, name: str) -> bool:
    return inspect.isroutine(inspect.getattr_static(plugin, name, None))


def hook_problems(kind: str, plugin: object) -> Iterator[str]:
    """Find what is wrong with a plugin's hooks.

    Args:
        kind: The kind that the plugin was declared as.
        plugin: The object.

    Yields:
        One sentence for each problem.
    """
    contract = kind_named(kind)
    implemented = implemented_hooks(kind, plugin)
    misspelt = [*_misspelt(contract, plugin)]
    yield from misspelt
    yield from _values_named_like_hooks(contract, plugin)
    for name in implemented:
        yield from _method_problems(contract, plugin, name)
    if kind == "observers" and not implemented and not misspelt:
        yield (
            f"an observer must implement one of {', '.join(contract.hooks)}; this "
            f"is {with_article(type(plugin).__name__)}"
        )
    yield from _way_problems(contract, plugin, implemented)


def _way_problems(
    contract: Kind, plugin: object, implemented: Sequence[str]
) -> Iterator[str]:
    ways = [way for way in contract.ways if way[0] in implemented]
    if contract.ways and not ways:
        yield _missing_hooks(contract, plugin)
    for way in ways:
        for name in way:
            if name not in implemented:
                yield f"it implements {way[0]} but not {name}, which belongs to it"
    if len(ways) > 1 and contract.has_one_way:
        several = ", ".join(way[0] for way in ways)
        yield (
            f"it implements {several}: {with_article(contract.word)} is written in one "
            "way only, and a method of your own begins with an underscore"
        )


def _method_problems(contract: Kind, plugin: object, name: str) -> Iterator[str]:
    function = getattr(plugin, name)
    problems = [
        *_argument_problems(contract.spec, name, function),
        *_lacks_self(contract.spec, name, plugin),
    ]
    yield from problems
    if problems and name not in {each for way in contract.ways for each in way}:
        yield f"a method of your own is called _{name}"
    is_awaited = name in contract.awaited
    if (inspect.iscoroutinefunction(function) and not is_awaited) or (
        contract.name == "observers" and inspect.isgeneratorfunction(function)
    ):
        yield f"{name}: nobody awaits or iterates it; write a plain function"
    options = getattr(function, "evalkit_impl", None) or {}
    if options.get("wrapper") or options.get("hookwrapper"):
        yield f"{name}: wrappers are not supported"


def _values_named_like_hooks(contract: Kind, plugin: object) -> Iterator[str]:
    for name in sorted({*contract.hooks} - {*contract.declarable}):
        value = inspect.getattr_static(plugin, name, None)
        if value is not None and not inspect.isroutine(value):
            yield (
                f"its attribute {name!r} has the name of a hook of "
                f"{with_article(contract.word)}, and is no method; an attribute of "
                f"your own is called _{name}"
            )


def _missing_hooks(contract: Kind, plugin: object) -> str:
    wanted = " or ".join(" and ".join(way) for way in contract.ways)
    this = type(plugin).__name__
    for other in all_kinds():
        if other is contract or other.load is not None:
            continue
        implemented = {*implemented_hooks(other.name, plugin)}
        if isinstance(plugin, other.base) or any(
            {*way} <= implemented for way in other.ways
        ):
            this = other.word
            break
    return (
        f"{with_article(contract.word)} must implement {wanted}; this is "
        f"{with_article(this)}"
    )


def with_article(word: str) -> str:
    """Return a word with `a` or `an` before it."""
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


def _argument_problems(
    spec: type, name: str, function: Callable[..., Any]
) -> Iterator[str]:
    offered = [
        argument
        for argument in inspect.signature(getattr(spec, name)).parameters
        if argument != "self"
    ]
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        yield f"the signature of {name} cannot be read: {error}"
        return
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY:
            yield (
                f"{name}: the argument {parameter.name!r} is keyword-only; hooks are "
                "called by position, so it would never get a value"
            )
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            yield (
                f"{name}: '*{parameter.name}' gets nothing; name the arguments that "
                f"are needed, out of: {', '.join(offered)}"
            )
        elif parameter.name not in offered:
            yield (
                f"{name}: there is no argument {parameter.name!r}; the hook offers: "
                f"{', '.join(offered) or 'none'}"
            )


def _lacks_self(spec: type, name: str, plugin: object) -> Iterator[str]:
    function = vars(type(plugin)).get(name)
    if not inspect.isfunction(function):
        return
    first = next(iter(function.__code__.co_varnames), "")
    is_method = function.__code__.co_argcount > 0
    offered = [*inspect.signature(getattr(spec, name)).parameters][1:]
    if is_method and first in offered:
        yield (
            f"{name}: its first argument {first!r} would be the object itself; write "
            "self before it"
        )


def _misspelt(contract: Kind, plugin: object) -> Iterator[str]:
    hooks, base = contract.hooks, contract.base
    known = [*inspect.get_annotations(contract.attributes), "Parameters"]
    legal = {*hooks, *known, "parameters", *dir(base)}
    for name in dir(plugin):
        if name.startswith("_") or name in legal:
            continue
        is_method = _is_method(plugin, name)
        for meant in hooks if is_method else known:
            if not is_one_edit_away(name, meant):
                continue
            if is_method:
                yield f"its method {name!r} is no hook; did you mean {meant!r}?"
            elif inspect.getattr_static(plugin, meant, None) is (
                inspect.getattr_static(base, meant, None)
            ):
                yield (
                    f"its attribute {name!r} is read by nothing; did you mean "
                    f"{meant!r}? Names of your own begin with an underscore"
                )


def is_one_edit_away(word: str, other: str) -> bool:
    """Tell whether one insertion, deletion, change or swap makes two words equal.

    Capitals and underscores do not count.

    Args:
        word: One word.
        other: Another word.

    Returns:
        True for words that are equal or one edit apart.
    """
    first, second = (text.lower().replace("_", "") for text in (word, other))
    if len(first) != len(second):
        short, long = sorted((first, second), key=len)
        return any(short == long[:i] + long[i + 1 :] for i in range(len(long)))
    places = [
        i for i, pair in enumerate(zip(first, second, strict=True)) if len({*pair}) > 1
    ]
    is_swap = len(places) == 2 and places[1] == places[0] + 1
    return len(places) < 2 or (
        is_swap
        and first[places[0]] == second[places[1]]
        and first[places[1]] == second[places[0]]
    )
