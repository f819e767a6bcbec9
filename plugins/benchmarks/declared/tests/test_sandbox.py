"""Jinja templates cannot reach Python, run for long, or make huge values."""

from __future__ import annotations

import pytest

from evalkit.errors import DataError
from evalkit_benchmarks_declared.templates import compile_expression

ROW = {"x": ["a", "b"], "q": " Who? ", "n": 3, "none": None, "items": "i"}
ROW |= {"meta": {"keys": "k"}}
DOUBLING = "{% set s = namespace(v='aa') %}{% for i in range(60) %}"
HOSTILE = [
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{% for a in x recursive %}{{ loop(x) }}{% endfor %}",
    "{% set a = range(99999)|list %}{% for i in range(999) %}{{ a|sort }}{% endfor %}",
    "{{ range(10**12)|list }}",
    "{{ 'a' * 10**9 }}",
    "{{ ['a'] * 10**9 }}",
    "{{ 9**(9**9) }}",
    "{{ 1 << 10**9 }}",
    DOUBLING + "{% set s.v = s.v ~ s.v %}{% endfor %}",
    DOUBLING + "{% set s.v = s.v + s.v %}{% endfor %}",
    DOUBLING + "{% set s.v = s.v.replace('a', 'aa') %}{% endfor %}",
    DOUBLING + "{% set s.v = s.v|replace('a', 'aa') %}{% endfor %}",
    DOUBLING + "{% set s.v = [s.v, s.v]|join %}{% endfor %}",
    DOUBLING + "{% set s.v = ''.join([s.v, s.v]) %}{% endfor %}",
    "{% set s = namespace(v=9) %}{% for i in range(60) %}{% set s.v = s.v * s.v %}"
    "{% endfor %}",
    "{% set s = namespace(v=[1]) %}{% for i in range(60) %}{% set s.v = [s.v, s.v] %}"
    "{% endfor %}{{ s.v }}",
    "{% set s = namespace(v=[1]) %}{% for i in range(60) %}{% set s.v = [s.v, s.v] %}"
    "{% endfor %}{{ s.v|tojson }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ 'a'.ljust(10**9) }}",
    "{{ 'a'|center(10**9) }}",
    "{{ 'abc'|batch(10**9, 'x')|list }}",
    "{{ 'a'|indent(10**9) }}",
    "{{ ''.__class__.__mro__ }}",
    "{{ x|attr('__class__') }}",
    "{{ x.__init__.__globals__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ cycler.__init__ }}",
    "{{ lipsum() }}",
    "{{ dict.fromkeys }}",
    "{{ x.append('c') }}",
    "{% include 'x' %}",
    "{% import 'x' as y %}",
]


@pytest.mark.parametrize("template", HOSTILE)
def test_a_hostile_template_is_stopped(template: str) -> None:
    with pytest.raises(DataError, match="template"):
        compile_expression(template, "jinja", native=False)(ROW)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ q.strip() }}", "Who?"),
        ("{{ x }}", ["a", "b"]),
        ("{{ x[1] }}", "b"),
        ("{{ n + 1 }}", 4),
        ("{{ none }}", None),
        ("{{ x.index('b') }}", 1),
        ("{{ items }}", "i"),
        ("{{ meta.keys }}", "k"),
        ("{{ meta.values() | list }}", ["k"]),
        ("{{ x|map('upper')|list }}", ["A", "B"]),
        ("{{ x|map('upper') }}", ["A", "B"]),
        ("{% if n > 2 %}many{% endif %}\n", "many\n"),
        ("{{ q }}{{ n }}", " Who? 3"),
        ("{{ q|regex_replace('[?]', '!') }}", " Who! "),
        ("{{ ('a' * 90000)|regex_replace('(a+)+$', 'b') }}", "b"),
        ("{% for a in x %}{{ loop.index }}{{ a }}{% endfor %}", "1a2b"),
    ],
)
def test_a_template_gives_its_value_or_text(template: str, value: object) -> None:
    assert compile_expression(template, "jinja", native=True)(ROW) == value
    text = compile_expression(template, "jinja", native=False)(ROW)
    assert isinstance(text, str)


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{ y }}", "'y' is undefined"),
        ("{{ x.nope }}", "has no attribute 'nope'"),
        ("{{ n.strip() }}", "no attribute 'strip'"),
        ("{{ n + q }}", "TypeError"),
        ("{{ x[9] }}", "no element 9"),
        ("{{ meta.values }}", "values is a method"),
    ],
)
def test_a_template_that_fails_says_why(template: str, problem: str) -> None:
    for native in (True, False):
        with pytest.raises(DataError, match=problem):
            compile_expression(template, "jinja", native=native)(ROW)
