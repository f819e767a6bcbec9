import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

import evalkit
from evalkit.base.violations import Violation
from evalkit.errors import AlignmentError, EvalkitError
from evalkit.examples.table import load_examples
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import Catalog
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.alignment import Alignment, OnDuplicate, Policies, align
from evalkit.predictions.preparation import read_responses
from evalkit.predictions.problems import Problem
from evalkit.predictions.responses import ResponseReader
from evalkit.reading import json_lines, tables
from evalkit.reading import streams as byte_streams
from evalkit.reading.rows import Block


class Statement(BaseModel):
    uid: str


class Answer(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str
    label: evalkit.Label | None = None
    prob: Annotated[float, Field(ge=0, le=1)] | None = None


class LabelTask(evalkit.TaskIO):
    """Judges responses one by one."""

    Input = Statement
    Output = Answer
    answer_field = "label"
    perf_metric = "share"
    scored_fields = ("prob",)
    labels = ("a", "b")
    example = {"uid": "1"}

    def verify_response(self, response: Mapping[str, Any]) -> None:
        pass


class ColumnTask(LabelTask):
    """The same, judged as columns."""

    verify_response = None


class Share(evalkit.Metric):
    name = "share"
    worst_value = 0.0
    bounds = (0.0, 1.0)
    interval = "none"

    def score_example(self, prediction: Any, target: Any) -> float:
        return float(prediction == target)


REGISTRY = Registry(
    Catalog(
        (
            Component("tasks", "label", f"{__name__}:LabelTask", "d", "1"),
            Component("tasks", "columns", f"{__name__}:ColumnTask", "d", "1"),
        ),
        (),
    )
)


class Letters(evalkit.Dataset):
    """Examples e0, e1, … or, of the numeric kind, 0, 1, …; every answer is a."""

    name = "letters"
    task = "label"

    def __init__(self, n: int, numeric: bool, task: str = "label") -> None:
        super().__init__()
        self.task = task
        self.ids = [str(k) if numeric else f"e{k}" for k in range(n)]

    def load(self, split: str) -> list[dict[str, str]]:
        return [{"uid": uid, "label": "a"} for uid in self.ids]


class Entry(NamedTuple):
    """A row of predictions, and what must become of it."""

    status: str
    """Of the row alone: `blank`, `unreadable`, `unknown`, `invalid` or `scored`."""
    example: int | None
    row: Any
    """The dict, or for a broken row the bytes of the line."""
    prediction: str | None = None
    prob: float | None = None
    broken: frozenset[str] = frozenset()
    """The fields of its violations."""


USABLE: dict[str, tuple[str, dict[str, Any], frozenset[str]]] = {
    "a": ("scored", {"label": "a"}, frozenset()),
    "b": ("scored", {"label": "b", "prob": 0.5, "note": 1}, frozenset()),
    "whole": ("scored", {"label": "a", "prob": 1}, frozenset()),
    "null": ("scored", {"label": "b", "prob": None, "error": None}, frozenset()),
    "nested": ("scored", {"label": "a", "note": {"deep": ["x"]}}, frozenset()),
    "unparsed": ("scored", {"label": None}, frozenset()),
    "shape": ("invalid", {"label": 3}, frozenset({"label"})),
    "rule": ("invalid", {"label": "c"}, frozenset({"label"})),
    "bound": ("invalid", {"label": "a", "prob": 1.5}, frozenset({"prob"})),
    "both": ("invalid", {"label": "c", "prob": "x"}, frozenset({"label", "prob"})),
    "reported": (
        "invalid",
        {"label": "a", "error": "out of memory", "note": 1},
        frozenset({"error"}),
    ),
}
BAD_IDS: dict[str, dict[str, Any]] = {
    "none": {},
    "empty": {"id": ""},
    "null": {"id": None, "uid": "e0"},
    "float": {"id": 0.0},
    "bool": {"id": True},
    "list": {"id": ["e0"]},
}
BROKEN_JSON = (
    b'{"id": "e0"',
    b"\xff",
    b'{"id": "e0", "id": "e0"}',
    b'{"id": "e0", "note": {"x": 1, "x": 2}}',
    b'{"id": "e0", "\\u0069d": "e0"}',
    b"[]",
    b'{"id": "e0", "note": -Inf}',
    b'{"id": "e0"}{"id": "e1"}',
    b'{"id": "\\ud800"}',
    b'{"id": "e0"}\0',
)


class Kinds(NamedTuple):
    """What a format can hold."""

    usable: Sequence[str]
    bad_ids: Sequence[str]
    broken: Sequence[bytes]
    blank: bytes | None
    as_numbers: bool
    """Whether a single id can be a number."""


JSON_KINDS = Kinds(tuple(USABLE), tuple(BAD_IDS), BROKEN_JSON, b"  \t", True)
# a file called .json that begins with a bracket is one array
OF_JSON_SUFFIX = JSON_KINDS._replace(
    broken=[line for line in BROKEN_JSON if not line.lstrip().startswith(b"[")]
)
CELL_KINDS = Kinds(
    tuple(USABLE), ("none", "empty"), (b"\xff", b"a|b", b'"x"y'), b"", True
)
TABLE_KINDS = Kinds(
    ("a", "b", "whole", "null", "unparsed", "rule", "bound", "reported"),
    ("none", "empty"),
    (),
    None,
    False,
)


@st.composite
def mixtures(draw: st.DrawFn, kinds: Kinds = JSON_KINDS) -> tuple[Letters, list[Entry]]:
    n = draw(st.integers(1, 6))
    numeric = draw(st.booleans())
    data = Letters(n, numeric, draw(st.sampled_from(["label", "columns"])))
    of_row = ["usable"] * 8 + ["unknown", "id"]
    of_row += ["broken"] * bool(kinds.broken) + ["blank"] * (kinds.blank is not None)

    def entry() -> Entry:
        kind = draw(st.sampled_from(of_row))
        if kind == "blank":
            return Entry("blank", None, kinds.blank)
        if kind == "broken":
            line = draw(st.sampled_from(kinds.broken))
            return Entry("unreadable", None, line, broken=frozenset({"(line)"}))
        if kind == "id":
            bad = BAD_IDS[draw(st.sampled_from(kinds.bad_ids))]
            row = {**bad, "label": "a"}
            return Entry("unreadable", None, row, broken=frozenset({"id"}))
        status, fields, broken = USABLE[draw(st.sampled_from(kinds.usable))]
        example = draw(st.integers(0, n - 1))
        key = draw(st.sampled_from(["id", "id", "id", "uid"]))
        if kind == "unknown":
            other = [f"x{example}", "E0", " 0", "00", "2020-01-01"]
            other += [n + example, -1, 2**70] if kinds.as_numbers else []
            row = {key: draw(st.sampled_from(other)), **fields}
            return Entry("unknown", None, row, broken=frozenset({"id"}))
        as_number = numeric and kinds.as_numbers and draw(st.booleans())
        row = {key: example if as_number else data.ids[example], **fields}
        if status != "scored":
            return Entry(status, example, row, broken=broken)
        return Entry(status, example, row, fields["label"], fields.get("prob"))

    return data, [entry() for _ in range(draw(st.integers(0, 20)))]


MISSING = Entry("missing", None, None, broken=frozenset({"id"}))
NOT_SCORED = ("invalid", "missing", "duplicate", "unknown", "unreadable")
Listed = Counter[tuple[str, int | None, str | None, frozenset[str]]]


class Expected(NamedTuple):
    counts: dict[str, int]
    statuses: list[str]
    predictions: list[str | None]
    probs: list[float | None]
    problems: Listed
    undeclared: int
    """Rows with something under the key `note`."""


def expect(data: Letters, lines: Iterable[tuple[int, Entry]], policy: str) -> Expected:
    """Say what must come out, in the plainest way."""
    given_rows = [(line, entry) for line, entry in lines if entry.status != "blank"]
    problems: Listed = Counter()
    unparsed = 0
    for line, entry in given_rows:
        if entry.status == "unreadable":
            problems["unreadable", line, None, entry.broken] += 1
        if entry.status == "unknown":
            uid = str(entry.row.get("id", entry.row.get("uid")))
            problems["unknown", line, uid, entry.broken] += 1
    statuses, predictions, probs = [], [], []
    for example, uid in enumerate(data.ids):
        rows = [(line, entry) for line, entry in given_rows if entry.example == example]
        used = rows[-1 if policy == "last" else 0] if rows else (None, MISSING)
        problems.update(
            ("duplicate", line, uid, frozenset({"id"}))
            for line, _ in rows
            if line != used[0]
        )
        if used[1].status != "scored":
            problems[used[1].status, used[0], uid, used[1].broken] += 1
        unparsed += used[1].status == "scored" and used[1].prediction is None
        statuses.append(used[1].status)
        predictions.append(used[1].prediction)
        probs.append(used[1].prob)
    of_status = Counter(status for status, *_ in problems.elements())
    counts = {
        "examples": len(data.ids),
        "predictions": len(given_rows),
        "scored": statuses.count("scored"),
        "unparsed": unparsed,
        **{status: of_status[status] for status in NOT_SCORED},
    }
    undeclared = sum(
        isinstance(entry.row, dict) and entry.row.get("note") is not None
        for _, entry in given_rows
    )
    return Expected(counts, statuses, predictions, probs, problems, undeclared)


def assert_identities(counts: Mapping[str, int]) -> None:
    assert counts["predictions"] == sum(
        counts[status]
        for status in ("scored", "invalid", "duplicate", "unknown", "unreadable")
    )
    assert counts["examples"] == sum(
        counts[status] for status in ("scored", "invalid", "missing")
    )


ReadBlocks = Callable[[ResponseReader, pl.Series], Iterable[Block]]


def align_blocks(data: Letters, read: ReadBlocks, policy: OnDuplicate) -> Alignment:
    resolver = Resolver(REGISTRY)
    dataset = resolver.dataset(data)
    task = resolver.task(dataset)
    examples = load_examples(dataset, task, "test")
    reader = ResponseReader(task, dataset, examples)
    assert (reader.plan is None) == (data.task == "label")
    ids = examples.frame["id"]
    return align(ids, read(reader, ids), reader, policy)


def align_given(data: Letters, given_rows: Any, policy: OnDuplicate) -> Alignment:
    return align_blocks(
        data, lambda reader, ids: read_responses(given_rows, reader, ids), policy
    )


def align_file(data: Letters, path: Path, policy: OnDuplicate) -> Alignment:
    return align_blocks(
        data, lambda reader, ids: read_responses(path, reader, ids), policy
    )


def check(found: Alignment, expected: Expected) -> None:
    assert found.counts == expected.counts
    assert_identities(found.counts)
    assert found.statuses.to_list() == expected.statuses
    assert found.predictions.to_list() == expected.predictions
    assert found.fields["prob"].to_list() == expected.probs
    listed = Counter(
        (*problem[:3], frozenset(v.field for v in problem.violations))
        for problem in found.problems
    )
    assert listed == expected.problems
    lines = [problem.line for problem in found.problems if problem.line is not None]
    assert lines == sorted(lines)
    assert found.undeclared == (
        {"note": expected.undeclared} if expected.undeclared else {}
    )


def to_line(entry: Entry) -> bytes:
    if isinstance(entry.row, bytes):
        return entry.row
    return json.dumps(entry.row).encode()


def write_json(path: Path, entries: Sequence[Entry], end: bytes = b"\n") -> list[int]:
    path.write_bytes(end.join(map(to_line, entries)))
    return list(range(1, len(entries) + 1))


def write_marked(path: Path, entries: Sequence[Entry]) -> list[int]:
    numbers = write_json(path, entries, b"\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes() + b"\r\n\n")
    return numbers


def write_sniffed(path: Path, entries: Sequence[Entry]) -> list[int]:
    """Write what tells its format by its first characters only."""
    write_json(path, entries)
    path.write_bytes(b' \n{"id": "e99"}\n' + path.read_bytes())
    return [number + 2 for number in range(1, len(entries) + 1)]


def write_gzip(path: Path, entries: Sequence[Entry]) -> list[int]:
    numbers = write_json(path, entries)
    path.write_bytes(gzip.compress(path.read_bytes()))
    return numbers


def write_zstd(path: Path, entries: Sequence[Entry]) -> list[int]:
    numbers = write_json(path, entries)
    content = path.read_bytes()
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(content)
    return numbers


COLUMNS = ("id", "uid", "label", "prob", "error", "note")


def to_cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, indent=1)
    if text and not set(text) & set('",\t\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def write_cells(path: Path, entries: Sequence[Entry], delimiter: str) -> list[int]:
    content = delimiter.join(COLUMNS).encode() + b"\n\n"
    numbers = []
    for entry in entries:
        numbers.append(content.count(b"\n") + 1)
        line = entry.row
        if isinstance(line, dict):
            cells = (to_cell(line.get(name)) for name in COLUMNS)
            line = delimiter.join(cells).encode()
        content += line + b"\n"
    path.write_bytes(content)
    return numbers


def write_csv(path: Path, entries: Sequence[Entry]) -> list[int]:
    return write_cells(path, entries, ",")


def write_tsv(path: Path, entries: Sequence[Entry]) -> list[int]:
    return write_cells(path, entries, "\t")


def to_table(entries: Sequence[Entry]) -> pl.DataFrame:
    schema = {
        "note": pl.Int64,
        "label": pl.String,
        "uid": pl.String,
        "prob": pl.Float64,
        "id": pl.String,
        "error": pl.String,
    }
    rows = [{name: entry.row.get(name) for name in schema} for entry in entries]
    frame = pl.DataFrame(rows, schema=schema)
    if frame.height and frame["uid"].is_null().all():
        frame = frame.drop("uid")
        if frame["id"].str.contains("^[1-9][0-9]{0,8}$|^0$").all():
            frame = frame.cast({"id": pl.UInt32})
    return frame


def write_parquet(path: Path, entries: Sequence[Entry]) -> list[int]:
    to_table(entries).write_parquet(path, row_group_size=3)
    return list(range(1, len(entries) + 1))


def write_arrow(path: Path, entries: Sequence[Entry]) -> list[int]:
    to_table(entries).write_ipc(path)
    return list(range(1, len(entries) + 1))


def write_stream(path: Path, entries: Sequence[Entry]) -> list[int]:
    table = to_table(entries).to_arrow()
    with pa.ipc.new_stream(str(path), table.schema) as stream:
        stream.write_table(table, max_chunksize=2)
    return list(range(1, len(entries) + 1))


class FileFormat(NamedTuple):
    name: str
    kinds: Kinds
    write: Callable[[Path, Sequence[Entry]], list[int]]
    """Gives the line of each entry."""


FILES = (
    FileFormat("p.jsonl", JSON_KINDS, write_json),
    FileFormat("marked.ndjson", JSON_KINDS, write_marked),
    FileFormat("stdin", JSON_KINDS, write_sniffed),
    FileFormat("p.jsonl.gz", JSON_KINDS, write_gzip),
    FileFormat("p.json.zst", OF_JSON_SUFFIX, write_zstd),
    FileFormat("p.csv", CELL_KINDS, write_csv),
    FileFormat("p.tsv", CELL_KINDS, write_tsv),
    FileFormat("p.parquet", TABLE_KINDS, write_parquet),
    FileFormat("p.arrow", TABLE_KINDS, write_arrow),
    FileFormat("p.arrows", TABLE_KINDS, write_stream),
    FileFormat("arrow-without-suffix", TABLE_KINDS, write_stream),
)

POLICIES: st.SearchStrategy[OnDuplicate] = st.sampled_from(["error", "first", "last"])


class Sizes(NamedTuple):
    block_bytes: int
    few_lines: int
    sampled_lines: int
    batch_rows: int

    def apply(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(byte_streams, "BLOCK_BYTES", self.block_bytes)
        patch.setattr(json_lines, "FEW_LINES", self.few_lines)
        patch.setattr(json_lines, "_SAMPLED_LINES", self.sampled_lines)
        patch.setattr(tables, "BATCH_ROWS", self.batch_rows)


SIZES = st.builds(
    Sizes,
    st.sampled_from([8, 50, 200, 500, 8 << 20]),
    st.sampled_from([1, 2, 256]),
    st.integers(1, 5),
    st.integers(1, 5),
)


@pytest.mark.parametrize("format_", FILES, ids=lambda each: each.name)
@settings(max_examples=30)
@given(draw=st.data(), policy=POLICIES, sizes=SIZES)
@pytest.mark.slow
def test_every_row_of_a_file_and_every_example_has_the_status_it_must_have(
    tmp_path_factory: pytest.TempPathFactory,
    format_: FileFormat,
    draw: st.DataObject,
    policy: OnDuplicate,
    sizes: Sizes,
) -> None:
    data, entries = draw.draw(mixtures(format_.kinds))
    path = tmp_path_factory.getbasetemp() / format_.name
    lines = format_.write(path, entries)
    marker = [(2, Entry("unknown", None, {"id": "e99"}, broken=frozenset({"id"})))]
    before = marker if format_.write is write_sniffed else []
    with pytest.MonkeyPatch.context() as patch:
        sizes.apply(patch)
        found = align_file(data, path, policy)
    numbered = [*before, *zip(lines, entries, strict=True)]
    check(found, expect(data, numbered, policy))


@given(mixtures(), POLICIES)
@pytest.mark.slow
def test_python_dicts_have_the_statuses_that_json_lines_have(
    mixture: tuple[Letters, list[Entry]], policy: OnDuplicate
) -> None:
    data, entries = mixture
    given_rows = [
        Entry(*entry[:5], broken=frozenset({"(row)"}))
        if isinstance(entry.row, bytes)
        else entry
        for entry in entries
        if entry.status != "blank"
    ]
    found = align_given(data, [entry.row for entry in given_rows], policy)
    check(found, expect(data, enumerate(given_rows, start=1), policy))


@given(mixtures(TABLE_KINDS), POLICIES)
@pytest.mark.slow
def test_a_polars_table_has_the_statuses_that_files_have(
    mixture: tuple[Letters, list[Entry]], policy: OnDuplicate
) -> None:
    data, entries = mixture
    found = align_given(data, to_table(entries), policy)
    check(found, expect(data, enumerate(entries, start=1), policy))


PLAIN = {
    b"a": ("scored", "a", None),
    b"b": ("scored", "b", None),
    b"c": ("invalid", None, "label"),
    b"": ("invalid", None, "label"),
    b"\xff": ("unreadable", None, "(line)"),
    "a\u2028b\x85".encode(): ("invalid", None, "label"),
}


@given(
    st.lists(st.sampled_from(sorted(PLAIN)), min_size=1, max_size=12),
    st.sampled_from(["label", "columns"]),
    st.sampled_from([b"\n", b"\r\n"]),
    st.integers(8, 30),
)
@pytest.mark.slow
def test_each_plain_line_has_the_status_it_must_have(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    task: str,
    end: bytes,
    block_bytes: int,
) -> None:
    data = Letters(len(lines), numeric=False, task=task)
    path = tmp_path_factory.getbasetemp() / "plain.txt"
    path.write_bytes(b"".join(line + end for line in lines))
    entries = []
    for example, line in enumerate(lines):
        status, prediction, field = PLAIN[line]
        named = None if status == "unreadable" else example
        broken = frozenset({field}) if field else frozenset()
        entries.append(Entry(status, named, {}, prediction, broken=broken))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_streams, "BLOCK_BYTES", block_bytes)
        found = align_file(data, path, "error")
    check(found, expect(data, enumerate(entries, start=1), "error"))


def as_pandas(entries: Sequence[Entry]) -> pd.DataFrame:
    frame: pd.DataFrame = to_table(entries).to_pandas()
    return frame


def as_arrow(entries: Sequence[Entry]) -> pa.Table:
    return to_table(entries).to_arrow()


def as_dicts(entries: Sequence[Entry]) -> Iterable[Any]:
    return iter([entry.row for entry in entries])


GIVEN: dict[str, Callable[[Sequence[Entry]], Any]] = {
    "pandas": as_pandas,
    "arrow": as_arrow,
    "polars": to_table,
    "dicts": as_dicts,
}


@given(
    st.data(),
    POLICIES,
    st.sampled_from(["error", "wrong", "skip"]),
    st.sampled_from(["error", "wrong", "skip"]),
    st.sampled_from([*(each.name for each in FILES if each.name != "stdin"), *GIVEN]),
)
@pytest.mark.slow
def test_an_evaluation_refuses_or_counts_what_its_policies_say(
    tmp_path_factory: pytest.TempPathFactory,
    draw: st.DataObject,
    on_duplicate: OnDuplicate,
    on_missing: Any,
    on_invalid: Any,
    name: str,
) -> None:
    format_ = next((each for each in FILES if each.name == name), None)
    kinds = format_.kinds if format_ else TABLE_KINDS
    data, entries = draw.draw(mixtures(kinds))
    predictions: Any = tmp_path_factory.getbasetemp() / name
    if format_:
        lines = format_.write(predictions, entries)
    else:
        predictions = GIVEN[name](entries)
        lines = list(range(1, len(entries) + 1))
    expected = expect(data, zip(lines, entries, strict=True), on_duplicate)
    reasons = {
        "--on-missing": expected.counts["missing"] and on_missing == "error",
        "--on-invalid": expected.counts["invalid"] and on_invalid == "error",
        "--on-duplicate": expected.counts["duplicate"] and on_duplicate == "error",
    }

    def evaluate() -> evalkit.Result:
        return evalkit.evaluate(
            data,
            predictions,
            metrics=[Share],
            on_missing=on_missing,
            on_invalid=on_invalid,
            on_duplicate=on_duplicate,
            registry=REGISTRY,
        )

    if any(reasons.values()):
        with pytest.raises(AlignmentError) as caught:
            evaluate()
        for option, refused in reasons.items():
            assert (option in str(caught.value)) == bool(refused)
        result = caught.value.result
        assert result is not None
        assert result.status == "refused"
        assert result.scores == ()
    else:
        result = evaluate()
        counted = [
            prediction == "a"
            for status, prediction in zip(
                expected.statuses, expected.predictions, strict=True
            )
            if status == "scored"
            or (status == "missing" and on_missing == "wrong")
            or (status == "invalid" and on_invalid == "wrong")
        ]
        score = result["share"]
        assert result.status == ("complete" if expected.counts["scored"] else "partial")
        assert score.n == len(counted)
        assert score.coverage == pytest.approx(len(counted) / len(data.ids))
        value = sum(counted) / len(counted) if counted else None
        assert score.value == pytest.approx(value)
    assert dict(result.counts) == expected.counts
    assert_identities(result.counts)


def _align(rows: list[Any], policy: OnDuplicate = "error") -> Alignment:
    return align_given(Letters(3, numeric=False), rows, policy)


def test_each_kind_of_problem_says_which_rule_is_broken() -> None:
    found = _align(
        [
            {"id": "e0", "label": "c"},
            {"id": "e0", "label": "a"},
            {"id": "zzz", "label": "a"},
            {"id": 1.0, "label": "a"},
            "text",
            {"id": "e1", "error": "out of memory"},
        ]
    )
    an_id = "must be a text that is not empty or an integer"
    assert list(found.problems) == [
        Problem("invalid", 1, "e0", (Violation("label", "must be one of a, b", "c"),)),
        Problem(
            "duplicate",
            2,
            "e0",
            (Violation("id", "must be given once; line 1 is used", "e0"),),
        ),
        Problem(
            "unknown",
            3,
            "zzz",
            (Violation("id", "must be the id of an example", "zzz"),),
        ),
        Problem("unreadable", 4, None, (Violation("id", an_id, 1.0),)),
        Problem("unreadable", 5, None, (Violation("(row)", "must be a dict", "text"),)),
        Problem(
            "invalid",
            6,
            "e1",
            (Violation("error", "the model reports an error", "out of memory"),),
        ),
        Problem(
            "missing",
            None,
            "e2",
            (Violation("id", "no prediction names this example"),),
        ),
    ]


@pytest.mark.parametrize(
    ("policy", "used", "dropped"),
    [("error", 1, [2, 3]), ("first", 1, [2, 3]), ("last", 3, [1, 2])],
)
def test_of_three_rows_of_one_id_all_but_one_are_duplicates_and_name_it(
    policy: OnDuplicate, used: int, dropped: list[int]
) -> None:
    rows = [{"id": "e0", "label": label} for label in ("a", "b", "a")]
    rows[used - 1]["label"] = "b"
    found = _align(rows, policy)
    duplicates = [p for p in found.problems if p.status == "duplicate"]
    assert [problem.line for problem in duplicates] == dropped
    assert found.predictions[0] == "b"
    for problem in duplicates:
        (violation,) = problem.violations
        assert violation.rule == f"must be given once; line {used} is used"


def test_scored_fields_are_kept_only_of_rows_that_are_scored() -> None:
    rows = [
        {"id": "e2", "label": "a", "prob": 0.25},
        {"id": "e1", "label": "c", "prob": 0.75},
    ]
    (prob,) = _align(rows).fields.values()
    assert (prob.name, prob.to_list()) == ("prob", [None, None, 0.25])


def test_keys_that_nobody_declared_are_counted_by_rows_that_fill_them() -> None:
    rows = [
        {"id": "e0", "label": "a", "signed": "x", "uid": "e0"},
        {"id": "e1", "label": "a", "signed": "x", "note": None},
        {"id": "zzz", "signed": "x", "error": "e"},
    ]
    assert _align(rows).undeclared == {"signed": 3}


def test_the_answer_to_an_integer_id_is_that_of_its_text() -> None:
    rows = [{"id": 0, "label": "b"}, {"uid": "1", "label": "a"}]
    found = align_given(Letters(2, numeric=True), rows, "error")
    assert found.predictions.to_list() == ["b", "a"]


def test_a_refusal_names_every_reason_with_its_count_and_way_out() -> None:
    found = _align([{"id": "e0", "label": "c"}, {"id": "e0"}, {"id": "e0"}])
    assert found.refusal(Policies()) == [
        "2 examples without a prediction (--on-missing wrong|skip)",
        "1 invalid prediction (--on-invalid wrong|skip)",
        "2 predictions with a repeated id (--on-duplicate first|last; "
        "_replication_ tells replications apart)",
    ]
    assert found.refusal(Policies("skip", "wrong", "first")) == []


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        (Policies(on_missing="drop"), "on_missing must be one of error, wrong, skip"),  # type: ignore[arg-type]
        (Policies(on_invalid="first"), "on_invalid must be one of error, wrong, skip"),  # type: ignore[arg-type]
        (Policies(on_duplicate="skip"), "on_duplicate must be one of error, first"),  # type: ignore[arg-type]
    ],
)
def test_a_policy_that_does_not_exist_is_refused(
    policies: Policies, message: str
) -> None:
    with pytest.raises(EvalkitError, match=message):
        policies.check()
