import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.base.names import (
    Reference,
    facet_of,
    is_component_name,
    normalise_distribution,
    parse_reference,
    score_name,
)
from evalkit.errors import UnknownPluginError

NAMES = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}", fullmatch=True)
KEYS = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
ITEMS = st.from_regex(r"[A-Za-z0-9._+-]{1,8}", fullmatch=True)
VALUES = ITEMS | st.lists(ITEMS, min_size=2, max_size=4)


@pytest.mark.parametrize(
    "name",
    ["", "-", "-a", "a-", "a--b", "A", "a_b", "a.b", "a b", "é", "a\n", "²", "a" * 63],
)
def test_other_names_are_not_legal(name: str) -> None:
    assert not is_component_name(name)


@pytest.mark.parametrize("spelling", ["Foo.Bar_baz", "foo-bar-baz", "FOO__.-bar--baz"])
def test_spellings_of_one_distribution_compare_equal(spelling: str) -> None:
    assert normalise_distribution(spelling) == "foo-bar-baz"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("accuracy", Reference("accuracy")),
        (" accuracy ", Reference("accuracy")),
        ("accuracy:", Reference("accuracy")),
        ("accuracy@My_Dist", Reference("accuracy", "my-dist")),
        ("f1:labels=seen", Reference("f1", None, {"labels": "seen"})),
        ("f1@d:a=1, b = x/y ,", Reference("f1", "d", {"a": "1", "b": ["x", "y"]})),
        ("f1:url=a:b=c@d", Reference("f1", None, {"url": "a:b=c@d"})),
        ("f1:a=", Reference("f1", None, {"a": ""})),
        ('f1:{"a": [",", "x/y"]}', Reference("f1", None, {"a": [",", "x/y"]})),
        ("./m.py:Foo", Reference("./m.py:Foo")),
        ("a b/m.py:Foo:x=n.py:z", Reference("a b/m.py:Foo", None, {"x": "n.py:z"})),
        ("f1:x=m.py:Foo,c=1", Reference("f1", None, {"x": "m.py:Foo", "c": "1"})),
    ],
)
def test_a_reference_is_read_into_name_distribution_and_parameters(
    text: str, expected: Reference
) -> None:
    assert parse_reference(text) == expected


@pytest.mark.parametrize("text", ["", "  ", ":a=1", "@d", "a@", "a@b@c", "a@:x=1"])
def test_what_is_no_reference_is_refused_with_the_form_it_should_have(
    text: str,
) -> None:
    with pytest.raises(UnknownPluginError, match=re.escape(repr(text))) as caught:
        parse_reference(text)
    assert "NAME[@DISTRIBUTION][:KEY=VALUE,…]" in str(caught.value)


def test_parameters_in_broken_json_are_refused() -> None:
    with pytest.raises(UnknownPluginError, match="invalid JSON"):
        parse_reference('f1:{"a": 1')


@pytest.mark.parametrize("part", ["labels", "=seen", " =seen"])
def test_a_parameter_without_key_or_value_is_refused_and_quoted(part: str) -> None:
    with pytest.raises(UnknownPluginError) as caught:
        parse_reference(f"f1:a=1,{part}")
    assert f"{part!r} is not of the form KEY=VALUE" in str(caught.value)


def test_a_parameter_given_twice_is_refused() -> None:
    with pytest.raises(UnknownPluginError, match="'labels' is given twice"):
        parse_reference("f1:labels=seen, labels=gold")


@given(NAMES, st.dictionaries(KEYS, VALUES, max_size=4))
def test_a_score_name_reads_back_as_the_same_component_and_parameters(
    name: str, parameters: dict[str, Any]
) -> None:
    assert parse_reference(score_name(name, parameters)) == (name, None, parameters)


@given(NAMES, st.dictionaries(KEYS, VALUES, max_size=4), st.randoms())
def test_a_score_name_does_not_depend_on_the_order_of_parameters(
    name: str, parameters: dict[str, Any], random: Any
) -> None:
    shuffled = list(parameters.items())
    random.shuffle(shuffled)
    assert score_name(name, dict(shuffled)) == score_name(name, parameters)


@pytest.mark.parametrize(
    ("parameters", "score", "expected"),
    [
        ({}, "", "f1"),
        ({}, "a", "f1#a"),
        ({"k": True, "j": False}, "", "f1:j=false,k=true"),
        ({"k": {"b", "a"}}, "x", "f1:k=a/b#x"),
        ({"k": ("b", 1, 0.5)}, "", "f1:k=b/1/0.5"),
    ],
)
def test_a_score_is_called_by_metric_parameters_and_part(
    parameters: dict[str, Any], score: str, expected: str
) -> None:
    assert score_name("f1", parameters, score) == expected


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("length:long", ("length", "long")),
        ("a-b:c:d", ("a-b", "c:d")),
        ("length: long", None),
        ("length:\u00a0x", None),
        ("Length:long", None),
        ("length:", None),
        (":long", None),
        ("long", None),
        ("", None),
    ],
)
def test_a_tag_is_faceted_if_a_legal_name_and_no_blank_surround_its_colon(
    tag: str, expected: tuple[str, str] | None
) -> None:
    assert facet_of(tag) == expected
