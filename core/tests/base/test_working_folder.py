from pathlib import Path

import pytest

from evalkit.base.files import WorkingFolder


def test_a_folder_that_was_changed_is_gone_back_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    here = WorkingFolder()
    assert here.restore() is None
    monkeypatch.chdir("other")
    moved = here.restore()
    assert moved is not None
    assert str(tmp_path / "other") in moved
    assert Path.cwd() == tmp_path
    assert here.restore() is None
