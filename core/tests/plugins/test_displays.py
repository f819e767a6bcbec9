"""What a notebook shows: by an installed function, or else a plain table."""

from collections.abc import Callable
from typing import Any

import pytest

from evalkit.plugins.importing import html_of, html_table

SOURCE = """
def show(value):
    return f"<b>{value}</b>"

def fail(value):
    raise ValueError("<no>")

def number(value):
    return 7
"""
Install = Callable[..., Any]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALKIT_DISABLE_PLUGINS", "evalkit-commands-report")


def _install(install: Install, display: str, function: str, **options: str) -> None:
    install(SOURCE, {"evalkit.names": {display: function}}, **options)


def test_a_table_escapes_all_that_it_holds() -> None:
    table = html_table("<a>", ("<b>",), [("<c>",), (None,), (0.5,)])
    assert table == (
        "<table><caption>&lt;a&gt;</caption><thead><tr>"
        '<th scope="col">&lt;b&gt;</th></tr></thead><tbody>'
        "<tr><td>&lt;c&gt;</td></tr><tr><td></td></tr><tr><td>0.5</td></tr>"
        "</tbody></table>"
    )


def test_an_installed_display_is_used_and_else_the_plain_one(
    fake_distribution: Install,
) -> None:
    assert html_of("result_html", 3, "plain") == "plain"
    _install(fake_distribution, "result_html", "show")
    assert html_of("result_html", 3, "plain") == "<b>3</b>"
    assert html_of("comparison_html", 3, "plain") == "plain"


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("fail", "evalkit.result_html: ValueError: &lt;no&gt;"),
        ("number", "evalkit.result_html: returned int, not HTML"),
        ("absent", "names/result_html (shows 1.5): "),
    ],
)
def test_a_display_that_fails_is_named_above_the_plain_table(
    fake_distribution: Install, function: str, why: str
) -> None:
    _install(fake_distribution, "result_html", function, name="shows", version="1.5")
    html = html_of("result_html", 3, "<table></table>")
    assert html.startswith("<p>The display failed, so this is a plain table: ")
    assert why in html
    assert html.endswith("</p><table></table>")
