"""`evalkit publish` to a folder, also where it is killed or refused half-way."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import evalkit
from evalkit.errors import EvalkitError, ObjectExistsError, StorageError
from evalkit_cli.main import cli
from evalkit_commands_publish import Publication, prepare_dataset, publish, publishing

ROWS = "datasets/nli/sample-nli.jsonl"
MANIFEST = "datasets/nli/sample-nli.manifest.json"


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, ["publish", *words])


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def predictions() -> str:
    shipped = evalkit.Registry().load("datasets", "sample-nli").attributes
    return str(shipped["example_predictions"]["rules"])


def test_a_dataset_predictions_and_a_run_are_published(
    tmp_path: Path, predictions: str
) -> None:
    root = tmp_path / "shared"
    done = call("sample-nli", str(root))
    assert (done.exit_code, done.stdout) == (0, f"{root}/{ROWS}\n"), done.stderr
    published = contents(root)
    assert set(published) == {ROWS, MANIFEST}
    manifest = json.loads(published[MANIFEST])
    assert manifest["rows"] == published[ROWS].count(b"\n") == 90
    done = call(predictions, str(root), "--predictions-for", "sample-nli")
    place = f"{root}/predictions/rules/nli/sample-nli.jsonl"
    assert done.stdout == f"{place}\n"
    assert f"next: evalkit eval sample-nli -p rules={place}" in done.stderr
    result = evalkit.evaluate("sample-nli", predictions, out=tmp_path / "runs")
    words = ("latest", str(root), "--run", "-o", str(tmp_path / "runs"))
    assert "would be written" in call(*words, "--dry-run").stderr
    done = call(*words)
    assert result.path is not None
    assert done.stdout == f"{root}/runs/sample-nli/{result.path.name}\n", done.stderr
    assert evalkit.read_run(done.stdout.strip()).scores == result.scores
    assert "was there already" in call(*words).stderr


def test_publishing_again_changes_nothing(tmp_path: Path) -> None:
    call("sample-nli", str(tmp_path))
    before = contents(tmp_path)
    done = call("sample-nli", str(tmp_path), "--json")
    assert json.loads(done.stdout)["state"] == "there"
    assert contents(tmp_path) == before


def publication(root: Path, text: str) -> Publication:
    path = root / "rows"
    path.write_text(text)
    return Publication(path, str(root / "out"), "x", 1, {"version": text.strip()})


def manifest_of(root: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((root / "out/x.manifest.json").read_bytes())
    return manifest


@pytest.mark.parametrize("error", [KeyboardInterrupt(), StorageError("refused")])
def test_rows_without_their_manifest_are_taken_for_whole_by_no_later_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    publish(publication(tmp_path, "old\n"))
    real = publishing.put

    def end_at_manifest(path: Path, uri: str, **options: Any) -> None:
        if uri.endswith("manifest.json"):
            raise error
        real(path, uri, **options)

    with monkeypatch.context() as patch:
        patch.setattr(publishing, "put", end_at_manifest)
        with pytest.raises(type(error)):
            publish(publication(tmp_path, "new\n"), overwrite=True)
    assert (tmp_path / "out" / "x.jsonl").read_text() == "new\n"
    assert manifest_of(tmp_path)["version"] == "old"  # of the rows before
    with pytest.raises(ObjectExistsError, match="another file is there"):
        publish(publication(tmp_path, "old\n"))
    planned = publish(publication(tmp_path, "new\n"), dry_run=True)
    assert planned.state == "would be written"
    assert publish(publication(tmp_path, "new\n")).state == "written"
    assert manifest_of(tmp_path)["version"] == "new"
    assert publish(publication(tmp_path, "new\n")).state == "there"


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"sha256": 1}'])
def test_a_broken_manifest_is_written_anew(tmp_path: Path, text: str) -> None:
    publish(publication(tmp_path, "a\n"))
    (tmp_path / "out/x.manifest.json").write_text(text)
    assert publish(publication(tmp_path, "a\n")).state == "written"
    assert manifest_of(tmp_path)["bytes"] == 2


@pytest.mark.parametrize("name", ["../x", "a/b", ".x", "a\n", "x" * 300, "é"])
def test_no_name_leads_out_of_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(EvalkitError, match="cannot be published as the name of the da"):
        prepare_dataset("sample-nli", str(tmp_path), tmp_path, name=name)
    with pytest.raises(EvalkitError, match="cannot be published as the name of the pr"):
        prepare_dataset("sample-nli", str(tmp_path), tmp_path, prefix=name)


@pytest.mark.parametrize("name", ["My-Set", "my_set", "my.set"])
def test_hosts_take_lower_case_names_of_datasets_only(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(EvalkitError, match="lower case letters, digits and dashes onl"):
        prepare_dataset("sample-nli", str(tmp_path), tmp_path, name=name)
