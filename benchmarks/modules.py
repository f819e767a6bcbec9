"""Which modules of core one evaluation imports and enters, by the command line.

Usage: python benchmarks/modules.py [-v]

Evaluates the 135 rows of `sample-nli` in this process, and watches every call of a
function. A module is entered when one of its functions is called. The last line counts
those that are entered from the first check of a response until the scores are written.
`-v` lists the modules.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType

CORE = Path(__file__).parents[1] / "core" / "src" / "evalkit"
FIRST = "predictions/judging.py"
LAST = ("runs/folders.py", "_write")


class Entered:
    """The modules of core whose functions were called."""

    def __init__(self) -> None:
        self.all: set[str] = set()
        self.of_responses: set[str] = set()
        self._is_on_the_way = False

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Note the module of a call; for `sys.setprofile`."""
        code = frame.f_code
        # the bodies of modules and classes are calls, too
        if event != "call" or not code.co_flags & CO_OPTIMIZED:
            return
        if not code.co_filename.startswith(str(CORE)):
            return
        name = Path(code.co_filename).relative_to(CORE).as_posix()
        self.all.add(name)
        self._is_on_the_way |= name == FIRST
        if self._is_on_the_way:
            self.of_responses.add(name)
        if (name, code.co_name) == LAST:
            self._is_on_the_way = False


@contextmanager
def watched() -> Iterator[Entered]:
    """Watch the calls of this process."""
    entered = Entered()
    sys.setprofile(entered.note)
    try:
        yield entered
    finally:
        sys.setprofile(None)


def main() -> None:
    """Evaluate once, and print the counts."""
    from evalkit_cli.main import cli

    with tempfile.TemporaryDirectory() as folder, watched() as entered:
        command = ["eval", "sample-nli", "--out", folder, "--quiet"]
        cli.main(command, standalone_mode=False)
    imported = {
        Path(str(module.__file__)).relative_to(CORE).as_posix()
        for name, module in sys.modules.items()
        if name.split(".")[0] == "evalkit" and getattr(module, "__file__", None)
    }
    for what, modules in (
        ("imported", imported),
        ("entered", entered.all),
        ("from response to score", entered.of_responses),
    ):
        print(f"{len(modules):4} {what}")
        if "-v" in sys.argv[1:]:
            print(*(f"     {name}" for name in sorted(modules)), sep="\n")


if __name__ == "__main__":
    main()
