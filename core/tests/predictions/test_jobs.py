"""The file beside predictions that tells what their job took."""

import hashlib
import importlib.util
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from evalkit import DataError
from evalkit.predictions.beside import given_job, job_file_name, read_job

DOCS = Path(__file__).parents[3] / "docs"
SCHEMA = json.loads((DOCS / "schema" / "job.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)


@pytest.mark.parametrize(
    ("predictions", "expected"),
    [
        ("a.jsonl", "a.job.json"),
        ("a.jsonl.gz", "a.job.json"),
        ("llama-3.1.parquet", "llama-3.1.job.json"),
        ("a.txt.zst", "a.job.json"),
        ("a", "a.job.json"),
    ],
)
def test_it_is_called_after_the_predictions(predictions: str, expected: str) -> None:
    assert job_file_name(predictions) == expected


def test_it_is_read_with_its_hash(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbf{"examples": 3, "seconds": 2}\n'
    (tmp_path / "a.job.json").write_bytes(content)
    found = read_job(tmp_path / "a.jsonl.gz")
    assert found is not None
    assert found.sha256 == hashlib.sha256(content).hexdigest()
    assert found.figures is not None
    assert (found.figures.examples, found.figures.seconds) == (3, 2.0)
    assert found.recorded["job"]["cost"] is None


BAD: list[tuple[str, str]] = [
    ('{"seconds": NaN}', "seconds: must be a finite number"),
    ('{"seconds": 1e999}', "seconds: must be a finite number"),
    ('{"seconds": -Infinity}', "seconds: must be"),
    ('{"seconds": -1}', "seconds: must be greater than or equal to 0"),
    ('{"seconds": "5"}', "seconds: must be a valid number"),
    ('{"seconds": true}', "seconds: must be a valid number"),
    ('{"examples": 1.5}', "examples: must be a valid integer"),
    ('{"examples": 1e3}', "examples: must be a valid integer"),
    ('{"input_tokens": -1}', "input_tokens: must be greater"),
    ('{"output_tokens": 99999999999999999999}', "output_tokens: must be less"),
    ('{"second": 5}', "second: is not declared"),
    ('{"cost": 1}', "cost needs a currency"),
    ('{"cost": 1, "currency": "euro"}', "currency: "),
    ('{"seconds": 1, "seconds": 2}', "'seconds' is given twice"),
    ("[1]", "must be an object"),
    ("null", "must be an object"),
    ("", "invalid JSON"),
    ("{", "invalid JSON"),
    ("[" * 100_000, "invalid JSON"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_what_breaks_the_schema_is_refused_with_its_place(
    text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "a.job.json").write_text(text)
    with pytest.raises(DataError) as caught:
        read_job(tmp_path / "a.csv")
    assert f"{tmp_path / 'a.job.json'}: {said}" in str(caught.value).replace(
        "invalid JSON: the key ", ""
    )


def test_bytes_that_are_no_text_and_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.job.json").write_bytes(b"\xff")
    with pytest.raises(DataError, match="invalid JSON"):
        read_job(tmp_path / "a.csv")
    (tmp_path / "b.job.json").mkdir()
    with pytest.raises(DataError, match="cannot be read"):
        read_job(tmp_path / "b.csv")


def test_the_published_schema_says_the_same() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    refused = [text for text, _ in BAD if text.startswith("{") and "twice" not in text]
    for text in refused[3:-1]:
        if '"seconds": 1, ' in text or "1e3" in text:
            continue  # JSON Schema sees one key, and a whole number
        assert not VALIDATOR.is_valid(json.loads(text)), text


def test_the_published_schema_is_made_of_the_model() -> None:
    spec = importlib.util.spec_from_file_location("maker", DOCS / "make_job_schema.py")
    assert spec is not None
    assert spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert maker.job_schema() == SCHEMA, "run docs/make_job_schema.py"


def test_figures_given_in_python_are_checked() -> None:
    figures = given_job({"seconds": 1.0}).figures
    assert figures is not None
    assert figures.seconds == 1.0
    with pytest.raises(DataError, match=r"^job: seconds: must be"):
        given_job({"seconds": float("nan")})
