from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.errors import DataError
from evalkit.reading.files import ROW_READERS, TABLES, read_rows
from evalkit.reading.formats import Format


def test_every_format_is_read_in_one_way() -> None:
    of_rows = {*ROW_READERS}
    assert of_rows | TABLES | {Format.PLAIN} == {*Format}
    assert not of_rows & (TABLES | {Format.PLAIN})


@pytest.mark.parametrize(
    "kind",
    [kind for kind in Format if kind not in ROW_READERS],
    ids=lambda kind: kind.name,
)
def test_a_format_that_nothing_reads_is_refused(kind: Format, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"cannot be read from {kind.value}"):
        list(read_rows(tmp_path / "file", kind, ()))
