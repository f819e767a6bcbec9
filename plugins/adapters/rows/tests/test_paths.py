"""Paths select what jsonpath-ng selects, and end."""

import time
from typing import Any

import jsonpath_ng
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit_adapters_rows import paths
from evalkit_adapters_rows.paths import PathError, read_path

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "é"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "c-d"]), inner, max_size=3)
    ),
    max_leaves=12,
)
STEPS = st.sampled_from(
    [
        *(".a", ".b", "['c-d']", ".'c-d'", "['a','b']", "[0]", "[-1]", "[0,1]"),
        *("[1:]", "[:2]", "[::2]", "[*]", ".*", "..a", "..[0]", "..*"),
    ]
)


@given(VALUES, st.lists(STEPS, max_size=4))
def test_a_path_selects_what_jsonpath_ng_selects(value: Any, steps: list[str]) -> None:
    text = "$" + "".join(steps)
    expected = [match.value for match in jsonpath_ng.parse(text).find(value)]
    assert read_path(text).matches(value) == expected


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "does not begin with '$'"),
        ("a.b", "does not begin with '$'"),
        ("$100", "cannot be read"),
        ("$.l[?(@.v==1)]", "cannot be read"),
        ("$.a|$.b", "union"),
        ("$.a where b", "where"),
        ("$.a.`parent`", "parent"),
        ("$.a.$", "root"),
        ("$[::0]", "step of 0"),
        ("$" + ".a" * 600, "1,000 characters"),
    ],
)
def test_other_dialects_are_refused(text: str, part: str) -> None:
    with pytest.raises(PathError) as caught:
        read_path(text)
    assert part in str(caught.value)


def test_a_path_that_would_take_forever_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "MOST_VALUES", 10_000)
    value: Any = 0
    for _ in range(200):
        value = [value, value]  # 200 lists, each of which holds the one before twice
    started = time.monotonic()
    with pytest.raises(PathError, match="more than 10,000 values"):
        read_path("$..*..*..nothing").matches(value)
    assert time.monotonic() - started < 20


def test_nesting_of_any_depth_is_looked_at() -> None:
    value: Any = {"id": 7}
    for _ in range(100_000):
        value = {"a": value}
    assert read_path("$..id").matches(value) == [7]
