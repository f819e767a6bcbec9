"""Checks that an object keeps the contract of its kind.

pluggy refuses a hook that takes an argument its spec does not have. Checked here is
what pluggy lets pass: keyword-only and variadic arguments, missing and misspelt hooks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from inspect import get_annotations
from typing import Any

from evalkit.plugins.kinds import all_kinds, kind_named


def hook_names(kind: str) -> list[str]:
    """Return the names of the hooks of a kind."""
    return [*kind_named(kind).hooks]


def implemented_hooks(kind: str, plugin: object) -> list[str]:
    """Return the names of the hooks that a plugin implements as methods."""
    return [name for name in hook_names(kind) if implements(kind, plugin, name)]


def implements(kind: str, plugin: object, name: str) -> bool:
    """Tell whether a name is a hook that a plugin implements as a method.

    Args:
        kind: The kind of the plugin.
        plugin: The object.
        name: Any name.
    """
    is_hook = name in kind_named(kind).hooks
    return is_hook and inspect.isroutine(inspect.getattr_static(plugin, name, None))


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
    misspelt = [*_misspelt(kind, plugin)]
    yield from misspelt
    yield from _values_named_like_hooks(kind, plugin)
    needed = {name for way in contract.ways for name in way}
    for name in implemented:
        function = getattr(plugin, name)
        problems = [
            *_argument_problems(contract.spec, name, function),
            *_lacks_self(contract.spec, name, plugin),
        ]
        yield from problems
        if problems and name not in needed:
            yield f"a method of your own is called _{name}"
        is_awaited = name in contract.awaited
        if (inspect.iscoroutinefunction(function) and not is_awaited) or (
            kind == "observers" and inspect.isgeneratorfunction(function)
        ):
            yield f"{name}: nobody awaits or iterates it; write a plain function"
    if kind == "observers" and not implemented and not misspelt:
        yield (
            f"an observer must implement one of {', '.join(hook_names(kind))}; this "
            f"is {with_article(type(plugin).__name__)}"
        )
    ways = [way for way in contract.ways if way[0] in implemented]
    if contract.ways and not ways:
        yield _missing_hooks(kind, plugin)
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


def _values_named_like_hooks(kind: str, plugin: object) -> Iterator[str]:
    contract = kind_named(kind)
    word = with_article(contract.word)
    for name in sorted({*contract.hooks} - {*contract.declarable}):
        value = inspect.getattr_static(plugin, name, None)
        if value is not None and not inspect.isroutine(value):
            yield (
                f"its attribute {name!r} has the name of a hook of {word}, and is no "
                f"method; an attribute of your own is called _{name}"
            )


def _missing_hooks(kind: str, plugin: object) -> str:
    contract = kind_named(kind)
    wanted = " or ".join(" and ".join(way) for way in contract.ways)
    message = f"{with_article(contract.word)} must implement {wanted}"
    for other in all_kinds():
        if other is contract or other.load is not None:
            continue
        if isinstance(plugin, other.base) or any(
            set(way) <= set(implemented_hooks(other.name, plugin)) for way in other.ways
        ):
            return f"{message}; this is {with_article(other.word)}"
    return f"{message}; this is {with_article(type(plugin).__name__)}"


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


def _misspelt(kind: str, plugin: object) -> Iterator[str]:
    contract, hooks = kind_named(kind), hook_names(kind)
    known = [*get_annotations(contract.attributes), "Parameters"]
    legal = {*hooks, *known, "parameters", *dir(contract.base)}
    for name in dir(plugin):
        if name.startswith("_") or name in legal:
            continue
        is_method = inspect.isroutine(inspect.getattr_static(plugin, name, None))
        for meant in hooks if is_method else known:
            if not is_one_edit_away(name, meant):
                continue
            if is_method:
                yield f"its method {name!r} is no hook; did you mean {meant!r}?"
            elif not _sets(plugin, meant, contract.base):
                yield (
                    f"its attribute {name!r} is read by nothing; did you mean "
                    f"{meant!r}? Names of your own begin with an underscore"
                )


def _sets(plugin: object, attribute: str, base: type) -> bool:
    """Tell whether a plugin itself says something about an attribute."""
    value = inspect.getattr_static(plugin, attribute, None)
    return value is not inspect.getattr_static(base, attribute, None)


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
    if len(first) > len(second):
        first, second = second, first
    if len(second) - len(first) > 1:
        return False
    start = next(
        (
            i
            for i, pair in enumerate(zip(first, second, strict=False))
            if len({*pair}) > 1
        ),
        len(first),
    )
    rest_first, rest_second = first[start:], second[start:]
    if len(first) < len(second):
        return rest_first == rest_second[1:]
    swapped = rest_first[:2] == rest_second[1::-1] if len(rest_first) > 1 else False
    return rest_first[1:] == rest_second[1:] or (
        swapped and rest_first[2:] == rest_second[2:]
    )
