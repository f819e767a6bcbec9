"""Each extractor: what it takes out of a text, and what it does not guess."""

import json
import unicodedata
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import AdapterError, EvalkitError, UnknownPluginError
from evalkit_adapters_extraction.options import find_option, read_options
from evalkit_adapters_rows import extraction

_TOWNS = ["Paris", "York", "New York", "Rome"]


def _one(
    stages: Any,
    text: str | None,
    choices: list[str] | list[str | None] | None = None,
    labels: list[str] | None = None,
) -> tuple[str | None, str, str | None]:
    own = None if choices is None else pl.Series([choices])
    texts = pl.Series([text], dtype=pl.String)
    found = extraction(stages).extract(texts, own, labels)
    return found.values[0], found.statuses[0], found.reasons[0]


def _value(stages: Any, text: str, **given_: Any) -> str | None:
    return _one(stages, text, **given_)[0]


@pytest.mark.parametrize(
    ("stages", "text", "wanted"),
    [
        ("after:Answer:", "Answer: 1\nAnswer: 2", "2"),
        ("after:Answer:,which=first", "Answer: 1\nanswer: 2", "1\nanswer: 2"),
        ("after:Answer:,case=true", "Answer: 1\nanswer: 2", "1\nanswer: 2"),
        ("after:Answer:", "**Answer**: 7", "7"),
        ("after:Answer:", "**Answer:** 7", "7"),
        ("after:Answer:", "Answer\uff1a7", "7"),
        ("after:答案：", "所以答案: B", "B"),
        ("after:the answer is", "So the\n answer  is 4", "4"),
        ("after:A:", "Pizza: 4", None),
        ("after:A:", "pizza. a: 4", "4"),
        ("after:a.b", "axb 1", None),
        ("after:Réponse:", unicodedata.normalize("NFD", "Réponse: é"), "é"),
        ("after:Answer:,otherwise=text", "just 4", "just 4"),
        ("after:So, it is", "So, it is 3", "3"),
        (r"regex:\d+", "a 12 b 345", "12"),
        (r"regex:\d+,which=last", "a 12 b 345", "345"),
        (r"regex:(\d)(\d),group=2", "a 12", "2"),
        (r"regex:(\d)(\d),group=0", "a 12", "12"),
        (r"regex:(yes|no)", "well, no", "no"),
        (r"regex:a\|b", "x a|b y", "a|b"),
        ("boxed", r"\boxed{1} and \boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        ("boxed", r"\\boxed {7}", "7"),
        ("boxed", r"\boxed{a\}b}", r"a\}b"),
        ("boxed", r"\boxed{1} and \boxed{2", None),
        ("boxed", "7", None),
        ("boxed:otherwise=text", "7", "7"),
        ("final-number", "It is $1,234.50.", "1234.50"),
        ("final-number", "A: 18.00", "18"),
        ("final-number", "between 3-5", None),
        ("final-number", "use GPT-4", "4"),
        ("final-number", "so it is -6", "-6"),
        ("final-number", "-$5", "-5"),
        ("final-number", "$-5", "-5"),
        ("final-number", "x = \u22127", "-7"),
        ("final-number", "1\u202f000\u202f000 people", "1000000"),
        ("final-number", "1.5e3", "1.5e3"),
        ("final-number", ".5 of it", "0.5"),
        ("final-number", "50%", "50"),
        ("final-number", "\u0661\u0662", "12"),
        ("final-number", "so 3/4", None),
        ("final-number", "1.000.000", None),
        ("final-number", "05/06/2020", None),
        ("final-number", "12,34", None),
        ("final-number", "none", None),
        ("json-path:$.answer", 'Sure! ```json\n{"answer": "B", "n": 1}\n```', "B"),
        ("json-path:a[1].b", '{"a": [0, {"b": 2}]}', "2"),
        ("json-path:$['x y']", '{"x y": true}', "true"),
        ("json-path:$.a", '{"a": null}', None),
        ("json-path:$.a", '{"a": [1]}', None),
        ("json-path:$.a", '{"b": 1}', None),
        ("json-path:$.a", '{"a": 1, "a": 2}', None),
        ("json-path:$.a.b", '{"a": {"b": 1}, "a": {"b": 2}}', None),
        ("json-path:$.a", '{"a": 1, "b": 1, "a": 1, "b": 2}', "1"),
        ("json-path:$.c", '{"a": 1, "a": 2, "c": 3}', "3"),
        ("json-path:$.a[0]", '{"a": "xyz"}', None),
        ("json-path:$.a", '{"a": 1e999}', "1e999"),
        ("json-path:$.a", '{"a": 1.50}', "1.50"),
        ("json-path:$.a", '{"a": NaN}', "NaN"),
        ("json-path:$.a", f'{{"a": {"9" * 5000}}}', "9" * 5000),
        ("json-path:$.a", '{"a": 1} then {"a": 2}', "2"),
        ("strip", "  **`Paris`** \n", "Paris"),
        ("strip", "$5$", "5"),
        ("strip", "“Paris”", "Paris"),
        ("strip", "```python\nx = 1\n```", "x = 1"),
        ("strip", "```\nx", "x"),
        ("strip:also=.!", "Paris!.", "Paris"),
        ("without-thinking", "<think>A</think> B", "B"),
        ("without-thinking|strip", "<THINK x=1>A<think>b</think>c</think>B", "B"),
        ("without-thinking|strip", "A or so </think> B", "B"),
        ("without-thinking|strip", "B <think>A", "B"),
        ("without-thinking|strip", "[THINK]A[/THINK]B", "B"),
        (
            "without-thinking",
            "<|channel|>analysis<|message|>A<|end|><|start|>assistant"
            "<|channel|>final<|message|>B<|return|>",
            "B",
        ),
        ("without-thinking", "1 < 2 and [thing]", "1 < 2 and [thing]"),
        ("map-values:A:yes/B:no", " b ", "no"),
        ("map-values:A:yes/B:no", "c", None),
        ("map-values:A:yes/B:no,case=true", "b", None),
        ("map-values:A:yes/B:no,pattern=[AB]", "It is B.", "no"),
        ("map-values:A:yes/B:no,otherwise=text", "c", "c"),
        ("labels:yes/no", "Yes!", "yes"),
        ("labels:yes/no", "yes or no", None),
        ("labels:yes/no", "now", None),
        ("labels:no/not sure", "not sure", "not sure"),
        ("labels:hateful/not-hateful", "It is not hateful.", "not-hateful"),
        ("labels:hateful/not-hateful", "It is not_hateful.", "not-hateful"),
        ("labels:hateful/not-hateful", "a non-hateful text", None),
        ("labels:positive/negative", "It is not positive", None),
        ("labels:positive/negative", "It isn't positive but negative", "negative"),
        ("labels:positive/negative,where=whole", "It is positive", None),
        (
            "labels:positive/negative,where=start",
            "Positive, I think; negative?",
            "positive",
        ),
        ("labels:A/B", "Apple", None),
        ("labels:A/B", "A dog, so B", "B"),
        ("labels:A/B", "because it is (A)", "A"),
        ("labels:1/2", "2.5", None),
        ("labels:1/2", "It is 2.", "2"),
        ("labels:正面/负面", "答案是正面的", "正面"),
        ("labels:Yes./No.", "yes", "Yes."),
    ],
)
def test_what_is_taken_out(stages: str, text: str, wanted: str | None) -> None:
    value, status, reason = _one(stages, text)
    assert value == wanted
    assert (status == "ok") == (wanted is not None) == (reason is None)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A", "Paris"),
        ("b", "York"),
        ("**D.**", "Rome"),
        ("C) because it is large", "New York"),
        ("(B) York", "York"),
        ("(B) Rome", None),
        ("B) Yorkshire pudding", "York"),
        ("new  york", "New York"),
        ("It is New York.", "New York"),
        ("York and New York", None),
        ("Apple", None),
        ("AB", None),
        ("A town in France", None),
        ("not Rome but Paris", "Paris"),
        ("It isn't B", None),
        ("E", None),
        ("Parisian", None),
        ("rome-like", None),
        ("cannot be determined", None),
    ],
)
def test_the_choice_of_the_example(text: str, wanted: str | None) -> None:
    assert _value("choice", text, choices=_TOWNS) == wanted


def test_a_letter_that_is_one_option_and_the_place_of_another_is_ambiguous() -> None:
    assert _value("choice", "(B)", choices=["B", "A"]) is None
    assert _value("choice", "a", choices=["A", "B"]) == "A"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("C", "Paris"),
        ("(C) Paris", "Paris"),
        ("It is option C, I think.", "Paris"),
        ("D", "Rome"),
        ("B", None),
        ("It is option B, I think.", None),
        ("it must be Paris", "Paris"),
    ],
)
def test_a_null_option_keeps_its_letter(text: str, wanted: str | None) -> None:
    own = ["York", None, "Paris", "Rome"]
    assert _value("choice", text, choices=own) == wanted


def test_an_example_without_choices_is_unparsed() -> None:
    own = pl.Series([None, []], dtype=pl.List(pl.String))
    found = extraction("choice").extract(pl.Series(["A", "B"]), own)
    assert found.statuses.to_list() == ["unparsed", "unparsed"]


_WORDS = st.sampled_from(
    [
        *("A", "b", "C", "I", "(B)", "(a)", "D)", "D.", "e.g.", "option", "not", "is"),
        *("Paris", "paris", "York", "New", "Rome", "rome.", "**", "\n", "because", "é"),
        *("C++", "B:", "“Rome”", "romes", "Zoë", "Zoe\u0308", "'", "-", "_", "x)"),
    ]
)
_OPTIONS = st.lists(
    st.one_of(
        st.sampled_from(
            [*_TOWNS, "Paris!", "paris", "Zoë", "C", "b", "C++", "(x)", "rom", "Ro"]
        ),
        st.text(alphabet="abAB é-", max_size=4),
        st.none(),
    ),
    max_size=5,
)


@given(
    st.lists(st.tuples(st.lists(_WORDS, max_size=6), _OPTIONS), min_size=1, max_size=8),
    st.sampled_from(["anywhere", "start", "whole"]),
)
def test_columns_and_single_texts_agree_on_choices(
    rows: list[tuple[list[str], list[str | None]]], where: Any
) -> None:
    texts = [" ".join(words) for words, _ in rows]
    options = [own for _, own in rows]
    lists = pl.Series(options, dtype=pl.List(pl.String))
    found = extraction(f"choice:where={where}").extract(pl.Series(texts), lists)
    for text, own, value in zip(texts, options, found.values, strict=True):
        expected = None
        if text.strip() and own:
            known = read_options(tuple(own), has_letters=True)
            expected = find_option(text, known, where).value
        if not (expected or "").strip():
            expected = None  # a blank option is no answer
        assert value == expected, (text, own)


@given(st.lists(st.text(max_size=30), max_size=6))
@pytest.mark.slow
def test_no_text_makes_an_extractor_fail(texts: list[str]) -> None:
    column = pl.Series(texts, dtype=pl.String)
    own = pl.Series([_TOWNS] * len(texts), dtype=pl.List(pl.String))
    for stages in (
        "after:Answer:",
        "boxed",
        "choice",
        "final-number",
        "json-path:a",
        "labels",
        "map-values:A:b",
        r"regex:\w+",
        "strip",
        "without-thinking",
    ):
        found = extraction(stages).extract(column, own, ["yes", "no"])
        assert len(found.values) == len(texts)
        lacks = found.values.is_null()
        assert (lacks == (found.statuses != "ok")).all()
        assert (lacks == found.reasons.is_not_null()).all()


@pytest.mark.parametrize(
    ("stages", "text", "status"),
    [
        ("boxed", "\\" * 1_000_000, "unparsed"),
        ("json-path:a", "[" * 1_000_000, "error"),
        ("json-path:a", "[1," * 100_000, "error"),
        ("json-path:a", "[" * 1_000_000 + "]" * 1_000_000, "error"),
        ("json-path:a", ("[" * 900 + "x ") * 50, "error"),
        ("json-path:a", '["a\\"' * 50_000, "error"),
    ],
)
def test_what_a_model_repeats_for_ever_is_read_in_linear_time(
    stages: str, text: str, status: str
) -> None:
    assert _one(stages, text, choices=_TOWNS)[1] == status


@pytest.mark.parametrize(
    ("stages", "text", "status", "reason"),
    [
        ("choice", "", "empty", "the response is empty"),
        ("choice", None, "empty", "the response is empty"),
        ("after:A:|choice", "A:  ", "empty", "after: nothing is left"),
        ("without-thinking", "<think>x", "empty", "without-thinking: nothing is left"),
        ("after:B:|choice", "x", "unparsed", "after: the cue is not there"),
        ("choice", "x", "unparsed", "choice: no option is named"),
        ("choice", "Rome, Paris", "unparsed", "choice: several options are named"),
        (
            "json-path:a",
            "{'a': 1}",
            "error",
            "json-path: there is no JSON that can be read",
        ),
        (
            "json-path:a",
            r'{"a": "\ud800"}',
            "error",
            "json-path: the value has half a character",
        ),
    ],
)
def test_statuses(stages: str, text: str | None, status: str, reason: str) -> None:
    assert _one(stages, text, choices=_TOWNS)[1:] == (status, reason)


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ("chioce", "stage 1: there is no adapter 'chioce'; did you mean choice"),
        ("strip|chioce:x", "stage 2: there is no adapter 'chioce'"),
        (
            "strip|choice:wher=start",
            r"stage 2 \(choice\): .*'wher' is unknown.* takes: where",
        ),
        ("choice:where=middle", r"stage 1 \(choice\): .*where.*anywhere"),
        ("after", r"stage 1 \(after\): .*cue: is required"),
        ("after:So, a=b:", r"stage 1 \(after\): .*'a' is unknown.*write a list: "),
        ("after:cue= ", r"stage 1 \(after\): the cue is empty"),
        ("strip|regex:(?=x)", r"stage 2 \(regex\): .*look-around is not possible"),
        (r"regex:(a)\1", r"stage 1 \(regex\): .*back-references are not possible"),
        ("regex:(", r"stage 1 \(regex\): .*unclosed group"),
        ("regex:a,group=1", r"stage 1 \(regex\): .*has 0 groups"),
        (
            "flatten-hierarchy",
            r"stage 1 \(flatten-hierarchy\): it is an adapter of rows",
        ),
        ("map-fields:x", r"stage 1 \(map-fields\): .*no short form, write a list: "),
        ("after:(|choice", r"unclosed bracket before '\|' in .*write a list: "),
        ("after:So,case=true,case=true", "'case' is given twice"),
        ("strip||choice", "stage 2 is empty"),
        ("labels:yes/YES", r"stage 1 \(labels\): 'yes' and 'YES' differ only in form"),
        ("json-path:$..a", r"stage 1 \(json-path\): .*no path"),
        ("map-values:A", r"stage 1 \(map-values\): .*pairs KEY:VALUE"),
        (5, "extract must be a text"),
        ([], "names no extractor"),
        ([{"knd": "strip"}], "stage 1 must be an object with 'kind'"),
    ],
)
def test_wrong_use_names_the_stage(stages: Any, message: str) -> None:
    with pytest.raises((AdapterError, UnknownPluginError), match=message):
        extraction(stages)


@pytest.mark.parametrize(
    "stages",
    [
        "after:Answer:|choice",
        "without-thinking|after:So, it is,otherwise=text,which=first|labels:yes/no",
        r"regex:(yes|no),which=last|map-values:yes:A/no:B",
        "strip:.|final-number|majority",
        r"regex:a\|b",
    ],
)
def test_extractors_are_written_as_they_were_read(stages: str) -> None:
    first = extraction(stages)
    assert first.text == stages
    assert extraction(first.text).sha256 == first.sha256
    listed = [
        {"kind": stage.kind, "configuration": stage.configuration}
        for stage in first.stages
    ]
    assert extraction(listed).sha256 == first.sha256
    assert json.loads(extraction(listed).text) == listed


def test_several_answers_of_a_response() -> None:
    texts = pl.Series(["A", "(B)", "b", "?", "C", "?", "?", "?"])
    rows = pl.Series([0, 0, 0, 0, 1, 2, 2, 3])
    own = pl.Series([_TOWNS] * len(texts))
    found = extraction("choice|majority").extract(texts, own, rows=rows)
    assert found.values.to_list() == ["York", "New York", None, None]
    assert found.reasons[2] == "majority: no answer has a vote"
    assert found.reasons[3] == "choice: no option is named"
    first = extraction("choice|first").extract(texts, own, rows=rows)
    assert first.values.to_list() == ["Paris", "New York", None, None]
    ties = extraction("majority").extract(pl.Series(["x", "y"]), rows=pl.Series([0, 0]))
    assert ties.values.to_list() == ["x"]


def test_a_stage_needs_choices_or_labels() -> None:
    with pytest.raises(EvalkitError, match=r"no choices.*`labels` finds"):
        extraction("strip|choice").refuse_unfit("it", choices=False, labels=True)
    with pytest.raises(
        EvalkitError, match=r"stage 1 \(labels\): it declares no labels"
    ):
        extraction("labels").refuse_unfit("it", choices=True, labels=False)
    extraction("labels:yes/no").refuse_unfit("it", choices=False, labels=False)
