"""Own files from the command line: mapped, mended, kept for later."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from click.testing import Result

Invoke = Callable[..., Result]

TO_DATA = ("--map", "id=key", "--map", "statement=text", "--map", "label=gold")
TO_SAID = ("--map-predictions", "id=key", "--map-predictions", "label=pred")


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Write data and predictions with columns of their own, and name them."""
    monkeypatch.chdir(tmp_path)
    labels = ["positive", "negative"] * 6
    frame = pl.DataFrame({"key": range(12), "text": [f"Text {n}" for n in range(12)]})
    frame = frame.with_columns(gold=pl.Series(labels), site=pl.Series(["a", "b"] * 6))
    frame.write_csv("my set.csv")
    frame.select("key", pred="gold").write_csv("said.csv")
    return ("--data", "my set.csv", "--task", "sentiment", "-p", "said.csv")


def corrected(done: Result) -> list[str]:
    [line] = [n for n in done.stderr.splitlines() if n.startswith("evalkit: try: ")]
    return shlex.split(line.removeprefix("evalkit: try: "))[1:]


@pytest.mark.slow
def test_following_the_corrections_leads_to_scores(
    invoke: Invoke, asked: tuple[str, ...]
) -> None:
    done = invoke("eval", *asked)
    assert done.exit_code == 1
    second = corrected(done)
    assert second == ["eval", *asked, *TO_DATA]
    done = invoke(*second)
    assert done.exit_code == 1
    third = corrected(done)
    assert third == [*second, *TO_SAID]
    done = invoke(*third, "--json")
    assert done.exit_code == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["data"]["adapters"][0]["kind"] == "map-fields"
    assert record["counts"]["scored"] == 12


def test_a_wrong_column_is_replaced_in_the_correction(
    invoke: Invoke, asked: tuple[str, ...]
) -> None:
    wrong = ("--map", "id=key", "--map", "statement=txt", "--map=label=gld")
    done = invoke("validate", *asked, *wrong, *TO_SAID)
    assert done.exit_code == 1
    assert "no row has 'txt' or 'gld' (--map statement=txt, --map label=gld)" in (
        done.stderr
    )
    again = corrected(done)
    mended = ["--map", "statement=text", "--map", "label=gold"]
    assert again == ["validate", *asked, "--map", "id=key", *TO_SAID, *mended]
    assert invoke(*again).exit_code == 0


def test_validate_says_what_would_mend_predictions(
    invoke: Invoke, asked: tuple[str, ...]
) -> None:
    done = invoke("validate", *asked, *TO_DATA)
    assert done.exit_code == 1
    assert corrected(done) == ["validate", *asked, *TO_DATA, *TO_SAID]


def test_each_of_several_models_is_told(invoke: Invoke, asked: tuple[str, ...]) -> None:
    pl.DataFrame({"a": [1, 2]}).write_csv("other.csv")
    for command in ("eval", "validate"):
        done = invoke(command, *asked, "-p", "other.csv", *TO_DATA)
        assert done.exit_code == 1
        printed = done.stdout + done.stderr
        assert "says which column is meant" in printed
        assert "evalkit: try: evalkit" in done.stderr


def test_perturb_maps_too(invoke: Invoke, asked: tuple[str, ...]) -> None:
    lower = ("--perturbation", "lowercase", "-o", "out.jsonl", "-q")
    done = invoke("perturb", *asked[:4], *TO_DATA, *lower)
    assert done.exit_code == 0, done.stderr
    rows = pl.read_ndjson("out.jsonl")
    assert {"statement", "label", "input_id"} <= {*rows.columns}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--map", "label"), "--map 'label' is not of the form FIELD=COLUMN."),
        (("--map", "=gold"), "is not of the form FIELD=COLUMN."),
        (("--map", "a=b", "--map", "a=c"), "--map a=… is given twice."),
        (("--keep", "a,,b"), "--keep 'a,,b' is not of the form NAME[,…] or none."),
        (("--normalise", "ids"), "'ids' is not 'labels'"),
    ],
)
def test_options_of_another_form_are_wrong_usage(
    invoke: Invoke, asked: tuple[str, ...], options: tuple[str, ...], problem: str
) -> None:
    done = invoke("eval", *asked, *options)
    assert done.exit_code == 2
    assert problem in done.stderr


def test_a_run_is_shown_by_what_it_keeps(
    invoke: Invoke, asked: tuple[str, ...]
) -> None:
    done = invoke("eval", *asked, *TO_DATA, *TO_SAID)
    assert "keeps the column 'site' of the data" in done.stdout
    Path("my set.csv").unlink()
    shown = invoke("show", "latest", "--by", "site", "--min-n", "1")
    shown = shown if shown.exit_code == 0 else invoke("show", "latest", "--by", "site")
    assert shown.exit_code == 0, shown.stderr
    assert "By site" in shown.stdout


def test_none_is_kept(invoke: Invoke, asked: tuple[str, ...]) -> None:
    done = invoke("eval", *asked, *TO_DATA, *TO_SAID, "--keep", "none", "--json")
    assert json.loads(done.stdout)["kept"] == []
    done = invoke("show", "latest", "--by", "site")
    assert done.exit_code == 1
    done = invoke("eval", *asked, *TO_DATA, *TO_SAID, "--keep", "site,key", "--json")
    assert done.exit_code == 1  # key became the id
    assert "--keep key: the data has no such column" in done.stderr


def test_what_is_wrong_with_the_data_is_said_once_for_all_models(
    invoke: Invoke, asked: tuple[str, ...]
) -> None:
    Path("other.csv").write_bytes(Path("said.csv").read_bytes())
    done = invoke("eval", *asked, "-p", "other.csv", "-p", "absent.csv")
    assert done.exit_code == 1
    said, absent = (line for line in done.stderr.splitlines() if "error:" in line)
    assert said.startswith("evalkit: error: said.csv, other.csv: datasets/my-set ")
    assert absent == "evalkit: error: absent.csv: there is no such file"
    assert len(corrected(done)) > len(asked)


@pytest.mark.slow
def test_what_all_models_share_is_said_once_and_what_is_about_scores_first(
    invoke: Invoke, asked: tuple[str, ...]
) -> None:
    said = pl.read_csv("said.csv")
    pl.concat([said, said[:1]]).write_csv("twice.csv")
    options = (*TO_DATA, *TO_SAID, "--on-duplicate", "last")
    done = invoke("eval", *asked, "-p", "twice.csv", *options)
    lines = done.stdout.splitlines()
    notices = [line for line in lines if "notice" in line]
    assert [line.partition(",")[0] for line in notices] == [
        "notice: the run keeps the column 'site' of the data",
        "twice: notice: 1 row with a repeated id; of each id the last row counts",
    ]
    done = invoke("eval", *asked[:4], "-p", "twice.csv", *options)
    assert "2 notices (-v shows all), such as: 1 row with a repeated id;" in done.stdout


def test_why_all_rows_come_to_nothing_is_the_notice_that_is_shown() -> None:
    from evalkit_cli.printing.closing_lines import notice_lines

    cause = "accuracy did not score 12 examples"
    given = ["the run keeps the column 'a'", "12 rows left out", cause]
    [line] = notice_lines(given, verbose=False)
    assert line.endswith(f"such as: {cause}")
    [line] = notice_lines(given[:2], verbose=False)
    assert line.endswith("such as: 12 rows left out")
