"""Checks that an object keeps the contract of its kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

from evalkit.plugins.kinds import Kind, all_kinds, is_method


def hook_problems(kind: Kind, plugin: object) -> Iterator[str]:
    """Yield a sentence for each thing that is wrong with a plugin's hooks."""
    implemented = kind.implemented(plugin)
    this = with_article(type(plugin).__name__)
    misspelt = [*_misspelt(kind, plugin)]
    yield from misspelt
    for name in sorted({*kind.hooks} - {*kind.declarable}):
        value = inspect.getattr_static(plugin, name, None)
        if value is not None and not inspect.isroutine(value):
            yield (
                f"its attribute {name!r} has the name of a hook of "
                f"{with_article(kind.word)}, and is no method; an attribute of "
                f"your own is called _{name}"
            )
    for name in implemented:
        yield from _method_problems(kind, plugin, name)
    if kind.name == "observers" and not implemented and not misspelt:
        hooks = ", ".join(kind.hooks)
        yield f"an observer must implement one of {hooks}; this is {this}"
    ways = [way for way in kind.ways if way[0] in implemented]
    if kind.ways and not ways:
        wanted = " or ".join(" and ".join(way) for way in kind.ways)
        others = (each.word for each in all_kinds() if _looks_like(each, plugin))
        other = next((with_article(word) for word in others if word != kind.word), this)
        yield f"{with_article(kind.word)} must implement {wanted}; this is {other}"
    for way in ways:
        for name in way:
            if name not in implemented:
                yield f"it implements {way[0]} but not {name}, which belongs to it"
    if len(ways) > 1 and kind.has_one_way:
        several = ", ".join(way[0] for way in ways)
        yield (
            f"it implements {several}: {with_article(kind.word)} is written in one "
            "way only, and a method of your own begins with an underscore"
        )


def _looks_like(kind: Kind, plugin: object) -> bool:
    """Tell whether a plugin has the base class of a kind, or hooks enough for it."""
    if kind.load is not None:
        return False
    implemented = {*kind.implemented(plugin)}
    return isinstance(plugin, kind.base) or any(
        {*way} <= implemented for way in kind.ways
    )


def _method_problems(kind: Kind, plugin: object, name: str) -> Iterator[str]:
    function = getattr(plugin, name)
    problems = [*_argument_problems(kind.spec, name, plugin)]
    yield from problems
    if problems and name not in {each for way in kind.ways for each in way}:
        yield f"a method of your own is called _{name}"
    is_awaited = name in kind.awaited
    if (inspect.iscoroutinefunction(function) and not is_awaited) or (
        kind.name == "observers" and inspect.isgeneratorfunction(function)
    ):
        yield f"{name}: nobody awaits or iterates it; write a plain function"
    options = getattr(function, "evalkit_impl", None) or {}
    if options.get("wrapper") or options.get("hookwrapper"):
        yield f"{name}: wrappers are not supported"


def with_article(word: str) -> str:
    """Return a word with `a` or `an` before it."""
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


def _argument_problems(spec: type, name: str, plugin: object) -> Iterator[str]:
    _, *offered = inspect.signature(getattr(spec, name)).parameters
    function: Callable[..., object] = getattr(plugin, name)
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
    written = vars(type(plugin)).get(name)
    if inspect.isfunction(written) and written.__code__.co_argcount:
        first = written.__code__.co_varnames[0]
        if first in offered:
            yield (
                f"{name}: its first argument {first!r} would be the object itself; "
                "write self before it"
            )


def _misspelt(kind: Kind, plugin: object) -> Iterator[str]:
    hooks, base = kind.hooks, kind.base
    known = [*inspect.get_annotations(kind.attributes), "Parameters"]
    legal = {*hooks, *known, "parameters", *dir(base)}
    for name in dir(plugin):
        if name.startswith("_") or name in legal:
            continue
        is_hook = is_method(plugin, name)
        for meant in hooks if is_hook else known:
            if not is_one_edit_away(name, meant):
                continue
            if is_hook:
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
    """
    first, second = (text.lower().replace("_", "") for text in (word, other))
    if len(first) != len(second):
        short, long = sorted((first, second), key=len)
        return any(short == long[:i] + long[i + 1 :] for i in range(len(long)))
    pairs = zip(first, second, strict=True)
    places = [i for i, (one, two) in enumerate(pairs) if one != two]
    if len(places) != 2:
        return len(places) < 2
    i, j = places
    return j == i + 1 and first[i] + first[j] == second[j] + second[i]
