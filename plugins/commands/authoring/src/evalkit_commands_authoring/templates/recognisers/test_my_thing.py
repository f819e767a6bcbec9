"""Which names `my-thing` finds."""

from __future__ import annotations

import evalkit
from evalkit_testing import check_recogniser


def test_names_behind_titles_are_found() -> None:
    loaded = evalkit.Registry().load("recognisers", "my-thing")
    found = loaded.call("find_entities", texts=["I saw Dr. Okafor.", "Nobody came."])
    assert found == [[(10, 16, "person")], []]


def test_the_laws_of_recognisers() -> None:
    check_recogniser("my-thing", ["I saw Dr. Okafor.", "Mr. Li met Mrs. Ng."])
