"""Makes copies again in another process, whose sets have another order.

Run as `python -m evalkit_testing.perturbations.another_process FILE FILE`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalkit_commands_perturb import perturb
from evalkit_testing.commands import run_python
from evalkit_testing.laws import LawBroken

MOST = 10
"""How many examples are perturbed again."""


class Made(NamedTuple):
    """Copies that were made, and what they were made of."""

    example: dict[str, Any]
    perturbation: str
    """By the name that the copies hold."""
    task: str | None
    fields: Sequence[str]
    answer_field: str | None
    seed: int
    copies: list[dict[str, Any]]

    @property
    def is_plain(self) -> bool:
        """Whether another process can be told of the example."""
        try:
            return bool(json.loads(json.dumps(self.example)) == self.example)
        except (TypeError, ValueError):
            return False


def check_elsewhere(made: Sequence[Made]) -> None:
    """Make copies again, in a process with another seed of hashes."""
    if not made:
        return
    here = "0" if os.environ.get("PYTHONHASHSEED") != "0" else "1"
    with tempfile.TemporaryDirectory() as folder:
        request, answer = Path(folder) / "request.json", Path(folder) / "answer.json"
        asked = {
            "path": sys.path,
            "folder": str(Path.cwd()),
            "made": [each._asdict() for each in made],
        }
        request.write_text(json.dumps(asked, default=str), encoding="utf-8")
        done = run_python(
            "-m", __name__, str(request), str(answer), PYTHONHASHSEED=here
        )
        if done.returncode or not answer.exists():
            *_, said = ["", *done.stderr.strip().splitlines()]
            raise LawBroken(f"the other process ended with {done.returncode}: {said}")
        found = json.loads(answer.read_text(encoding="utf-8"))
    for one, copies in zip(made, found, strict=True):
        if _as_text(one.copies) != _as_text(copies):
            raise LawBroken(
                f"with the seed {one.seed} the copies of {one.example!r} are "
                f"{shown_copies(one.copies)}, and {shown_copies(copies)} in another "
                "process"
            )


def _as_text(copies: Any) -> str:
    return json.dumps(copies, default=str, sort_keys=True)


def shown_copies(copies: Sequence[Mapping[str, Any]]) -> str:
    """Show what copies hold beside where they come from."""
    kept = ("uid", "input_id", "perturbation", "edits")
    return repr([{k: v for k, v in row.items() if k not in kept} for row in copies])


def main() -> None:
    """Make the copies that a file asks for."""
    asked = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.path[:] = asked["path"]
    os.chdir(asked["folder"])
    found = [_copies(each) for each in asked["made"]]
    text = json.dumps(found, default=str)
    Path(sys.argv[2]).write_text(text, encoding="utf-8")


def _copies(asked: dict[str, Any]) -> list[dict[str, Any]]:
    made = perturb(
        [asked["example"]],
        asked["perturbation"],
        task=asked["task"],
        fields=asked["fields"],
        answer_field=asked["answer_field"],
        seed=asked["seed"],
        again=True,
        edits=True,
    )
    return list(made)


if __name__ == "__main__":
    main()
