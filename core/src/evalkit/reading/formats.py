"""Tells in which format a file is written: by its name, else by its first bytes."""

from __future__ import annotations

from enum import Enum
from pathlib import Path, PurePath, PurePosixPath

from evalkit.base.ids import EXAMPLE_ID_KEYS
from evalkit.errors import DataError
from evalkit.reading.file_parts import FilePart
from evalkit.reading.rows import parse_json_line
from evalkit.reading.sharded import ShardedPath
from evalkit.reading.streams import has_plain_bytes, open_bytes, refuse_other_than_file


class Format(Enum):
    """A format that predictions and examples can be read from."""

    JSON_LINES = "JSON lines"
    JSON_ARRAY = "JSON array"
    CSV = "CSV"
    TSV = "TSV"
    PARQUET = "Parquet"
    ARROW = "Arrow"
    PLAIN = "plain lines"
    DATA_SET = "data set"
    """A folder of Parquet or Arrow files, with a manifest."""


MANIFEST_FILE = "_manifest.json"
"""Says what the files of a data set hold. Other readers of folders of Parquet pass over
files whose names begin so."""

SUFFIXES = {
    ".jsonl": Format.JSON_LINES,
    ".ndjson": Format.JSON_LINES,
    ".json": Format.JSON_LINES,
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".arrow": Format.ARROW,
    ".feather": Format.ARROW,
    ".ipc": Format.ARROW,
    ".arrows": Format.ARROW,
}
DELIMITERS = {Format.CSV: ",", Format.TSV: "\t"}
"""The delimiter of each format whose cells are all texts."""

_ID_COLUMNS = {key.encode() for key in EXAMPLE_ID_KEYS}
_COMPRESSED = (".gz", ".zst", ".zstd")
_PLAIN_SUFFIXES = (".txt", ".out", ".pred")
_UNSUPPORTED = {
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z"), "unpack it first"),
    **dict.fromkeys((".bz2", ".xz"), "decompress it, or use gzip or Zstandard"),
    **dict.fromkeys((".xlsx", ".xls"), "save it as CSV"),
    **dict.fromkeys((".pkl", ".npy"), "write it as JSON lines or Parquet"),
}


def detect_format(path: Path) -> Format:
    """Tell in which format a file, or the folder of a data set, is written.

    The suffix says it, before that of a compression; else the first bytes do: a header
    that names an id makes it CSV or TSV, and what looks like nothing else is plain
    lines.
    """
    if isinstance(path, ShardedPath):
        return _format_of_shards(path)
    if is_data_set(path):
        return Format.DATA_SET
    refuse_other_than_file(path)
    advice = _UNSUPPORTED.get(path.suffix.lower())
    if advice:
        raise DataError(
            f"{path}: files of the format {path.suffix} cannot be read; {advice}. "
            f"Readable are {', '.join(each.value for each in Format)}"
        )
    named = SUFFIXES.get(inner_suffix(path))
    is_compressed = path.suffix.lower() in _COMPRESSED
    if named in (Format.PARQUET, Format.ARROW) and is_compressed:
        raise DataError(
            f"{path}: {named.value} files are compressed inside; decompress this one"
        )
    found = named or _sniff(path)
    if found is Format.JSON_LINES and _is_array(_beginning(path)):
        found = Format.JSON_ARRAY
    if isinstance(path, FilePart):
        of_lines = found is Format.JSON_LINES and has_plain_bytes(path)
        if not (of_lines if path.groups is None else found is Format.PARQUET):
            raise DataError(f"{path}: {found.value} of this file cannot be cut")
    return found


def _format_of_shards(path: ShardedPath) -> Format:
    kind, *others = {detect_format(shard) for shard in path.shards}
    if others or kind not in (Format.PARQUET, Format.ARROW, Format.JSON_LINES):
        found = " and ".join(sorted(each.value for each in (kind, *others)))
        raise DataError(
            f"{path}: files that are read as one must all be Parquet, all Arrow, or "
            f"all JSON lines; these are {found}"
        )
    return kind


def is_data_set(path: Path) -> bool:
    """Tell whether a path is a folder with the manifest of a data set."""
    try:
        return (path / MANIFEST_FILE).is_file()
    except OSError:
        return False


def has_data_suffix(name: str) -> bool:
    """Tell whether the name of a file says that it holds rows, and hides nothing."""
    path = PurePosixPath(name)
    return inner_suffix(path) in SUFFIXES and not path.name.startswith((".", "_"))


def _sniff(path: Path) -> Format:
    first = _beginning(path)
    if first.startswith(b"PAR1"):
        return Format.PARQUET
    if first.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return Format.ARROW
    if _begins_with_object(path, first.lstrip()):
        return Format.JSON_LINES
    if inner_suffix(path) not in _PLAIN_SUFFIXES and _is_array(first):
        return Format.JSON_ARRAY
    header = first.partition(b"\n")[0].rstrip(b"\r")
    for kind, delimiter in DELIMITERS.items():
        cells = [cell.strip(b'"') for cell in header.split(delimiter.encode())]
        if len(cells) > 1 and set(cells) & _ID_COLUMNS:
            return kind
    return Format.PLAIN


def _begins_with_object(path: Path, first: bytes) -> bool:
    """Tell whether a file begins with a JSON object, and not an answer in braces."""
    if not first.startswith(b"{"):
        return False
    line, newline, _ = first.partition(b"\n")
    if not newline or inner_suffix(path) not in _PLAIN_SUFFIXES:
        return True
    return parse_json_line(1, line).values is not None


def inner_suffix(path: PurePath) -> str:
    """Return the suffix of a file before that of a compression, in lower case."""
    inner = PurePath(path.stem) if path.suffix.lower() in _COMPRESSED else path
    return inner.suffix.lower()


def _beginning(path: Path) -> bytes:
    """Return the first bytes of a file that are not blank throughout."""
    with open_bytes(path) as stream:
        first = stream.read(4096).removeprefix(b"\xef\xbb\xbf")
        while first and not first.lstrip():
            first = stream.read(1 << 20)
    return first


def _is_array(first: bytes) -> bool:
    first = first.lstrip()
    return first.startswith(b"[") and first[1:].lstrip()[:1] in (b"{", b"]", b"")


def model_name(path: Path) -> str:
    """Return the name of the model that a file of predictions is called after.

    That is its name without the suffixes of its format: `llama-3.1` for
    `llama-3.1.jsonl.gz`, and of shards for `llama-3.1-*-of-00003.parquet`.
    """
    known = (*SUFFIXES, *_COMPRESSED, *_PLAIN_SUFFIXES)
    name = path.name
    while Path(name).suffix.lower() in known:
        name = Path(name).stem
    if "*" in name:
        name = name.partition("*")[0].rstrip("-._") or path.parent.name
    return name or path.name
