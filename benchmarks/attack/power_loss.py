"""The power fails at every step of a writer: what is left is whole, or no result.

What a writer asks of the file system is logged while it works: at each call that makes
something last (`fsync`) or changes a name (`rename`, `link`, `mkdir`, `unlink`), the
log keeps the tree as it is and as much of it as is sure to last. From every entry four
states are made that a file system may come back with:

- *all*: everything that was written is there;
- *names*: every name is there, but of the contents only what was synced;
- *zeros*: as *names*, but what was not synced has its length and holds zeros;
- *least*: of names and contents only what was synced.

What was synced follows POSIX: `fsync` of a file keeps its content, `fsync` of a folder
the names in it.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.errors import EvalkitError

from .bit_flips import read_all
from .commands import run_here
from .inputs import DATASET
from .outcomes import Outcome
from .runs_to_attack import Whole

_EXAMPLES = 3500
"""So many that copies are written in several steps."""

_NAMES = ("rename", "replace", "link", "mkdir", "unlink", "remove", "rmdir")


class _Node(NamedTuple):
    """A file or folder of a tree."""

    inode: int
    content: bytes | None
    """None for a folder."""
    target: str | None = None
    """Where a symlink points to."""


Tree = dict[str, _Node]


class State(NamedTuple):
    """What the file system holds when the power fails."""

    step: str
    tree: Tree
    contents: dict[int, bytes]
    """The synced contents of files, by inode."""
    names: dict[int, dict[str, int]]
    """The synced names in folders, by inode of the folder."""


def tree_of(root: Path) -> Tree:
    """Return all files and folders below a folder, by their relative paths."""
    tree: Tree = {"": _Node(root.stat().st_ino, None)}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        name = str(path.relative_to(root))
        if stat.S_ISDIR(status.st_mode):
            tree[name] = _Node(status.st_ino, None)
        elif stat.S_ISREG(status.st_mode):
            tree[name] = _Node(status.st_ino, path.read_bytes())
    return tree


class WriteLog:
    """Logs what a writer in this process asks of the file system below a folder.

    Args:
        root: The folder; what it holds at first is taken to last.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.states: list[State] = []
        tree = tree_of(root)
        self._contents = {
            node.inode: node.content
            for node in tree.values()
            if node.content is not None
        }
        self._names = {
            node.inode: _children(tree, name)
            for name, node in tree.items()
            if node.content is None
        }

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Log in this block."""
        before: dict[str, Any] = {"fsync": os.fsync, "fdatasync": os.fdatasync}
        before |= {name: getattr(os, name) for name in _NAMES}
        try:
            for name in ("fsync", "fdatasync"):
                setattr(os, name, self._syncing(before[name]))
            for name in _NAMES:
                setattr(os, name, self._naming(name, before[name]))
            yield
            self._note("done")
        finally:
            for name, function in before.items():
                setattr(os, name, function)

    def _syncing(self, function: Callable[[int], None]) -> Callable[[Any], None]:
        def sync(file: Any) -> None:
            self._note("before fsync")
            function(file)
            number = file if isinstance(file, int) else file.fileno()
            status = os.fstat(number)
            tree = tree_of(self._root)
            for name, node in tree.items():
                if node.inode == status.st_ino:
                    if node.content is None:
                        self._names[node.inode] = _children(tree, name)
                    else:
                        self._contents[node.inode] = node.content
            self._note("after fsync")

        return sync

    def _naming(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def change(*arguments: Any, **options: Any) -> Any:
            self._note(f"before {name}")
            result = function(*arguments, **options)
            self._note(f"after {name}")
            return result

        return change

    def _note(self, step: str) -> None:
        tree = tree_of(self._root)
        inodes = {node.inode for node in tree.values()}
        # a file system gives the number of a file that is gone to another one
        self._contents = {
            key: self._contents[key] for key in self._contents if key in inodes
        }
        self._names = {key: self._names[key] for key in self._names if key in inodes}
        state = State(step, tree, dict(self._contents), dict(self._names))
        if not self.states or state[1:] != self.states[-1][1:]:
            self.states.append(state)


def _children(tree: Tree, name: str) -> dict[str, int]:
    prefix = f"{name}/" if name else ""
    return {
        path[len(prefix) :]: node.inode
        for path, node in tree.items()
        if path and path.startswith(prefix) and "/" not in path[len(prefix) :]
    }


def written_all(state: State) -> dict[str, bytes | None]:
    """Return a tree that holds everything that was written."""
    return {name: node.content for name, node in state.tree.items() if name}


def written_names(state: State) -> dict[str, bytes | None]:
    """Return a tree with every name, and of the contents only what was synced."""
    return {
        name: None if node.content is None else state.contents.get(node.inode, b"")
        for name, node in state.tree.items()
        if name
    }


def written_zeros(state: State) -> dict[str, bytes | None]:
    """Return a tree with every name and length, and zeros where nothing was synced."""
    found: dict[str, bytes | None] = {}
    for name, node in state.tree.items():
        if name and node.content is not None:
            synced = state.contents.get(node.inode, b"")[: len(node.content)]
            found[name] = synced + bytes(len(node.content) - len(synced))
        elif name:
            found[name] = None
    return found


def written_least(state: State) -> dict[str, bytes | None]:
    """Return a tree with only the names and contents that were synced."""
    folders = {node.inode for node in state.tree.values() if node.content is None}
    found: dict[str, bytes | None] = {}

    def add(folder: int, prefix: str) -> None:
        for name, inode in state.names.get(folder, {}).items():
            path = f"{prefix}{name}"
            if inode in folders:
                found[path] = None
                add(inode, f"{path}/")
            else:
                found[path] = state.contents.get(inode, b"")

    add(state.tree[""].inode, "")
    return found


SURVIVORS = {
    "all": written_all,
    "names": written_names,
    "zeros": written_zeros,
    "least": written_least,
}


def restore(tree: dict[str, bytes | None], folder: Path) -> None:
    """Write a tree into a folder that is not there yet."""
    folder.mkdir(parents=True)
    for name, content in tree.items():
        path = folder / name
        if content is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def attack(tries: int, whole: Whole, folder: Path) -> Outcome:
    """Write a run and a file of copies, and cut the power after every step.

    Args:
        tries: At most so many states of each writer, spread evenly; the last ones, in
            which the command has said that all is done, are always among them.
        whole: Gives the predictions.
        folder: Where trees are written.

    Returns:
        The outcome.
    """
    outcome = Outcome()
    model = str(whole.predictions / "good.jsonl")
    root = folder / "power"
    (root / "here").mkdir(parents=True)
    out, copies = root / "here" / "out", root / "here" / "copies.jsonl"
    evaluate = ("eval", DATASET, "-p", model, "--on-missing", "wrong", "-o", "{}")
    data = folder / "data.jsonl"
    data.write_text("".join(map(_example, range(_EXAMPLES))), "utf-8")
    given = ("perturb", "--data", str(data), "--task", "sentiment")
    perturb = (*given, "--perturbation", "keyboard-typos", "-o", "{}")
    with outcome.timed():
        for name, given, place in (
            ("eval", evaluate, out),
            ("perturb", perturb, copies),
        ):
            log = WriteLog(root)
            with log.recording():
                ended = run_here(*(part.format(place) for part in given))
            if ended.code:
                raise RuntimeError(f"{name}: {ended.err}")
            wanted = _result(place)
            for number, state in _spread(log.states, tries):
                is_done = number == len(log.states) - 1
                for kind, survivors in SURVIVORS.items():
                    outcome.tries[f"{name}, {kind}"] += 1
                    again = folder / "again"
                    restore(survivors(state), again)
                    fault = _look(name, given, again, place.name, wanted, is_done)
                    if fault is not None:
                        outcome.faults.append(
                            f"{name}, step {number} ({state.step}), {kind}: {fault}"
                        )
                    shutil.rmtree(again)
    return outcome


def _example(number: int) -> str:
    text = f"this is the text of example number {number}"
    return json.dumps({"uid": number, "statement": text, "label": "neutral"}) + "\n"


def _spread(states: list[State], most: int) -> Iterator[tuple[int, State]]:
    step = max(1, len(states) // most)
    chosen = {*range(0, len(states), step), len(states) - 1}
    return ((number, states[number]) for number in sorted(chosen))


def _look(
    name: str,
    given: tuple[str, ...],
    again: Path,
    place: str,
    wanted: object,
    is_done: bool,
) -> str | None:
    """Look at what a power loss left, give the command again, and look again."""
    target = again / "here" / place
    left = _result(target)
    if left is not None and left != wanted:
        return f"left {str(left)[:200]}"
    if is_done and left is None:
        return "the result is gone, though the command had ended"
    ended = run_here(*(part.format(target) for part in given))
    if ended.traceback:
        return f"given again: {ended.traceback}"
    is_there = name == "perturb" and left is not None
    if ended.code and not is_there:
        return f"given again: {ended.err.strip()[:200]}"
    return None if _result(target) == wanted else "given again it has another result"


def _result(place: Path) -> object:
    """Return what passes for a result: the scores of a run, or the bytes of copies."""
    if place.suffix == ".jsonl":
        return place.read_bytes() if place.exists() else None
    found: list[object] = []
    for path in sorted(place.glob("*/*/run.json")):
        if path.parent.name.startswith("."):
            continue
        try:
            run = read_all(path.parent)
            frame = run.examples
            rows = None if frame is None else frame.rows()
            result = (run.run_id, run.scores, rows)
            if result not in found:  # the same evaluation may be there twice
                found.append(result)
        except EvalkitError as error:
            found.append((path.parent.name, f"broken: {error}", None))
    return found or None
