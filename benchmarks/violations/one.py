"""Check one copy, in a process of its own: `python -m benchmarks.violations.one`."""

from __future__ import annotations

import inspect
import json
import os
import sys
from pathlib import Path

from benchmarks.violations.copies import source_of
from benchmarks.violations.options import OPTIONS


def main() -> None:
    """Run the kit's check of the plugin, and then that of how it is loaded."""
    plugin, folder = sys.argv[1], Path(sys.argv[2])
    try:
        _check(plugin, folder)
    except Exception as error:
        law = getattr(error, "law", None)
        _say(law, type(error).__name__, str(error))
        return
    _say(None, "", "")


def _check(plugin: str, folder: Path) -> None:
    from evalkit_testing.conformance import check_of

    of, _, name = plugin.rpartition(" ")
    kind, _, short = name.partition("/")
    source = source_of(plugin)
    os.environ["MY_THING_FOLDER"] = str(folder / "stored")
    os.environ["OBSERVED"] = str(folder / "observed.jsonl")
    made = OPTIONS.get(plugin)
    options = dict(made(folder)) if made else {}
    check = check_of(kind)
    assert check is not None
    first = next(iter(inspect.signature(check).parameters))
    if kind != "storage":
        options[first] = options.pop("plugin", short)
    check(**options)
    # those of templates and of the example are declared by the copy
    distribution = f"evalkit-{kind}-my-thing" if of else None
    _check_loading(kind, short, distribution, source.folder)


def _check_loading(
    kind: str, short: str, distribution: str | None, folder: Path
) -> None:
    """Check how the component is loaded, as `--evalkit-conformance` does."""
    import tomllib

    from evalkit_testing.distributions import (
        DISTRIBUTION_LAWS,
        check_surveyed,
        surveyed,
    )

    if distribution is None:
        project = folder.parent.parent / "pyproject.toml"
        read = tomllib.loads(project.read_text("utf-8"))
        distribution = read["project"]["name"]
    found = surveyed(distribution)
    names = [each.name for each in DISTRIBUTION_LAWS]
    whole = ("metadata", "licence", "cost")
    for component in found.components:
        if (component.kind, component.name) == (kind, short):
            rest = tuple(name for name in names if name not in whole)
            check_surveyed(found.of(component), rest)


def _say(law: str | None, error: str, message: str) -> None:
    sys.stdout.write(
        "\n" + json.dumps({"law": law, "error": error, "message": message})
    )


main()
