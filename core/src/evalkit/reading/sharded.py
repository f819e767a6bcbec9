"""Several files that are read as one: the shards of a split, in the order of names."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from evalkit.errors import DataError
from evalkit.places.names import FetchedPath

_SHARD = re.compile(
    # some writers add a hash that differs from shard to shard
    r"(.*?)(?P<index>\d+)(-of-(?P<count>\d+))(?P<hash>-[0-9a-f]{8,})?((?:\.[^/]*)?)",
    re.DOTALL,
)


class ShardedPath(FetchedPath):
    """All shards of a split in a folder, whose text is a pattern that names them.

    Rows are numbered through; who reads them notes where each shard begins.
    """

    shards: tuple[Path, ...] = ()
    starts: tuple[int, ...] = ()
    """The number of the first row or line of each shard, and of one after the last."""

    @classmethod
    def of(cls, folder: Path, names: Sequence[str]) -> ShardedPath:
        """Make it of files in a folder, which may be fetched."""
        whole = folder / shared_pattern(names)
        is_far = isinstance(whole, FetchedPath)
        made = ShardedPath(*(whole.__reduce__()[1] if is_far else (whole,)))
        made.shards = tuple(folder / name for name in sorted(names))
        return made

    def begin(self, place: int, number: int) -> None:
        """Note where a shard begins; what was read of the file before says the same."""
        self.starts = (*self.starts[:place], number)


def place_in(path: Path | None, number: int, word: str, rows: int = -1) -> str:
    """Say which row of a file, or of a shard, has a number among `rows` of a table."""
    if not isinstance(path, ShardedPath) or not path.starts:
        return f"{word} {number}"
    if rows not in (-1, path.starts[-1] - 1):  # an adapter dropped some
        return f"{word} {number}"
    place = min(bisect_right(path.starts, number), len(path.shards)) - 1
    return f"{path.shards[place].name}: {word} {number - path.starts[place] + 1}"


def files_of(path: Path) -> Sequence[Path]:
    """Return the shards that a path stands for, or itself."""
    return path.shards if isinstance(path, ShardedPath) else [path]


def by_split(names: Iterable[str]) -> dict[str, list[str]]:
    """Group names like `test-00000-of-00003.parquet` by a pattern; others by name."""
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        match = _SHARD.fullmatch(name)
        hashed = "*" if match and match["hash"] else ""
        pattern = match.expand(rf"\1*\3{hashed}\6") if match else name
        found.setdefault(pattern, []).append(name)
    return found


def shared_pattern(names: Sequence[str]) -> str:
    """Return a pattern of names, which is the same however the files were chosen."""
    first, *others = by_split(names)
    if not others:
        return first
    pairs = enumerate(zip(min(names), max(names), strict=False))
    start = next((n for n, (one, other) in pairs if one != other), len(min(names)))
    return f"{names[0][:start]}*{PurePosixPath(names[0]).suffix}"


def refuse_incomplete(place: str, names: Sequence[str]) -> None:
    """Refuse files that are of several splits or folders, or not all shards of one."""
    groups = by_split(names)
    is_of_shards = any(map(_SHARD.fullmatch, names))
    folders = {name.rpartition("/")[0] for name in names}
    if len(folders) > 1 or (is_of_shards and len(groups) > 1):
        raise DataError(
            f"{place}: stands for more than one split: {', '.join(groups)}; name one"
        )
    if not is_of_shards:
        return
    matches = [match for name in names if (match := _SHARD.fullmatch(name))]
    found = {int(match["index"]) for match in matches}
    text = matches[0]["count"]
    first = int(0 not in found and int(text) in found)  # some count from 1
    wanted = range(first, first + int(text))
    if len(found) < len(names) or found - {*wanted}:
        raise DataError(f"{place}: has more shards than {text}: {', '.join(names)}")
    if absent := [n for n in wanted if n not in found]:
        name = next(iter(groups)).replace("*", f"{absent[0]:0{len(text)}}", 1)
        more = f", and {len(absent) - 1:,} more" if absent[1:] else ""
        raise DataError(f"{place}: a shard is missing: {name}{more}")
