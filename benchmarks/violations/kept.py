"""Violations of the laws of stores, schemas and commands."""

from __future__ import annotations

from benchmarks.violations.entry import Violation, change

STORE = "evalkit.storage.Store"

STORAGE = (
    Violation(
        "storage-01",
        "template storage/my-thing",
        "`put` writes only where the condition holds: what is there is not overwritten",
        f"{STORE}.put",
        (
            change(
                "my_thing.py",
                'if condition.kind == "absent" and there is not None:',
                'if condition.kind == "absent" and there is not None and not '
                "there.size:",
            ),
        ),
    ),
    Violation(
        "storage-02",
        "template storage/my-thing",
        "`put` on the condition `match` writes only over what was looked at",
        f"{STORE}.put",
        (
            change(
                "my_thing.py",
                "there is None or there.etag != condition.etag\n",
                "there is None\n",
            ),
        ),
    ),
    Violation(
        "storage-03",
        "example storage/memory",
        "`read` raises where there is another object by now",
        f"{STORE}.read",
        (
            change(
                "store.py",
                "if now is None or now.etag != found.etag or content is None:",
                "if now is None or content is None:",
            ),
        ),
    ),
    Violation(
        "storage-04",
        "template storage/my-thing",
        "`stop` is the byte after the last one",
        f"{STORE}.read",
        (
            change(
                "my_thing.py",
                "content = stream.read(stop - start)",
                "content = stream.read(stop - start + 1)",
            ),
        ),
    ),
    Violation(
        "storage-05",
        "example storage/memory",
        "`list_objects` is sorted by URI",
        f"{STORE}.list_objects",
        (
            change(
                "store.py",
                "for name in sorted(named):",
                "for name in sorted(named, reverse=True):",
            ),
        ),
    ),
    Violation(
        "storage-06",
        "template storage/my-thing",
        "`list_objects` lists all objects whose URIs begin with the prefix",
        f"{STORE}.list_objects",
        (change("my_thing.py", '.rglob("*")', '.glob("*")'),),
    ),
    Violation(
        "storage-07",
        "template storage/my-thing",
        "the ETag changes with the content",
        "evalkit.storage.StoredObject",
        (
            change(
                "my_thing.py",
                'f"{seen.st_size} {seen.st_mtime_ns}".encode()',
                'f"{seen.st_size} {uri}".encode()',
            ),
        ),
    ),
)

SCHEMAS = (
    Violation(
        "schemas-01",
        "template schemas/my_thing.MyThing",
        "names that begin and end with an underscore are reserved",
        "docs/authoring/schemas.md",
        (
            change(
                "my_thing.py",
                'station: str = Field(description="Where it was")',
                'station: str = Field(alias="_station_", description="Where it was")',
            ),
        ),
    ),
    Violation(
        "schemas-02",
        "template schemas/my_thing.MyThing",
        "what is named inherits from `pydantic.BaseModel`",
        "docs/authoring/schemas.md",
        (
            change(
                "my_thing.py",
                "class MyThing(BaseModel):",
                "import dataclasses\n\n\n@dataclasses.dataclass\nclass MyThing:",
            ),
        ),
    ),
)

COMMANDS = (
    Violation(
        "commands-01",
        "template commands/my-thing",
        "it is a click command whose name is the entry point's",
        "docs/commands.md",
        (
            change(
                "my_thing.py",
                '@click.command("my-thing")\n@folder_option\n@json_option\n',
                "",
            ),
        ),
    ),
    Violation(
        "commands-02",
        "template commands/my-thing",
        "it has a docstring, whose first sentence `evalkit --help` prints",
        "docs/commands.md",
        (change("my_thing.py", '    """Count the runs of each model."""\n', ""),),
    ),
)
