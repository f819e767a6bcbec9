"""Renders what a kind of plugin may say and do, from `evalkit.hookspecs`."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, get_args

FIRST = "0.1"
"""The version since which there is what does not say `Since X.Y.` in its text."""

_SINCE = re.compile(r"\s*\bSince (\d+(?:\.\d+)+)\.")
_SECTION = re.compile(r"(?m)^(Args|Returns|Raises):\n")
_ENTRY = re.compile(r"(?m)^    (\w+): ")


def contract_of(kind: str) -> dict[str, Any]:
    """Return the contract of a kind as JSON values."""
    from evalkit.catalog import kind_named

    contract = kind_named(kind)
    attributes = [
        _attribute(name, text, contract) for name, text in _texts(contract.attributes)
    ]
    hooks = [_hook(vars(contract.spec)[name], contract.ways) for name in contract.hooks]
    return {
        "kind": kind,
        "word": contract.word,
        "documentation": inspect.cleandoc(contract.spec.__doc__ or ""),
        "ways": [list(way) for way in contract.ways],
        "declarable": list(contract.declarable),
        "attributes": attributes,
        "hooks": hooks,
        "types": list(_types(_named_types(attributes, hooks), contract.spec)),
    }


def _texts(written: type) -> Iterator[tuple[str, str]]:
    """Return the names that a class annotates, and the texts below them."""
    yield from _texts_of(ast.parse(inspect.getsource(written)).body[0])


def _texts_of(node: Any) -> Iterator[tuple[str, str]]:
    for statement, below in pairwise([*node.body, None]):
        if isinstance(statement, ast.AnnAssign):
            target: ast.expr = statement.target
        elif isinstance(statement, ast.Assign):
            target = statement.targets[0]
        else:
            continue
        is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        text = str(below.value.value) if is_text else ""
        yield ast.unparse(target), _joined(text)


def _attribute(name: str, text: str, contract: Any) -> dict[str, Any]:
    is_required = not hasattr(contract.base, name)
    default = None if is_required else repr(getattr(contract.base, name))
    return {
        "name": name,
        "type": _type_text(contract.attributes.__annotations__[name]),
        "required": is_required,
        "default": default,
        **_dated(text),
    }


def _type_text(annotation: Any) -> str:
    text = getattr(annotation, "__forward_arg__", annotation)
    text = text if isinstance(text, str) else inspect.formatannotation(text)
    return re.sub(r"^ClassVar\[(.*)\]$", r"\1", text)


def _dated(text: str) -> dict[str, str]:
    since = _SINCE.search(text)
    return {
        "documentation": _SINCE.sub("", text).strip(),
        "since": since[1] if since else FIRST,
    }


def _hook(function: Any, ways: Sequence[Sequence[str]]) -> dict[str, Any]:
    signature = inspect.signature(function)
    parts = _SECTION.split(inspect.cleandoc(function.__doc__ or ""))
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    entries = _ENTRY.split(sections.get("Args", ""))
    texts = dict(zip(entries[1::2], entries[2::2], strict=True))
    arguments = [
        {
            "name": name,
            "type": _type_text(parameter.annotation),
            **_dated(_joined(texts.get(name, ""))),
        }
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    return {
        "name": function.__name__,
        "required": [[function.__name__]] == [list(way) for way in ways],
        "arguments": arguments,
        "returns": {
            "type": _type_text(signature.return_annotation),
            "documentation": _joined(sections.get("Returns", "")),
        },
        "raises": textwrap.dedent(sections.get("Raises", "")).strip(),
        **_dated(parts[0].strip()),
    }


def _joined(text: str) -> str:
    """Join the lines of a section to paragraphs without their indentation."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


def _named_types(
    attributes: Iterable[Mapping[str, Any]], hooks: Iterable[Mapping[str, Any]]
) -> list[str]:
    texts = [each["type"] for each in attributes]
    for hook in hooks:
        texts += [each["type"] for each in hook["arguments"]]
        texts.append(hook["returns"]["type"])
    words = re.findall(r"(?<![.\w])[A-Z]\w+", " ".join(texts))
    return list(dict.fromkeys(words))


def _types(names: Iterable[str], spec: type) -> Iterator[dict[str, Any]]:
    """Describe the types of evalkit's own that a contract names."""
    import evalkit
    from evalkit import places

    terms = inspect.getmodule(evalkit.MetricContext)
    aliases = dict(_texts_of(ast.parse(inspect.getsource(terms)))) if terms else {}
    for name in names:
        found: Any = next(
            (
                getattr(room, name)
                for room in (inspect.getmodule(spec), evalkit, places)
                if hasattr(room, name)
            ),
            None,
        )
        if found is None or not (hasattr(found, "_fields") or name in aliases):
            continue
        if inspect.isclass(found):
            texts = dict(_texts(found))
            values = [
                {
                    "name": field,
                    "type": _type_text(found.__annotations__[field]),
                    "documentation": _joined(texts.get(field, "")),
                }
                for field in getattr(found, "_fields", ())
            ]
            yield {
                "name": name,
                "documentation": inspect.cleandoc(found.__doc__ or ""),
                "fields": values,
            }
        else:
            choices = list(get_args(found))
            yield {"name": name, "documentation": aliases[name], "choices": choices}


def contract_page(kind: str) -> str:
    """Return the contract of a kind as Markdown."""
    contract = contract_of(kind)
    blocks = [f"## {kind.capitalize()}", contract["documentation"]]
    if contract["attributes"]:
        blocks.append("### Attributes")
        blocks.append("\n".join(map(_attribute_item, contract["attributes"])))
    blocks.append("### Hooks")
    for hook in contract["hooks"]:
        blocks += _hook_blocks(hook)
    if contract["types"]:
        blocks.append("### Types")
        blocks.append("\n".join(map(_type_item, contract["types"])))
    return "\n\n".join(blocks) + "\n"


def _attribute_item(attribute: Mapping[str, Any]) -> str:
    default = attribute["default"]
    told = "required" if attribute["required"] else f"default `{default}`"
    return _item(attribute["name"], f"`{attribute['type']}`, {told}", attribute)


def _item(name: str, told: str, described: Mapping[str, Any]) -> str:
    since = described.get("since", FIRST)
    mark = "" if since == FIRST else f" Since {since}."
    text = described["documentation"].replace("\n\n", "\n\n  ")
    return f"- `{name}` ({told}): {text}{mark}"


def _hook_blocks(hook: Mapping[str, Any]) -> Iterator[str]:
    names = ", ".join(each["name"] for each in hook["arguments"])
    since = "" if hook["since"] == FIRST else f" Since {hook['since']}."
    yield f"#### `{hook['name']}({names})`"
    yield hook["documentation"] + since
    if hook["arguments"]:
        yield "\n".join(
            _item(each["name"], f"`{each['type']}`", each) for each in hook["arguments"]
        )
    if hook["returns"]["documentation"]:
        returns = hook["returns"]
        yield f"Returns `{returns['type']}`: {returns['documentation']}"
    if hook["raises"]:
        yield f"Raises {hook['raises']}"


def _type_item(described: Mapping[str, Any]) -> str:
    if "choices" in described:
        told = ", ".join(f"`{choice}`" for choice in described["choices"])
        return _item(described["name"], told, described)
    head = _item(described["name"], "a named tuple", described)
    fields = [
        "  " + _item(each["name"], f"`{each['type']}`", each).replace("\n", "\n  ")
        for each in described["fields"]
    ]
    return "\n".join([head, *fields])
