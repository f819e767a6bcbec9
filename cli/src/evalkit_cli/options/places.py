"""Types of options that name a place: of this machine, or in a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class RunsFolder(click.Path):
    """A folder of runs: of this machine, or the URI of one, as a path."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the path; a URI without a bucket would be one of another bucket."""
        if ":///" in str(value):
            from evalkit.errors import DataError
            from evalkit.places import uri_of

            try:
                uri_of(value)
            except DataError as error:
                self.fail(str(error), param, ctx)
        return super().convert(value, param, ctx)
