from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit_commands_perturb.edits import Edit
from evalkit_commands_perturb.spans import outside, protected_spans


def protected(text: str, *kinds: str) -> list[str]:
    chosen = {"kinds": kinds} if kinds else {}
    return [text[start:end] for start, end in protected_spans(text, **chosen)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("It rose 3.5% at 10:30.", ["3.5%", "10:30"]),
        ("the 16th of 1,000.50, -4 and $5", ["16th", "1,000.50", "-4", "$5"]),
        ("GSM8K and H2O, B2B", ["GSM8K", "H2O", "B2B"]),
        ("see https://a.b/c?d=1 now", ["https://a.b/c?d=1"]),
        (
            "write to ann.b@mail.example.org or www.x.org/y",
            ["ann.b@mail.example.org", "www.x.org/y"],
        ),
        ("run `a b` or ```\nx y\n``` now", ["`a b`", "```\nx y\n```"]),
        ("<b>bold</b> &amp; so", ["<b>", "</b>", "&amp;"]),
        (r"\frac and \alpha", [r"\frac", r"\alpha"]),
        (
            "{name}, {{x y}}, [MASK], %s, ${x}, $var, @user",
            ["{name}", "{{x y}}", "[MASK]", "%s", "${x}", "$var", "@user"],
        ),
        ("<mask> or <name>", ["<mask>", "<name>"]),
        ('(/usr/local/her, "~/a/b"', ["/usr/local/her", "~/a/b"]),
        ("a1-b2 x.y1.com 1/2 (3) é5", ["a1-b2", "x.y1.com", "1/2", "3", "é5"]),
        ("open /etc/hosts.conf or ./a/b", ["/etc/hosts.conf", "./a/b"]),
        ("visit example.com/a-b today", ["example.com/a-b"]),
        (
            "WWW.x.org, her.pl, she.Then she.us:80/x",
            ["WWW.x.org,", "her.pl", "she.us:80/x"],
        ),
        ("in src/Main.java and her_notes.TXT.", ["src/Main.java", "her_notes.TXT"]),
        (r"C:\Users\her\a.b or \\server\his", [r"C:\Users\her\a.b", r"\\server\his"]),
        (
            "Dear [Name] of [Your Company], %Name%",
            ["[Name]", "[Your Company]", "%Name%"],
        ),
        ("#she, a #b_c &#39; x#y # z", ["#she", "#b_c", "&#39;"]),
        ("Louis Ⅳ, ½ x², ①", ["Ⅳ", "½", "x²", "①"]),
        ("isn't she? U.S. and/or so... [not this] [She] {", []),
        ("He went.Then he/she left: x", []),
        ("home.in/out, a.at/b, hello.ie, x.at:80", ["x.at:80"]),
        ("t.at/a-b and no.no/yes", ["t.at/a-b"]),
        ("[the place] [a good name] [His name] [your name]", ["[your name]"]),
        ("", []),
    ],
)
def test_what_is_protected(text: str, spans: list[str]) -> None:
    assert protected(text) == spans


@pytest.mark.parametrize(
    ("edit", "is_kept"),
    [
        ((0, 2, "x"), True),
        ((0, 3, "x"), False),
        ((2, 2, "x"), True),
        ((3, 3, "x"), False),
        ((3, 4, "x"), False),
        ((5, 5, "x"), True),
        ((5, 8, "x"), True),
        ((1, 9, "x"), False),
        ((8, 8, "x"), True),
        ((9, 9, "x"), False),
    ],
)
def test_edits_that_touch_a_span_are_left_out(
    edit: tuple[int, int, str], is_kept: bool
) -> None:
    assert outside([Edit(*edit)], [(2, 5), (8, 10)]) == ([edit] if is_kept else [])


@given(st.text(), st.data())
def test_spans_are_in_order_and_kept_edits_change_none_of_them(
    text: str, data: st.DataObject
) -> None:
    spans = protected_spans(text)
    assert all(start < end for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    low = data.draw(st.integers(0, len(text)))
    high = data.draw(st.integers(low, len(text)))
    touches = any(
        low < end and start < high if low < high else start < low < end
        for start, end in spans
    )
    assert bool(outside([Edit(low, high, "x")], spans)) is not touches
