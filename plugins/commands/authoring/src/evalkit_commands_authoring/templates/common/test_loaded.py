"""That `my-thing` is found, loads and keeps the contract of its kind."""

from __future__ import annotations

import evalkit


def test_it_is_found_and_keeps_the_contract() -> None:
    loaded = evalkit.Registry().load("{{kind}}", "my-thing")
    assert loaded.component.name == "my-thing"
