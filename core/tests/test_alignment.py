from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import evalkit
from evalkit.alignment import Alignment, OnDuplicate, Policies, Problem, align
from evalkit.discovery import Catalog, Component
from evalkit.errors import AlignmentError, EvalkitError
from evalkit.examples import load_examples
from evalkit.objects import Resolver
from evalkit.prediction_files import Row, read_json_lines, read_objects
from evalkit.registry import Registry
from evalkit.responses import ResponseReader
from evalkit.violations import Violation


class Statement(BaseModel):
    uid: str


class Label(BaseModel):
    id: str
    label: str | None = None
    prob: float | None = None


class LabelTask(evalkit.TaskIO):
    Input = Statement
    Output = Label
    answer_field = "label"
    perf_metric = "share"
    scored_fields = ("prob",)
    labels = ("a", "b")
    example = {"uid": "1"}

    def verify_response(
        self, response: Mapping[str, Any], labels: Sequence[str]
    ) -> list[Violation]:
        label = response.get("label")
        if label is None or label in labels:
            return []
        return [Violation("label", "must be a label", label)]


class Share(evalkit.Metric):
    name = "share"
    worst_value = 0.0
    bounds = (0.0, 1.0)
    interval = "none"

    def score_example(self, prediction: Any, target: Any) -> float:
        return float(prediction == target)


REGISTRY = Registry(
    Catalog((Component("tasks", "label", f"{__name__}:LabelTask", "d", "1"),), ())
)


class Letters(evalkit.Dataset):
    """Examples e0, e1, … or, of the numeric kind, 0, 1, …; every answer is a."""

    name = "letters"
    task = "label"

    def __init__(self, n: int, numeric: bool) -> None:
        super().__init__()
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


USABLE = {
    "a": ("scored", {"label": "a"}, "a"),
    "b": ("scored", {"label": "b", "prob": 0.5, "note": 1}, "b"),
    "unparsed": ("scored", {"label": None}, None),
    "shape": ("invalid", {"label": 3}, None),
    "rule": ("invalid", {"label": "c"}, None),
    "both": ("invalid", {"label": "c", "prob": "x"}, None),
    "reported": ("invalid", {"label": "a", "error": "out of memory"}, None),
}
BAD_IDS: list[dict[str, Any]] = [
    {},
    {"id": ""},
    {"id": None, "uid": "e0"},
    {"id": 0.0},
    {"id": True},
    {"id": ["e0"]},
]
BROKEN = [b'{"id": "e0"', b"\xff", b'{"id": "e0", "id": "e0"}', b"[]", b'{"id": NaN}']


@st.composite
def mixtures(draw: st.DrawFn) -> tuple[Letters, list[Entry]]:
    n = draw(st.integers(1, 6))
    numeric = draw(st.booleans())
    data = Letters(n, numeric)

    def entry() -> Entry:
        kind = draw(
            st.sampled_from(["usable"] * 6 + ["unknown", "id", "broken", "blank"])
        )
        if kind == "blank":
            return Entry("blank", None, b"  \t")
        if kind == "broken":
            return Entry("unreadable", None, draw(st.sampled_from(BROKEN)))
        if kind == "id":
            bad = draw(st.sampled_from(BAD_IDS))
            return Entry("unreadable", None, {**bad, "label": "a"})
        status, fields, prediction = USABLE[draw(st.sampled_from(sorted(USABLE)))]
        example = draw(st.integers(0, n - 1))
        key = draw(st.sampled_from(["id", "uid"]))
        if kind == "unknown":
            other = draw(st.sampled_from([f"x{example}", n + example, "E0", " 0"]))
            return Entry("unknown", None, {key: other, **fields})
        as_number = numeric and draw(st.booleans())
        uid = example if as_number else data.ids[example]
        return Entry(status, example, {key: uid, **fields}, prediction)

    return data, [entry() for _ in range(draw(st.integers(0, 14)))]


MISSING = Entry("missing", None, None)
NOT_SCORED = ("invalid", "missing", "duplicate", "unknown", "unreadable")


class Expected(NamedTuple):
    counts: dict[str, int]
    statuses: list[str]
    predictions: list[str | None]
    problems: Counter[tuple[str, int | None, str | None]]


def expect(data: Letters, lines: Iterable[tuple[int, Entry]], policy: str) -> Expected:
    """Say what must come out, in the plainest way."""
    given_rows = [(line, entry) for line, entry in lines if entry.status != "blank"]
    problems: Counter[tuple[str, int | None, str | None]] = Counter()
    unparsed = 0
    for line, (status, _, row, _) in given_rows:
        if status == "unreadable":
            problems[status, line, None] += 1
        if status == "unknown":
            problems[status, line, str(row.get("id", row.get("uid")))] += 1
    statuses, predictions = [], []
    for example, uid in enumerate(data.ids):
        rows = [(line, entry) for line, entry in given_rows if entry.example == example]
        used = rows[-1 if policy == "last" else 0] if rows else (None, MISSING)
        problems.update(("duplicate", line, uid) for line, _ in rows if line != used[0])
        if used[1].status != "scored":
            problems[used[1].status, used[0], uid] += 1
        unparsed += used[1].status == "scored" and used[1].prediction is None
        statuses.append(used[1].status)
        predictions.append(used[1].prediction)
    of_status = Counter(status for status, *_ in problems.elements())
    counts = {
        "examples": len(data.ids),
        "predictions": len(given_rows),
        "scored": statuses.count("scored"),
        "unparsed": unparsed,
        **{status: of_status[status] for status in NOT_SCORED},
    }
    return Expected(counts, statuses, predictions, problems)


def assert_identities(counts: Mapping[str, int]) -> None:
    assert counts["predictions"] == sum(
        counts[status]
        for status in ("scored", "invalid", "duplicate", "unknown", "unreadable")
    )
    assert counts["examples"] == sum(
        counts[status] for status in ("scored", "invalid", "missing")
    )


def align_rows(data: Letters, rows: Iterable[Row], policy: OnDuplicate) -> Alignment:
    resolver = Resolver(REGISTRY)
    dataset = resolver.dataset(data)
    task = resolver.task(dataset)
    examples = load_examples(dataset, task, "test")
    reader = ResponseReader(task, dataset, examples)
    return align(examples.frame["id"].to_list(), rows, reader, policy)


def check(found: Alignment, expected: Expected) -> None:
    assert found.counts == expected.counts
    assert_identities(found.counts)
    assert found.statuses == expected.statuses
    assert found.predictions == expected.predictions
    listed = Counter((problem[:3]) for problem in found.problems)
    assert listed == expected.problems
    lines = [problem.line for problem in found.problems if problem.line is not None]
    assert lines == sorted(lines)
    assert all(problem.violations for problem in found.problems)


def write(
    path: Path, entries: Sequence[Entry], end: bytes, mark: bool, last_end: bool
) -> None:
    lines = [
        entry.row if isinstance(entry.row, bytes) else json.dumps(entry.row).encode()
        for entry in entries
    ]
    content = end.join(lines) + (end if last_end else b"")
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + content)


POLICIES: st.SearchStrategy[OnDuplicate] = st.sampled_from(["error", "first", "last"])
ENDS = st.sampled_from([b"\n", b"\r\n"])


@given(mixtures(), POLICIES, ENDS, st.booleans(), st.booleans())
def test_every_json_line_and_every_example_has_the_status_it_must_have(
    tmp_path_factory: pytest.TempPathFactory,
    mixture: tuple[Letters, list[Entry]],
    policy: OnDuplicate,
    end: bytes,
    mark: bool,
    last_end: bool,
) -> None:
    data, entries = mixture
    path = tmp_path_factory.getbasetemp() / "mixture.jsonl"
    write(path, entries, end, mark, last_end)
    found = align_rows(data, read_json_lines(path), policy)
    check(found, expect(data, enumerate(entries, start=1), policy))


@given(mixtures(), POLICIES)
def test_python_dicts_have_the_statuses_that_json_lines_have(
    mixture: tuple[Letters, list[Entry]], policy: OnDuplicate
) -> None:
    data, entries = mixture
    given_rows = [entry for entry in entries if entry.status != "blank"]
    found = align_rows(data, read_objects(entry.row for entry in given_rows), policy)
    check(found, expect(data, enumerate(given_rows, start=1), policy))


@settings(max_examples=60)
@given(
    mixtures(),
    POLICIES,
    st.sampled_from(["error", "wrong", "skip"]),
    st.sampled_from(["error", "wrong", "skip"]),
    st.booleans(),
)
def test_an_evaluation_refuses_or_counts_what_its_policies_say(
    tmp_path_factory: pytest.TempPathFactory,
    mixture: tuple[Letters, list[Entry]],
    on_duplicate: OnDuplicate,
    on_missing: Any,
    on_invalid: Any,
    as_file: bool,
) -> None:
    data, entries = mixture
    predictions: Any = tmp_path_factory.getbasetemp() / "evaluated.jsonl"
    if as_file:
        write(predictions, entries, b"\n", False, True)
    else:
        entries = [entry for entry in entries if entry.status != "blank"]
        predictions = [entry.row for entry in entries]
    expected = expect(data, enumerate(entries, start=1), on_duplicate)
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
        assert result.status == ("complete" if counted else "partial")
        assert score.n == len(counted)
        assert score.coverage == pytest.approx(len(counted) / len(data.ids))
        value = sum(counted) / len(counted) if counted else None
        assert score.value == pytest.approx(value)
    assert dict(result.counts) == expected.counts
    assert_identities(result.counts)


def _align(rows: list[Any], policy: OnDuplicate = "error") -> Alignment:
    return align_rows(Letters(3, numeric=False), read_objects(rows), policy)


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
    assert found.problems == [
        Problem("invalid", 1, "e0", (Violation("label", "must be a label", "c"),)),
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
    assert _align(rows).fields == {"prob": [None, None, 0.25]}


def test_keys_that_nobody_declared_are_counted_by_rows() -> None:
    rows = [
        {"id": "e0", "label": "a", "signed": "x", "uid": "e0"},
        {"id": "e1", "label": "a", "signed": "x", "note": None},
        {"id": "zzz", "signed": "x", "error": "e"},
    ]
    assert _align(rows).undeclared == {"signed": 3, "note": 1}


def test_the_answer_to_an_integer_id_is_that_of_its_text() -> None:
    rows = [{"id": 0, "label": "b"}, {"uid": "1", "label": "a"}]
    found = align_rows(Letters(2, numeric=True), read_objects(rows), "error")
    assert found.predictions == ["b", "a"]


def test_a_refusal_names_every_reason_with_its_count_and_way_out() -> None:
    found = _align([{"id": "e0", "label": "c"}, {"id": "e0"}, {"id": "e0"}])
    assert found.refusal(Policies()) == [
        "2 examples without a prediction (--on-missing wrong|skip)",
        "1 invalid prediction (--on-invalid wrong|skip)",
        "2 predictions with a repeated id (--on-duplicate first|last)",
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
