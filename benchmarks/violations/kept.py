"""Violations of the laws of stores, schemas and commands."""

from __future__ import annotations

from benchmarks.violations.entry import Violation, change

PLACE = "evalkit.places.Place"

STORAGE = (
    Violation(
        "storage-01",
        "template storage/my-thing",
        "`put` without `overwrite` replaces no file",
        f"{PLACE}.put",
        (change("my_thing.py", "if overwrite:", "if overwrite or target.exists():"),),
    ),
    Violation(
        "storage-02",
        "template storage/my-thing",
        "`local` returns None if there is no such file",
        f"{PLACE}.local",
        (
            change(
                "my_thing.py",
                "if not path.is_file():",
                "if not path.parent.parent.exists():",
            ),
        ),
    ),
    Violation(
        "storage-03",
        "template storage/my-thing",
        "`list` lists all files below a folder",
        f"{PLACE}.list",
        (change("my_thing.py", '.rglob("*")', '.glob("*")'),),
    ),
    Violation(
        "storage-04",
        "template storage/my-thing",
        "the version changes with the content",
        "evalkit.places.Entry",
        (
            change(
                "my_thing.py",
                'f"{path} {state.st_size} {state.st_mtime_ns} {state.st_ino}"',
                'f"{path} {state.st_size}"',
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
