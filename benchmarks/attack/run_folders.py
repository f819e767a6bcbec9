"""Damaged run folders: a command says so, or prints what it always prints."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from .bit_flips import files_of
from .commands import Ended, listing, run_apart, run_here
from .outcomes import Outcome
from .runs_to_attack import Whole

Damage = Callable[[Path, random.Random, Whole], str]
"""Damages a copy of a run and says how."""

ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        -1,
        2**70,
        1e308,
        "",
        "../../ESC",
        "/etc/passwd",
        "\u0000",
        "é" * 300,
    ),
    *([], {}, [None], {"a": None}, "x" * 100_000, 0.1, "\ud800"),
)


def _some_file(folder: Path, chance: random.Random) -> Path:
    # an empty file that is cut or filled with zeros is the same file
    return chance.choice([path for path in files_of(folder) if path.stat().st_size])


def _delete(folder: Path, chance: random.Random, _whole: Whole) -> str:
    path = _some_file(folder, chance)
    path.unlink()
    return path.name


def _cut(folder: Path, chance: random.Random, _whole: Whole) -> str:
    path = _some_file(folder, chance)
    size = path.stat().st_size
    os.truncate(path, chance.choice((0, size // 2, max(0, size - 2))))
    return path.name


def _grow(folder: Path, chance: random.Random, _whole: Whole) -> str:
    path = _some_file(folder, chance)
    with path.open("ab") as stream:
        stream.write(chance.choice((b"\n", b"\x00" * 4096, b"{}\n", path.read_bytes())))
    return path.name


def _zeros(folder: Path, chance: random.Random, _whole: Whole) -> str:
    path = _some_file(folder, chance)
    path.write_bytes(bytes(path.stat().st_size))
    return path.name


def _swap(folder: Path, chance: random.Random, whole: Whole) -> str:
    # with the record of another run it would be the other run, and say so itself
    tables = [path for path in files_of(folder) if path.name != "run.json"]
    path = chance.choice(tables)
    relative = path.relative_to(folder)
    others = [run / relative for run in whole.runs if (run / relative).is_file()]
    different = [each for each in others if each.read_bytes() != path.read_bytes()]
    if not different:
        return _zeros(folder, chance, whole)
    path.write_bytes(chance.choice(different).read_bytes())
    return path.name


def _no_file(folder: Path, chance: random.Random, _whole: Whole) -> str:
    path = _some_file(folder, chance)
    path.unlink()
    match chance.randrange(4):
        case 0:
            path.mkdir()
        case 1:
            path.symlink_to("/dev/zero")
        case 2:
            path.symlink_to(path)
        case _:
            os.mkfifo(path)
    return path.name


def _edit_record(folder: Path, chance: random.Random, _whole: Whole) -> str:
    """Change one value of `run.json`, at any depth, and leave the rest as it is."""
    path = folder / "run.json"
    record = json.loads(path.read_text("utf-8"))
    value: Any = record
    trail = []
    while isinstance(value, dict | list) and value:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = chance.choice(list(keys))
        trail.append(str(key))
        held, value = value, value[key]
        if chance.random() < 0.2:
            break
    held[key] = _other(value, chance)
    path.write_text(json.dumps(record, indent=2), "utf-8")
    return f"run.json: {'.'.join(trail)}"


def _other(value: Any, chance: random.Random) -> Any:
    if isinstance(value, float | int) and chance.random() < 0.5:
        return value + chance.choice((1, -1, 0.5, 1e-3))
    return chance.choice([odd for odd in ODD if odd != value])


def _edit_table(folder: Path, chance: random.Random, _whole: Whole) -> str:
    """Change one cell of a table, and write it as anybody would."""
    path = chance.choice(
        [each for each in files_of(folder) if each.suffix == ".parquet"]
    )
    frame = pl.read_parquet(path)
    columns = [
        name
        for name, kind in frame.schema.items()
        if kind.is_numeric() or kind == pl.String
    ]
    name, place = chance.choice(columns), chance.randrange(frame.height)
    values = frame[name].to_list()
    number = 1 if values[place] is None else values[place]
    values[place] = f"{number}x" if frame.schema[name] == pl.String else number + 1
    changed = pl.Series(name, values, dtype=frame.schema[name])
    frame.with_columns(changed).write_parquet(path)
    return f"{path.name}: {name}"


def _edit_problems(folder: Path, chance: random.Random, _whole: Whole) -> str:
    path = folder / "problems.jsonl"
    lines = path.read_text("utf-8").splitlines()
    if not lines:
        path.write_text("{}\n")
    else:
        del lines[chance.randrange(len(lines))]
        path.write_text("".join(line + "\n" for line in lines))
    return "problems.jsonl"


FORGED = "edited record"
"""May show other values, as nothing holds the digest of `run.json`; nothing else."""

DAMAGES: dict[str, Damage] = {
    "deleted file": _delete,
    "cut file": _cut,
    "longer file": _grow,
    "zeros": _zeros,
    "file of another run": _swap,
    "no regular file": _no_file,
    FORGED: _edit_record,
    "edited table": _edit_table,
    "edited problems": _edit_problems,
}


"""How a run is damaged, by name."""


def commands_of(run: Path, whole: Path, scratch: Path) -> dict[str, tuple[str, ...]]:
    """Return the commands that read a run, by name.

    Args:
        run: The folder of the run.
        whole: That of another run, of the same data.
        scratch: Where commands write.

    Returns:
        Their arguments.
    """
    out = str(scratch / "out")
    return {
        "show": ("show", str(run)),
        "show --json": ("show", str(run), "--json"),
        "runs": ("runs", str(run.parent)),
        "cite": ("cite", str(run)),
        "compare": ("compare", str(run), str(whole)),
        "rescore": ("rescore", str(run), "-m", "macro-recall", "-o", out),
        "merge": ("merge", str(run), str(whole), "-o", out),
        "verify": ("verify", str(run)),
    }


_TIME = re.compile(r"\d{8}T\d{6}\.\d{3}Z")


def _plain(ended: Ended, scratch: Path) -> str:
    # a new run's folder holds the time
    return _TIME.sub("", ended.out.replace(str(scratch), ""))


def attack(tries: int, seed: int, whole: Whole, folder: Path) -> Outcome:
    """Damage copies of runs and give each to all commands that read runs.

    Args:
        tries: How many damaged runs.
        seed: Decides which.
        whole: Runs without a fault.
        folder: Where copies are made.

    Returns:
        The outcome.
    """
    outcome = Outcome()
    with outcome.timed():
        wanted = {
            run: _outputs_of(run, whole, folder / "whole", {}) for run in whole.runs
        }
        for number in range(tries):
            chance = random.Random(f"folders {seed}/{number}")
            run = chance.choice(whole.runs)
            kind = chance.choice(list(DAMAGES))
            outcome.tries[kind] += 1
            scratch = folder / f"damaged-{number}"
            copy = _copied(run, scratch)
            how = DAMAGES[kind](copy, chance, whole)
            name = f"folder {number} of seed {seed} ({kind}: {how})"
            for command, ended in _outputs_of(
                run, whole, scratch, {"copy": copy}, apart=kind == "no regular file"
            ).items():
                if kind == FORGED:
                    outcome.results["no traceback"] += ended.traceback is None
                    fault = ended.traceback
                else:
                    expected = wanted[run][command]
                    fault = _fault(command, ended, expected, scratch, outcome)
                if fault is not None:
                    outcome.faults.append(f"{name}: {command}: {fault}")
            if escaped := _escaped(folder, scratch):
                outcome.faults.append(f"{name}: wrote {escaped} outside of -o")
            shutil.rmtree(scratch)
    return outcome


def _copied(run: Path, scratch: Path) -> Path:
    copy = scratch / "runs" / run.parent.name / run.name
    shutil.copytree(run, copy)
    return copy


def _outputs_of(
    run: Path,
    whole: Whole,
    scratch: Path,
    damaged: dict[str, Path],
    apart: bool = False,
) -> dict[str, Ended]:
    copy = damaged.get("copy") or _copied(run, scratch)
    other = next(each for each in whole.runs if each != run)
    done = {}
    for name, arguments in commands_of(copy, other, scratch).items():
        if apart:
            (scratch / "here").mkdir(exist_ok=True)
            done[name] = run_apart(*arguments, folder=scratch / "here")
        else:
            done[name] = run_here(*arguments)
    return done


def _fault(
    command: str, ended: Ended, expected: Ended, scratch: Path, outcome: Outcome
) -> str | None:
    """Say which promise the end of a command breaks; None for none."""
    if ended.traceback is not None:
        return ended.traceback
    if ended.code:
        is_named = str(scratch) in ended.err or command in ("verify", "merge")
        outcome.results["named"] += 1
        return (
            None if is_named else f"does not name the file: {ended.err.strip()[:200]}"
        )
    if command == "verify":
        return "says that all is well"
    base = scratch.with_name("whole")
    if _plain(ended, scratch) == _plain(expected, base):
        outcome.results["the same output"] += 1
        return None
    if str(scratch) in ended.err or command == "runs":
        outcome.results["a warning"] += 1
        return None
    return "prints something else without a word"


def _escaped(folder: Path, scratch: Path) -> str | None:
    names = {"whole", "whole-runs", scratch.name}
    extra = [path for path in listing(folder) if path.split("/")[0] not in names]
    inside = {"runs", "out", "here", "here.out", "here.err"}
    extra += [path for path in listing(scratch) if path.split("/")[0] not in inside]
    return extra[0] if extra else None
