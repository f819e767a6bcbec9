"""How a new package, its modules and its classes are called."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches

from evalkit import Registry, UnknownPluginError
from evalkit.catalog import is_component_name
from evalkit_commands_authoring.templates import singular, template_kinds


@dataclass(frozen=True)
class Names:
    """The names in a new package.

    Attributes:
        kind: The kind of its plugin, such as `metrics`.
        component: The name that users type.
        distribution: What pip installs.
        package: What is imported.
        module: The module in it.
        target: The class in the module.
    """

    kind: str
    component: str
    distribution: str
    package: str
    module: str
    target: str

    @property
    def singular(self) -> str:
        """What a plugin of the kind is called."""
        return singular(self.kind)

    def put_into(self, text: str) -> str:
        """Replace the names of a template."""
        replaced = {
            "my-thing": self.component,
            "my_thing": self.module,
            "MY_THING": self.module.upper(),
            "MyThing": self.target,
            "my_package": self.package,
        }
        pattern = "|".join(map(re.escape, replaced))
        return re.sub(pattern, lambda found: replaced[found[0]], text)


def kind_of(word: str) -> str:
    """Return the kind that a word names, in the plural or the singular."""
    plain = re.sub(r"[\s_-]", "", word).lower()
    kinds = template_kinds()
    known = {name: kind for kind in kinds for name in (kind, singular(kind))}
    if plain not in known:
        near = get_close_matches(plain, known, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise UnknownPluginError(
            f"there is no kind of plugins called {word!r}: {', '.join(kinds)}{meant}"
        )
    return known[plain]


def names_of(kind: str, component: str, template: str) -> Names:
    """Derive all names from that of the plugin."""
    if not is_component_name(component):
        suggested = re.sub(r"[^a-z0-9]+", "-", component.lower()).strip("-")[:62]
        hint = f": {suggested.strip('-')!r} would be one" if suggested else ""
        raise UnknownPluginError(
            f"{component!r} is no name of a plugin, which has lower-case letters, "
            f"digits and single dashes, at most 62 characters{hint}"
        )
    plain = component.replace("-", "_")
    needs_prefix = not plain.isidentifier() or keyword.iskeyword(plain)
    module = f"{singular(kind)}_{plain}" if needs_prefix else plain
    target = "".join(map(str.capitalize, module.split("_")))
    if (
        keyword.iskeyword(target)
        or hasattr(builtins, target)
        or re.search(rf"\b{target}\b", template)
    ):
        target += singular(kind).capitalize()
    return Names(
        kind,
        component,
        f"evalkit-{kind}-{component}",
        f"evalkit_{kind}_{plain}",
        module,
        target,
    )


def refuse_taken(
    names: Names, plugins: Collection[tuple[str, str]], commands: frozenset[str]
) -> None:
    """Refuse names that something installed has."""
    from importlib.metadata import PackageNotFoundError, version

    for kind, name in plugins:
        if kind == "commands" and name in commands:
            raise UnknownPluginError(
                f"evalkit has a command called {name!r} already: choose another name"
            )
    for component in Registry().catalog.components:
        if component.id.partition("/")[::2] in plugins:
            raise UnknownPluginError(
                f"{component.origin} is called so already: choose another name"
            )
    try:
        found = version(names.distribution)
    except PackageNotFoundError:
        return
    raise UnknownPluginError(
        f"{names.distribution} {found} is installed already: choose another name"
    )
