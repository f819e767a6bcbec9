"""Every text is escaped; nothing that a user gives becomes a tag."""

import json

import pytest

from evalkit_commands_report.markup import element, fragment, raw_element, script_json


def test_texts_and_attributes_are_escaped_and_elements_are_not_twice() -> None:
    inner = element("b", "<i>&")
    made = element("p", inner, ["x", None, 3], title='"><script>', hidden=True)
    assert made == (
        '<p title="&quot;&gt;&lt;script&gt;" hidden><b>&lt;i&gt;&amp;</b>x3</p>'
    )
    assert element("input", value=None, checked=False) == "<input>"
    assert element("td", class_="n", data_role="x") == (
        '<td class="n" data-role="x"></td>'
    )


def test_what_turns_the_writing_around_is_shown_as_on_a_terminal() -> None:
    assert fragment("a\u202eb\x1b") == r"a\u202eb\x1b"
    assert element("i", title="a\u202eb\x1b\ud800") == (
        '<i title="a&#x202e;b&#x1b;&#xd800;"></i>'
    )


def test_json_cannot_end_its_script() -> None:
    value = {"</script><!--": "\u2028&", "n": 0.1}
    text = script_json(value)
    assert not {"<", ">", "&", "\u2028"} & {*text}
    assert json.loads(text) == value
    with pytest.raises(ValueError, match="not JSON"):
        script_json(float("nan"))


def test_code_that_would_end_its_element_is_refused() -> None:
    assert raw_element("style", "a > b {}") == "<style>a > b {}</style>"
    with pytest.raises(ValueError, match="would end the script element"):
        raw_element("script", "'</SCRIPT>'")
