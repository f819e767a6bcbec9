"""Own data from end to end: mapped, normalised, given in Python, kept for later."""

import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit import AlignmentError, DataError, EvalkitError, SchemaError
from evalkit.reporting import score_crossings
from evalkit_adapters_rows import Rows

TASK = "text-classification"
LABELS = ("no", "yes")
ROWS = [
    {
        "key": n,
        "text": f"text {n}",
        "gold": LABELS[n % 2],
        "site": "abc"[n % 3],
        "words": n,
        "note": "x" * 65 if n else "y",
        "one": 1,
    }
    for n in range(12)
]
SAID = [{"key": row["key"], "pred": row["gold"]} for row in ROWS]
MAPS: dict[str, Any] = {
    "map": {"id": "key", "statement": "text", "label": "gold"},
    "map_predictions": {"id": "key", "label": "pred"},
    "task": "sentiment",
    "metrics": ["accuracy"],
}
MOODS = {"no": "negative", "yes": "positive"}
MOODY = [{**row, "gold": MOODS[str(row["gold"])]} for row in ROWS]
MOODY_SAID = [{"key": row["key"], "pred": row["gold"]} for row in MOODY]


def evaluate(data: Any = MOODY, said: Any = MOODY_SAID, **options: Any) -> Any:
    merged = {**MAPS, **options}
    names = ("map", "map_predictions", "normalise", "extract")
    rows = Rows(**{name: merged.pop(name) for name in names if name in merged})
    return evalkit.evaluate(data=data, predictions=said, rows=rows, **merged)


@pytest.mark.slow
def test_rows_and_tables_are_one_run() -> None:
    table = pl.DataFrame(MOODY)
    found = [evaluate(each) for each in (MOODY, iter(MOODY), table, table.lazy())]
    found.append(evaluate(table.to_arrow()))
    found.append(evaluate(MOODY, MOODY_SAID))
    assert {each["accuracy"].value for each in found} == {1.0}
    assert {each.dataset for each in found} == {"data"}
    assert len({each.run_id for each in found}) == 1
    assert found[0].record.data.rows_sha256
    other = evaluate([*MOODY[:-1], {**MOODY[-1], "text": "other"}])
    assert other.run_id != found[0].run_id


FORMS = ("rows", "frame", "csv", "jsonl", "parquet")


def in_form(rows: list[Any], form: str, path: Path) -> Any:
    """Give rows in a form, with null for what is empty."""
    frame = pl.DataFrame(rows)
    path = path.with_suffix(f".{form}")
    if form in ("csv", "parquet"):
        getattr(frame, f"write_{form}")(path)
    elif form == "jsonl":
        frame.write_ndjson(path)
    return {"rows": rows, "frame": frame}.get(form, path)


@pytest.mark.parametrize("form", FORMS)
def test_empty_mapped_cells_and_two_ids_are_refused(form: str, tmp_path: Path) -> None:
    data = [{"uid": n, "statement": "x", "label": "neutral"} for n in "ab"]
    said = [{"id": n, "label": "neutral"} for n in "ab"]

    def score(data: Any, said: Any, **maps: Any) -> float:
        given = (in_form(data, form, tmp_path / "d"), in_form(said, form, tmp_path))
        maps = {"map": {}, "map_predictions": {}, **maps, "metrics": ["accuracy"]}
        value: float = evaluate(*given, **maps, on_invalid="wrong")["accuracy"].value
        return value

    def with_column(rows: list[Any], name: str, values: Any) -> list[Any]:
        return [{**row, name: v} for row, v in zip(rows, values, strict=True)]

    cells = ["neutral", None]
    new = {"label": "new"}
    assert score(data, with_column(said, "new", cells), map_predictions=new) == 0.5
    with pytest.raises(evalkit.EvalkitError, match=r"label: is required"):
        score(with_column(data, "new", cells), said, map=new)
    swapped = with_column(said, "uid", "ba")
    with pytest.raises(evalkit.EvalkitError, match=r"uid: differs from 'id' \('a'\)"):
        score(data, swapped)
    assert score(data, swapped, map_predictions={"id": "uid"}) == 1
    two = with_column(data, "id", "ba")
    with pytest.raises(evalkit.EvalkitError, match=r"id: differs from 'uid' \('a'\)"):
        score(two, said)
    assert score(two, said, map={"uid": "id"}) == 1


def test_a_mapping_is_recorded_as_adapters() -> None:
    record = evaluate().record
    [of_data], [of_predictions] = record.data.adapters, record.predictions.adapters
    assert (of_data.kind, of_data.configuration) == ("map-fields", MAPS["map"])
    assert of_predictions.configuration == MAPS["map_predictions"]
    assert evaluate(map={**MAPS["map"], "facet:s": "site"}).run_id != record.run_id


@pytest.mark.parametrize("name", ["data.csv", "data.jsonl", "data.parquet"])
def test_files_are_mapped_alike(tmp_path: Path, name: str) -> None:
    frame, path = pl.DataFrame(MOODY), tmp_path / name
    write = {"csv": frame.write_csv, "jsonl": frame.write_ndjson}
    write.get(path.suffix[1:], frame.write_parquet)(path)
    fields = {**MAPS["map"], "facet:site": "site"}
    result = evaluate(path, map=fields)
    assert result["accuracy"].value == 1.0
    tags = set(result.by_tag["tag"].drop_nulls())
    assert {"site:a", "site:b", "site:c"} <= tags


def test_cells_of_csv_are_read_as_their_fields_are(tmp_path: Path) -> None:
    data, said = tmp_path / "data.csv", tmp_path / "said.csv"
    data.write_text('key,text,gold\n007,"[""a""]",1\n1e3,null,true\n')
    said.write_text("key,pred\n007,1\n1e3,true\n")
    result = evaluate(data, said, task=TASK)
    assert result["accuracy"].value == 1.0
    assert result.examples["id"].to_list() == ["007", "1e3"]
    assert result.examples["pred"].to_list() == ["1", "true"]


def test_missing_keys_are_named_at_once_with_what_would_mend_them() -> None:
    with pytest.raises(SchemaError) as caught:
        evaluate(map={})
    wanted = "no example has an id ('uid' or 'id'), 'statement' or 'label' (the right"
    assert wanted in str(caught.value)
    assert caught.value.mapping == MAPS["map"]
    with pytest.raises(AlignmentError) as refused:
        evaluate(map_predictions={})
    assert "refused: no row has 'id' or 'label'; " in str(refused.value)
    assert "notice: rows have 'key', 'pred', which the task" in str(refused.value)
    assert refused.value.mapping == MAPS["map_predictions"]


def test_strange_and_repeated_rows_do_not_hide_what_all_rows_lack() -> None:
    said = [*MOODY_SAID, {**MOODY_SAID[0]}, {**MOODY_SAID[0], "key": "elsewhere"}]
    with pytest.raises(AlignmentError, match="no row has 'label'; ") as refused:
        evaluate(said=said, map_predictions={"id": "key"})
    assert refused.value.mapping == {"label": "pred"}


@pytest.mark.parametrize("place", ["data", "predictions"])
def test_a_column_that_no_row_has_is_an_error(place: str) -> None:
    keyword = "map" if place == "data" else "map_predictions"
    with pytest.raises(DataError, match="no row has 'lable'"):
        evaluate(**{keyword: {**MAPS[keyword], "label": "lable"}})


def test_labels_are_normalised_on_both_sides_and_it_is_recorded() -> None:
    rows = [{**row, "gold": f" {str(row['gold']).upper()}"} for row in MOODY]
    said = [{**row, "pred": str(row["pred"]).title()} for row in MOODY_SAID]
    result = evaluate(rows, said, normalise="labels")
    assert result["accuracy"].value == 1.0
    kinds = [each.kind for each in result.record.data.adapters]
    assert kinds == ["map-fields", "normalise-labels"]
    assert evaluate(normalise="labels").run_id != evaluate().run_id


def test_normalising_is_offered_where_it_mends_all_rows_and_only_then() -> None:
    rows = [{**row, "gold": str(row["gold"]).upper()} for row in MOODY]
    with pytest.raises(SchemaError, match=r"--normalise labels .* mends all of them"):
        evaluate(rows)
    with pytest.raises(SchemaError) as caught:
        evaluate([*rows[:-1], {**rows[-1], "gold": "odd"}])
    assert "normalise" not in str(caught.value)
    said = [{**row, "pred": str(row["pred"]).upper()} for row in MOODY_SAID]
    with pytest.raises(AlignmentError, match=r"--normalise labels .* mends all of"):
        evaluate(said=said)
    with pytest.raises(AlignmentError) as refused:
        evaluate(said=[*said[:-1], {**said[-1], "pred": "odd"}])
    assert "--normalise" not in str(refused.value)


def kept(result: Any) -> list[str]:
    names = [n for n in result.examples.columns if n.startswith("column/")]
    assert [name.removeprefix("column/") for name in names] == [*result.record.kept]
    return [*result.record.kept]


def test_who_names_columns_keeps_these(tmp_path: Path) -> None:
    assert kept(evaluate(keep=["note", "words"])) == ["note", "words"]
    assert kept(evaluate(keep="statement")) == ["statement"]
    assert kept(evaluate(keep="none")) == []
    assert kept(evaluate(include_examples=False)) == []
    with pytest.raises(EvalkitError, match="--keep sit: the data has no such column"):
        evaluate(keep=["sit"])
    with pytest.raises(EvalkitError, match="which --no-examples leaves out"):
        evaluate(keep=["site"], include_examples=False)
    assert evaluate(keep="none").run_id != evaluate().run_id


def test_verify_and_rescore_say_what_they_need() -> None:
    result = evaluate()
    sha256 = result.record.data.rows_sha256
    needed = f"what it needs are the rows with the SHA-256 {sha256}"
    assert needed in evalkit.verify(result).data


@pytest.mark.parametrize("given", [{}, {"dataset": "sample-nli", "data": ROWS}])
def test_a_data_set_or_data_and_not_both(given: Any) -> None:
    with pytest.raises(EvalkitError, match="name a data set, or give data="):
        evalkit.evaluate(predictions=SAID, **given)


def test_rows_need_a_task_and_an_evaluation_needs_predictions() -> None:
    with pytest.raises(EvalkitError, match="rows of examples need their task"):
        evalkit.evaluate(data=ROWS, predictions=SAID)
    with pytest.raises(EvalkitError, match="evaluate needs predictions="):
        evalkit.evaluate(data=ROWS, task=TASK)
    assert evalkit.validate(
        data=MOODY, task="sentiment", rows=Rows(map=MAPS["map"])
    ).counts == {"examples": 12}


def test_float_ids_are_named() -> None:
    floats = [{**row, "key": float(row["key"])} for row in MOODY_SAID]
    with pytest.raises(AlignmentError, match=r"refused: ids are floats, such as 0\.0"):
        evaluate(said=floats)
    texts = [{**row, "key": f"{row['key']}.0"} for row in MOODY_SAID]
    with pytest.raises(AlignmentError, match=r"such as '0\.0' for '0': they differ"):
        evaluate(said=texts)
    of_data = [{**row, "key": f"{row['key']}.0"} for row in MOODY]
    with pytest.raises(AlignmentError, match=r"such as '0' for '0\.0': they differ in"):
        evaluate(of_data)
    with pytest.raises(SchemaError, match="write them as integers, in pandas by"):
        evaluate([{**row, "key": float(row["key"])} for row in MOODY])


def test_rows_counted_from_0_are_named_where_the_data_are_counted_from_1() -> None:
    fields = {**MAPS["map"], "id": "#row"}
    said = [{**row, "key": n} for n, row in enumerate(MOODY_SAID)]
    with pytest.raises(AlignmentError, match="the data has the ids 1 to 12, and "):
        evaluate(said=said, map=fields)
    data = {"data": MOODY, "task": "sentiment", "predictions": said}
    rows = Rows(map=fields, map_predictions=MAPS["map_predictions"])
    found = evalkit.validate(**data, rows=rows, on_missing="wrong")
    assert found.notices[-1].endswith("--map 'id=#row0' numbers the data from 0")
    assert evaluate(said=said, map={**fields, "id": "#row0"})["accuracy"].value == 1.0


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"key,text,gold\n1,caf\xe9,positive\n", "it is not UTF-8: it was probably"),
        (b"key,caf\xe9\n1,a\n", "its header must be text in UTF-8; it was prob"),
    ],
)
def test_what_other_programs_write_is_named(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=problem):
        evaluate(path)
    if b"\xe9" in content and b"gold" in content:
        path.write_bytes(content.replace(b"gold", b"pred"))
        with pytest.raises(AlignmentError, match="refused: the file is not UTF-8: it"):
            evaluate(said=path)


def test_what_runs_keep_is_merged_where_all_keep_it(tmp_path: Path) -> None:
    halves = [MOODY[:6], [{**row, "words": "w"} for row in MOODY[6:]]]
    said = [MOODY_SAID[:6], MOODY_SAID[6:]]
    keep = ["site", "words"]
    parts = [evaluate(*each, keep=keep) for each in zip(halves, said, strict=True)]
    merged = evalkit.merge(parts, dataset="whole")
    assert kept(merged) == ["site"]


def test_columns_of_any_name_are_kept_and_mean_what_they_do_in_an_evaluation(
    tmp_path: Path,
) -> None:
    rows = [
        {
            "uid": str(n),
            "statement": "x",
            "label": "positive",
            "status": f"s{n % 2}",
            "^a.*$": f"a{n % 3}",
            **dict.fromkeys(("answer", "pred", "a, b", " c"), f"v{n % 2}"),
        }
        for n in range(12)
    ]
    said = [{"id": str(n), "label": "positive"} for n in range(12)]
    run = evalkit.evaluate(data=rows, predictions=said, task="sentiment", out=tmp_path)
    assert run.record.kept == ("status", "^a.*$")
    for name in run.record.kept:
        later = score_crossings(run, [name])
        at_once = evalkit.evaluate(
            data=rows, predictions=said, task="sentiment", by=[name]
        )
        tags = {score.tag for score in later.scores if score.aggregate is None}
        assert tags == {score.tag for score in at_once.scores if not score.aggregate}
        assert f"{name}:{rows[0][name]}" in tags


@pytest.mark.parametrize("column", ["gold", "^a$"])
def test_facets_that_tell_the_answers_are_no_part_of_a_run_without_examples(
    column: str,
) -> None:
    data = [{**row, "^a$": str(row["gold"]).upper()} for row in MOODY]
    options: dict[str, Any] = {
        "map": {**MAPS["map"], "facet:mood": column},
        "include_examples": False,
    }
    with pytest.raises(EvalkitError) as caught:
        evaluate(data, **options)
    assert str(caught.value) == (
        f"--map facet:mood={column}: its tags would be named after answers, which "
        "--no-examples leaves out of the run; leave out one of the two"
    )
    with pytest.raises(EvalkitError, match=r"--by \^a\$: groups by '\^a\$' would be"):
        evaluate(data, by="^a$", include_examples=False)
    options["map"] = {**MAPS["map"], "facet:site": "site"}
    assert "site:a" in evaluate(data, **options).by_tag["tag"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["rows", "frame"])
def test_many_columns_take_linear_time(form: str, tmp_path: Path) -> None:
    def seconds(count: int) -> float:
        others = {f"c{number}": number for number in range(count)}
        rows = [{"uid": str(n), "statement": "x", **others} for n in range(2)]
        data = in_form([{**row, "label": "neutral"} for row in rows], form, tmp_path)
        said = [{"id": row["uid"], "label": "neutral"} for row in rows]
        start = time.process_time()
        evaluate(data, said, map={}, map_predictions={}, metrics=["accuracy"])
        return time.process_time() - start

    seconds(10)
    # 16 times as long where time grows with the square
    assert seconds(20_000) < 8 * seconds(5_000)
