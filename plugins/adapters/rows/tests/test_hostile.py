"""Input that is meant to break adapters: an error or a right answer, soon."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit.errors import AdapterError, DataError, StorageError
from evalkit_adapters_rows import Rows, paths, pipeline, read_pipeline
from evalkit_adapters_rows.adapted_files import adapt_file

DEEP = 10_000
DROP = {"kind": "Drop", "configuration": {"fields": ["z"]}}
BOMB = "- &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"- &{new} [*{old},*{old},*{old},*{old},*{old},*{old},*{old},*{old},*{old}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


def compute(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "TransformJSON", "configuration": {"x": {"$compute": [*steps]}}}


def nested(levels: int, is_list: bool = False) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value] if is_list else {"a": value}
    return value


@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize(
    "stage",
    [
        {"kind": "Rename", "configuration": {"x": "y"}},
        {"kind": "Select", "configuration": {"fields": ["x"]}},
        {"kind": "FlattenHierarchy"},
        {"kind": "FlattenHierarchy", "configuration": {"depth": 3}},
        {"kind": "ExplodeCollections", "configuration": {"collections": ["l"]}},
        {"kind": "NumberRows", "configuration": {"field": "n"}},
        {"kind": "Map", "configuration": {"collections": ["l"], "adapter": DROP}},
        {"kind": "Pipeline", "configuration": [DROP]},
        {"kind": "TransformJSON", "configuration": {"x": "$.x"}},
        compute({"$list": "$..b"}),
    ],
)
def test_rows_of_ten_thousand_levels(stage: dict[str, Any], is_list: bool) -> None:
    value = nested(DEEP, is_list)
    assert len(list(pipeline([stage])([{"x": value, "l": [{"b": value}]}]))) == 1


@pytest.mark.parametrize(
    "path",
    [
        "$" + "..*" * 30,
        "$" + "..a" * 30,
        "$" + "['a','a','a','a']" * 40,
        "$" + "['a'][0,0,0,0,0,0]" * 30,
        "$" + "..a[*]" * 30,
    ],
)
def test_a_path_that_would_be_exponential_ends(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "MOST_VALUES", 30_000)
    value: Any = {"a": [1]}
    for _ in range(60):
        value = {"a": [value], "b": 1} if "0" in path or "[*]" in path else {"a": value}
    with pytest.raises(AdapterError, match="looks at more than 30,000 values"):
        list(pipeline([compute({"$list": path})])([value]))


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|a)*b", "(a+)+$b"])
def test_a_pattern_that_would_be_exponential_ends(pattern: str) -> None:
    step = {"$func": "search", "pattern": pattern}
    adapt = pipeline([compute({"$scalar": "$.t"}, step)])
    assert list(adapt([{"t": "a" * 20_000}])) == [{"x": None}]


@pytest.mark.parametrize("pattern", ["((a{1000}){1000}){1000}", "(" * 900 + ")" * 900])
def test_a_pattern_that_is_too_large_is_refused(pattern: str) -> None:
    with pytest.raises(AdapterError, match="pattern"):
        pipeline([compute({"$scalar": "$.t"}, {"$func": "search", "pattern": pattern})])


@pytest.mark.parametrize("levels", [101, 500, DEEP])
@pytest.mark.parametrize("kind", ["TransformJSON", "Pipeline", "Map"])
def test_configurations_of_many_levels_are_refused(kind: str, levels: int) -> None:
    value = {"x": nested(levels)}
    with pytest.raises(AdapterError, match="nested deeper than 100 levels"):
        pipeline([{"kind": kind, "configuration": value}])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- kind: !!python/object/apply:os.system ['true']\n", "it is no YAML"),
        ("!!python/name:os.system\n", "it is no YAML"),
        ("!!python/object/new:evalkit.adapters.Pipeline {}\n", "it is no YAML"),
        (BOMB, "an alias"),
        ("&a [*a]\n", "an alias"),
        ("- kind: Drop\n  configuration: {<<: {fields: [a]}}\n", "it is no YAML"),
        ("- kind: Drop\n  kind: Select\n", "the key 'kind' is there twice"),
        ('[{"kind": "Drop", "kind": "Select"}]', "the key 'kind' is there twice"),
        ("[" * DEEP, "it is nested too deeply"),
        ("[" * DEEP + "]" * DEEP, "it is nested too deeply"),
        ("- " * DEEP + "x", "it is nested too deeply"),
        ("[" * 150 + "]" * 150, "it is nested deeper than 100 levels"),
        ("- {kind: TransformJSON, configuration: {x: .nan}}\n", "nan is no number"),
        ("- {kind: TransformJSON, configuration: {x: -.inf}}\n", "-inf is no number"),
        ('[{"kind": "TransformJSON", "configuration": {"x": 1e400}}]', "inf is no"),
        (
            '- {kind: TransformJSON, configuration: {x: "\\ud800"}}\n',
            "surrogates not allowed",
        ),
        ("- {kind: Drop, configuration: !!set {a, b}}\n", "is no value of JSON"),
        ("- {kind: TransformJSON, configuration: {x: 2020-01-01}}", "is no value of"),
        ("#" * 1_000_001, "it has more than 1,000,000 bytes"),
        ("- kind: Drop\n  configuration: {1: 2}\n", "the key 1 is no text"),
        *(
            (
                f"- kind: TransformJSON\n  configuration: {{label: {value}}}\n",
                f"line 2: {value} is no text in YAML; write it in quotes",
            )
            for value in ("no", "Yes", "off", "12:30:45", "010", "0x1F", "1_0")
        ),
        ("\ufffd: [", "it is no YAML"),
        ("", "it says nothing"),
    ],
)
def test_files_of_adapters(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "fix.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(AdapterError) as caught:
        read_pipeline(file)
    assert message in str(caught.value)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("text", ['["NaN"]', '{"x": NaN}', '{"x": -Infinity}'])
def test_no_constants_in_a_file_of_json(tmp_path: Path, text: str) -> None:
    file = tmp_path / "fix.json"
    written = f'[{{"kind": "TransformJSON", "configuration": {text}}}]'
    file.write_text(written, encoding="utf-8")
    if '"NaN"' in text:
        assert list(read_pipeline(file)([{}])) == [["NaN"]]
    else:
        with pytest.raises(AdapterError, match="is no number of JSON"):
            read_pipeline(file)


def test_a_line_separator_is_a_character(tmp_path: Path) -> None:
    file, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    rows = [{"t": "a\u2028b\u0085c"}, {"t": "d"}]
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    file.write_text("".join(lines), encoding="utf-8", newline="\n")
    written = tmp_path / "fix.yaml"
    written.write_text(
        '- {kind: Rename, configuration: {t: "x\u2028y"}}\n', encoding="utf-8"
    )
    assert adapt_file(read_pipeline(written), file, out).written == 2
    found = [json.loads(line) for line in out.read_bytes().split(b"\n") if line]
    assert found == [{"x\u2028y": row["t"]} for row in rows]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"t": 1, "t": 2}', "the key 't' is given twice"),
        ('{"t": "\\ud800"}', "surrogates not allowed"),
        ('{"t": ' + "[" * DEEP + "]" * DEEP + "}", "must be plain JSON"),
        ('{"t": ' + '{"a":' * DEEP + "1" + "}" * (DEEP + 1), "must be plain JSON"),
    ],
)
def test_rows_of_files(tmp_path: Path, line: str, message: str) -> None:
    data = [{"uid": "1", "statement": "a", "label": "x"}]
    file, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    file.write_text('{"t": "x"}\n' + line + "\n", encoding="utf-8")
    adapters = [
        {"kind": "NumberRows", "configuration": {"field": "uid"}},
        {"kind": "Rename", "configuration": {"t": "label"}},
    ]
    with pytest.raises(evalkit.SchemaError) as caught:
        adapt_file(pipeline(adapters), file, out)
    assert f"{file}: line 2: " in str(caught.value)
    assert message in str(caught.value)
    assert not out.exists()
    with pytest.raises(evalkit.SchemaError, match="line 2: "):
        evalkit.evaluate(
            file, [], task="text-classification", rows=Rows(adapters={"data": adapters})
        )
    renamed = [{"kind": "Rename", "configuration": {"uid": "id"}}]
    result = evalkit.evaluate(
        write(tmp_path / "data.jsonl", data),
        file,
        task="text-classification",
        rows=Rows(adapters={"predictions": [*adapters, *renamed]}),
    )
    assert (result.counts["scored"], result.counts["unreadable"]) == (1, 1)
    (problem,) = result.problems
    assert problem.line == 2
    assert message in str(problem)


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_line_of_a_hundred_megabytes(tmp_path: Path) -> None:
    file, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    with file.open("wb") as stream:
        stream.write(b'{"t": "' + b"x" * 100_000_000 + b'"}\n{"t": "y"}\n')
    with pytest.raises(evalkit.SchemaError, match=r"line 1: .*shorter than 64 MiB"):
        adapt_file(pipeline([DROP]), file, out)
    assert not out.exists()


def explode(name: str) -> dict[str, Any]:
    return {"kind": "ExplodeCollections", "configuration": {"collections": [name]}}


MANY = list(range(2_000))


@pytest.mark.parametrize(
    "stages",
    [
        [explode("a"), explode("b")],
        [{"kind": "Pipeline", "configuration": [explode("a"), explode("b")]}],
    ],
)
@pytest.mark.slow
def test_a_row_that_would_become_millions(stages: list[dict[str, Any]]) -> None:
    rows = [{"a": [1], "b": [2]}, {"a": MANY, "b": MANY}]
    small, huge = pipeline(stages).outcomes(rows, [1, 2])
    assert small == [{"a": 1, "b": 2}]
    assert isinstance(huge, AdapterError)
    assert "becomes more than 1,000,000 rows" in huge.problem


@pytest.mark.slow
def test_elements_that_would_become_millions() -> None:
    inner = {"kind": "Map", "configuration": {"collections": ["l"]}}
    inner["configuration"]["adapter"] = explode("a")  # type: ignore[index]
    with pytest.raises(AdapterError, match="'l' becomes more than 1,000,000 elements"):
        list(pipeline([inner])([{"l": [{"a": MANY}] * 600}]))


@pytest.mark.parametrize(
    "text", ['!!int ""', '!!float ""', "!!bool x", "!!timestamp x"]
)
def test_texts_that_do_not_fit_their_tag(text: str, tmp_path: Path) -> None:
    path = tmp_path / "fix.yaml"
    path.write_text(f"- {{kind: Drop, configuration: {{fields: {text}}}}}\n")
    with pytest.raises(AdapterError, match=r"fix\.yaml: .*(does not fit|is no text)"):
        read_pipeline(path)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_name_that_is_too_long_for_the_hidden_file(
    suffix: str, tmp_path: Path
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"a": 1}\n')
    target = tmp_path / f"{'n' * 244}.{suffix}"
    with pytest.raises(StorageError, match="cannot be written"):
        adapt_file(pipeline([DROP]), source, target)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_named_for_parquet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"a": 1}\n')
    written = pl.DataFrame.write_parquet
    monkeypatch.setattr(
        pl.DataFrame, "write_parquet", lambda frame, _: written(frame, "/dev/full")
    )
    with pytest.raises(DataError, match=r"out\.parquet: cannot be written.*No space"):
        adapt_file(pipeline([DROP]), source, tmp_path / "out.parquet")
    assert [each.name for each in tmp_path.iterdir()] == ["in.jsonl"]
