"""Which examples are evaluated: `limit` and `filters`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalkit
from evalkit import DataError, EvalkitError, Result
from evalkit.examples.selection import Selection
from evalkit.examples.table import Examples

ROWS: Sequence[dict[str, Any]] = [
    {"uid": "a", "genre": "news", "n": 1, "x": 1.0, "ok": True, "more": ["p", "q"]},
    {"uid": "b", "genre": "blog", "n": 2, "x": 2.5, "ok": False, "more": []},
    {"uid": "c", "genre": None, "n": 10, "x": None, "ok": None, "more": None},
    {"uid": "d", "genre": "news", "n": -1, "x": 0.1, "ok": True, "more": ["q"]},
]
TAGS = [["size:big", "old"], ["size:small", "size:big"], [], ["a: b", "size:"]]


def examples(**columns: Any) -> Examples:
    inputs = pl.DataFrame(ROWS).with_columns(
        pl.Series(k, v) for k, v in columns.items()
    )
    frame = pl.DataFrame(
        {
            "id": inputs["uid"],
            "answer": ["yes", "no", "yes", "no"],
            "tags": pl.Series(TAGS, dtype=pl.List(pl.String)),
        }
    )
    return Examples(frame, inputs, {}, None, "one", "", (), ())


def chosen(
    limit: int | None = None, /, *, of: Examples | None = None, **filters: Any
) -> str:
    """Give the ids of the selected examples, joined."""
    found = of or examples()
    mask = Selection.of(limit, filters).mask(found)
    assert mask is not None
    assert mask.dtype == pl.Boolean
    assert mask.null_count() == 0
    return "".join(found.frame["id"].filter(mask))


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"genre": "news"}, "ad"),
        ({"genre": ["blog", "news"]}, "abd"),
        ({"uid": ("d", "a")}, "ad"),
        ({"n": "1"}, "a"),
        ({"n": ["10", "-1"]}, "cd"),
        ({"x": "2.5"}, "b"),
        ({"x": "1"}, "a"),
        ({"x": ["1.0", "1e-1", "nothing"]}, "ad"),
        ({"ok": "true"}, "ad"),
        ({"ok": ["false", "true"]}, "abd"),
        ({"more": "q"}, "ad"),
        ({"more": ["p", "z"]}, "a"),
        ({"size": "big"}, "ab"),
        ({"size": ["small", "big"]}, "ab"),
        ({"tag": "old"}, "a"),
        ({"tag": ["a: b", "size:small"]}, "bd"),
        ({"answer": "yes"}, "ac"),
        ({"answer": ["no", "maybe"], "genre": "blog"}, "b"),
        ({"column.genre": "blog", "column.n": ["2", "1"]}, "b"),
        ({"genre": "news", "size": "big"}, "a"),
        ({"genre": ["news", "blog"], "tag": "size:big", "n": "2"}, "b"),
    ],
)
def test_values_of_one_key_are_alternatives_and_keys_must_all_hold(
    filters: Mapping[str, Any], expected: str
) -> None:
    assert chosen(**filters) == expected


@pytest.mark.parametrize(
    ("limit", "expected"), [(1, "a"), (2, "ab"), (9, "abcd"), (2**70, "abcd")]
)
def test_a_limit_takes_the_first_ones(limit: int, expected: str) -> None:
    assert chosen(limit) == expected


@pytest.mark.parametrize(
    ("columns", "filters", "expected"),
    [
        ({"when": pl.Series(["2020-01-02"] * 4).str.to_date()}, "2020-01-02", "abcd"),
        ({"when": pl.Series(["x", "y", "x", None], dtype=pl.Categorical)}, "x", "ac"),
        ({"when": pl.Series([[1], [2, 3], None, []])}, "3", "b"),
        ({"when": pl.Series([None] * 3 + ["x"])}, "x", "d"),
    ],
    ids=["date", "categorical", "list of numbers", "mostly null"],
)
def test_columns_of_other_types_are_compared_as_texts(
    columns: dict[str, Any], filters: str, expected: str
) -> None:
    assert chosen(of=examples(**columns), when=filters) == expected


@pytest.mark.parametrize("name", ["*", "^a$", "^.*$", ""])
def test_a_column_may_be_called_like_a_pattern(name: str) -> None:
    of = examples(**{name: pl.Series([1, 2, None, 1])})
    assert chosen(of=of, **{f"column.{name}": "1"}) == "ad"
    assert chosen(of=of, **{name: "2"}) == "b"
    with pytest.raises(DataError, match="has '1', '2'"):
        chosen(of=of, **{name: "3"})


def test_a_column_that_no_text_names_is_told() -> None:
    with pytest.raises(DataError, match="the column 'odd' holds values of the type"):
        chosen(of=examples(odd=pl.Series([b"\xff"] * 4)), odd="x")


def test_a_name_of_both_a_column_and_a_facet_is_refused_where_they_differ() -> None:
    both = examples(size=pl.Series(["small"] * 4))
    with pytest.raises(DataError) as caught:
        chosen(of=both, size="small")
    assert str(caught.value) == (
        "the filter 'size' may mean a column or a facet, which differ; write "
        "column.size=VALUE for the column or tag=size:VALUE for the facet"
    )
    assert chosen(of=both, **{"column.size": "small"}) == "abcd"
    assert chosen(of=both, tag="size:small") == "b"


@pytest.mark.parametrize("key", ["Genre", "a", "old", "siz", ""])
def test_an_unknown_key_is_told_columns_and_facets(key: str) -> None:
    with pytest.raises(DataError) as caught:
        chosen(**{key: "news"})
    assert str(caught.value) == (
        f"the data has neither a column nor a facet {key!r} to filter by; it has "
        "genre, more, n, ok, size, uid, x, tag for whole tags and answer for answers"
    )


@pytest.mark.parametrize(
    ("filters", "described"),
    [
        ({"genre": "poem"}, "genre=poem; genre has 'blog', 'news'"),
        ({"n": "1.0"}, "n=1.0; n has '-1', '1', '2', '10'"),
        ({"x": "big"}, "x=big; x has '0.1', '1.0', '2.5'"),
        (
            {"ok": ["yes", "no"]},
            "ok=yes|no; ok has 'false', 'true'; for the answer 'yes' write answer=yes",
        ),
        ({"more": "r"}, "more=r; more has 'p', 'q'"),
        ({"size": "huge"}, "size=huge; size has 'big', 'small'"),
        (
            {"tag": "size"},
            "tag=size; tag has 'a: b', 'old', 'size:', 'size:big', 'size:small'",
        ),
        ({"answer": "1"}, "answer=1; answer has 'no', 'yes'"),
        ({"n": "1", "genre": ["blog", "poem"]}, "genre=blog|poem, n=1"),
        (
            {"n": "3", "genre": "poem"},
            "genre=poem, n=3; genre has 'blog', 'news'; n has '-1', '1', '2', '10'",
        ),
        ({"genre": []}, "genre=; genre has 'blog', 'news'"),
    ],
)
def test_a_selection_that_leaves_nothing_is_refused(
    filters: Mapping[str, Any], described: str
) -> None:
    with pytest.raises(DataError) as caught:
        chosen(**filters)
    assert str(caught.value) == f"no example is left by the filter {described}"


@pytest.mark.parametrize("limit", [0, -1, 2.5, 2.0, True, "2", [1]])
def test_a_limit_must_be_a_positive_integer(limit: Any) -> None:
    with pytest.raises(EvalkitError) as caught:
        Selection.of(limit, None)
    assert str(caught.value) == (
        f"limit must be an integer of at least 1, is {limit!r}"
    )


@pytest.mark.parametrize(
    "filters", [[("n", "1")], "n=1", 5, {1: "x"}, {1: "x", "n": "1"}]
)
def test_filters_must_be_a_mapping_of_texts(filters: Any) -> None:
    with pytest.raises(EvalkitError) as caught:
        Selection.of(None, filters)
    assert str(caught.value) == (
        "filters must be a mapping of texts, such as {'genre': 'news'}, are "
        f"{filters!r}"
    )


def test_the_order_of_filters_means_nothing() -> None:
    first = Selection.of(3, {"b": ["y", "x", "y"], "a": "z"})
    assert first == Selection.of(3, {"a": ("z",), "b": ["y", "x"]})
    assert first.describe() == "a=z, b=y|x, the first 3"
    assert first.to_dict() == {"limit": 3, "filters": {"a": ["z"], "b": ["y", "x"]}}


RIGHT = [
    {"id": "1", "label": "yes"},
    {"id": "2", "label": "no"},
    {"id": "3", "label": "yes"},
]


@pytest.mark.usefixtures("mini")
class TestEvaluation:
    def test_only_the_selected_are_scored_and_the_rest_is_counted(self) -> None:
        result = evalkit.evaluate("mini", RIGHT, filters={"label": "yes"})
        assert result.counts == {
            "examples": 2,
            "predictions": 2,
            "scored": 2,
            "invalid": 0,
            "missing": 0,
            "duplicate": 0,
            "unknown": 0,
            "unreadable": 0,
            "unparsed": 0,
            "unselected": 1,
        }
        by_tag = {score.tag: (score.n, score.coverage) for score in result.scores}
        assert by_tag == {None: (2, 1.0), "a": (1, 1.0), "b": (1, 1.0)}
        assert result.examples is not None
        assert result.examples["id"].to_list() == ["1", "3"]
        assert result.notices == (
            "only 2 examples evaluated: label=yes",
            "1 row left out, as its example is not evaluated",
        )

    def test_a_selection_makes_a_partial_run_that_is_no_failure(self) -> None:
        whole = evalkit.evaluate("mini", RIGHT)
        assert (whole.status, whole.errors, whole.is_failed) == ("complete", (), False)
        assert "unselected" not in whole.counts
        for limit in (2, 3, 99):
            part = evalkit.evaluate("mini", RIGHT, limit=limit)
            assert (part.status, part.errors, part.is_failed) == ("partial", (), False)
            assert part.to_dict()["selection"] == {"limit": limit, "filters": {}}

    def test_problems_of_examples_that_are_not_selected_refuse_nothing(self) -> None:
        rows = [RIGHT[0], {"id": "2", "label": 5}, {"id": "2", "label": "no"}]
        result = evalkit.evaluate("mini", rows, limit=1)
        assert result.counts["unselected"] == 2
        assert list(result.problems) == []

    @pytest.mark.slow
    def test_every_selection_has_a_run_id_of_its_own(self) -> None:
        selections: list[dict[str, Any]] = [
            {},
            {"limit": 3},
            {"limit": 4},
            {"filters": {"label": "yes"}},
            {"filters": {"label": ["no", "yes"]}},
            {"filters": {"tag": "a"}},
            {"filters": {"label": "yes"}, "limit": 3},
        ]
        ids = {evalkit.evaluate("mini", RIGHT, **each).run_id for each in selections}
        assert len(ids) == len(selections)
        same = evalkit.evaluate("mini", RIGHT, filters={"label": ("yes",)})
        assert same.run_id in ids

    def test_plain_lines_are_counted_over_the_whole_data_set(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "lines.txt"
        path.write_text("no\nno\nyes\n", encoding="utf-8")
        last = evalkit.evaluate("mini", path, filters={"uid": "3"})
        assert last["hits"].value == 1.0
        assert last.counts["unselected"] == 2
        path.write_text("yes\n", encoding="utf-8")
        with pytest.raises(DataError, match="1 lines and the data set has 3 examples"):
            evalkit.evaluate("mini", path, limit=1)

    def test_validation_selects_alike(self) -> None:
        found = evalkit.validate("mini", RIGHT, filters={"tag": "b"})
        assert (found.counts["examples"], found.counts["unselected"]) == (1, 2)
        assert evalkit.validate("mini", limit=2).counts == {"examples": 2}
        with pytest.raises(DataError, match="neither a column nor a facet 'genre'"):
            evalkit.validate("mini", filters={"genre": "x"})


LABELS = ("yes", "no")
ROW = st.fixed_dictionaries(
    {
        "label": st.sampled_from(LABELS),
        "kind": st.sampled_from(("p", "q", None)),
        "group": st.sampled_from("uvw"),
        "tags": st.lists(st.sampled_from(("f:1", "f:2", "plain")), max_size=2),
    }
)
SAID = st.sampled_from(["scored", "invalid", "missing", "twice", "unparsed"])


def data_of(rows: list[dict[str, Any]]) -> type[evalkit.Dataset]:
    class Drawn(evalkit.Dataset):
        task = "mini"
        cluster = "group"

        def load(self, split: str) -> list[dict[str, Any]]:
            return rows

    return Drawn


def responses(uid: str, said: str, label: str) -> list[Any]:
    row = {"id": uid, "label": label, "sure": 0.5}
    return {
        "scored": [row],
        "invalid": [{**row, "label": 7}],
        "missing": [],
        "twice": [row, {**row, "label": "no"}],
        "unparsed": [{**row, "label": None}],
    }[said]


def plain(result: Result) -> list[dict[str, Any]]:
    return [score._asdict() for score in result.scores]


@pytest.mark.usefixtures("mini")
class TestProperties:
    @given(
        rows=st.lists(st.tuples(ROW, SAID, st.sampled_from(LABELS)), min_size=1),
        foreign=st.integers(0, 2),
        limit=st.none() | st.integers(1, 4),
        filters=st.dictionaries(
            st.sampled_from(("kind", "f", "tag", "label")),
            st.lists(st.sampled_from(("p", "1", "plain", "f:2", "yes")), min_size=1),
        ),
        policy=st.sampled_from(("wrong", "skip")),
        draw=st.randoms(use_true_random=False),
    )
    @pytest.mark.slow
    def test_a_selection_scores_as_a_data_set_of_only_these_rows(
        self,
        rows: list[Any],
        foreign: int,
        limit: int | None,
        filters: dict[str, Any],
        policy: Any,
        draw: Any,
    ) -> None:
        examples = [
            {"uid": str(n), "text": "t", **row} for n, (row, _, _) in enumerate(rows)
        ]
        said = [
            response
            for n, (_, kind, label) in enumerate(rows)
            for response in responses(str(n), kind, label)
        ]
        said += [{"id": f"z{n}", "label": "yes", "sure": 0.5} for n in range(foreign)]
        said += ["unreadable"] * foreign
        draw.shuffle(said)
        options: dict[str, Any] = {
            "metrics": ["hits", share],
            "on_missing": policy,
            "on_invalid": policy,
            "on_duplicate": "first",
        }

        def matches(row: dict[str, Any]) -> bool:
            tags = row["tags"]
            has = {
                "kind": lambda value: row["kind"] == value,
                "label": lambda value: row["label"] == value,
                "f": lambda value: f"f:{value}" in tags,
                "tag": lambda value: value in tags,
            }
            return all(any(map(has[key], filters[key])) for key in filters)

        wanted = [row for row in examples if matches(row)][:limit]
        drawn = data_of(examples)
        if not wanted:
            with pytest.raises(DataError, match=r"no example is left|facet 'f' to"):
                evalkit.evaluate(drawn, said, limit=limit, filters=filters, **options)
            return
        part = evalkit.evaluate(drawn, said, limit=limit, filters=filters, **options)
        ids = {row["uid"] for row in wanted}
        others = {row["uid"] for row in examples} - ids
        kept = [x for x in said if x == "unreadable" or x["id"] not in others]
        alone = evalkit.evaluate(data_of(wanted), kept, **options)
        assert plain(part) == plain(alone)
        counts = dict(part.counts)
        unselected = counts.pop("unselected", 0)
        assert counts == alone.counts
        assert unselected == len(said) - len(kept)
        assert counts["predictions"] + unselected == len(said)
        assert counts["examples"] == len(wanted)
        assert counts["predictions"] == sum(
            counts[status]
            for status in ("scored", "invalid", "duplicate", "unknown", "unreadable")
        )
        assert counts["examples"] == sum(
            counts[status] for status in ("scored", "invalid", "missing")
        )
        assert [(p.status, p.id) for p in part.problems] == [
            (p.status, p.id) for p in alone.problems
        ]


def share(predictions: list[Any], targets: list[Any]) -> float:
    pairs = zip(predictions, targets, strict=True)
    return sum(p == t for p, t in pairs) / len(targets)


def test_values_that_are_stored_as_json_can_be_named(tmp_path: Path) -> None:
    rows = [
        {"uid": n, "statement": "x", "label": "positive", "odd": odd}
        for n, odd in enumerate([1, "b", [2], {"c": 3}])
    ]
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    said = [{"id": n, "label": "positive"} for n in range(4)]
    seen: list[Any] = []

    class Look(evalkit.Metric):
        columns = ("odd",)

        def score_example(self, prediction: Any, target: Any, fields: Any) -> float:
            seen.append(fields["odd"])
            return 1.0

    result = evalkit.evaluate(
        path, said, task="sentiment", metrics=[Look], filters={"odd": ["b", "[2]"]}
    )
    assert result.counts["scored"] == 2
    assert seen[:2] == ["b", "[2]"]
