"""No file, message or object of a whole session holds a credential."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from s3_servers import ACCESS_KEY, SECRET_KEY, Server

import evalkit
from evalkit.places import forget_places
from evalkit_cli.main import cli

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("seaweedfs")]

TOKEN = "a-ReCoGnIsAbLe-token"
WRONG = "AKIDANOTHERRECOGNISABLE"
SECRETS = (ACCESS_KEY, SECRET_KEY, TOKEN, WRONG)


@pytest.fixture(params=["seaweedfs"], scope="session")
def endpoint(seaweed: Server) -> str:
    return seaweed.endpoint


@pytest.fixture
def said() -> list[str]:
    """Collect what commands print."""
    return []


@pytest.fixture
def run(
    configured: None, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Run evalkit in an empty folder, as talkative as it gets."""
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setattr(tempfile, "tempdir", str(place))

    def call(*words: str, code: int = 0, **variables: str) -> str:
        forget_places()
        done = CliRunner().invoke(
            cli, words, env={"EVALKIT_TRACEBACK": "1", **variables}
        )
        said.append(done.output)
        assert done.exit_code == code, done.output
        return done.output

    return call


def test_a_session_tells_no_secret(
    run: Any, bucket: str, client: Any, tmp_path: Path, said: list[str]
) -> None:
    root = f"s3://{bucket}"
    runs = f"{root}/runs"
    shipped = evalkit.Registry().load("datasets", "sample-nli").attributes
    answers = str(next(iter(shipped["example_predictions"].values())))
    data = f"{root}/datasets/nli/sample-nli.jsonl"
    run("publish", "sample-nli", root)
    run("publish", answers, root, "--predictions-for", "sample-nli", "--model", "a")
    predictions = f"{root}/predictions/a/nli/sample-nli.jsonl"
    score = ("eval", "--data", data, "--task", "nli", "-o", runs)
    run(*score, "-p", f"a={predictions}")
    run(*score, "-p", f"b={predictions}", "-m", "accuracy")
    run("runs", "-o", runs)
    run("show", "a", "-o", runs)
    run("compare", "a", "b", "-o", runs)
    run("rescore", "a", "-m", "mcc", "-o", runs)
    run("verify", "a", "-o", runs)
    run("leaderboard", runs)
    run("perturb", "--data", data, "--task", "nli", "--perturb-prefix", "fairness")
    run("cache")
    read = ("validate", "--data", data, "--task", "nli", "-p", predictions)
    run(*read)
    place = f"{root}/other.jsonl"
    write = ("publish", "sample-nli", f"{root}/other")
    cases: list[tuple[tuple[str, ...], dict[str, str], str]] = [
        (read, {"AWS_SECRET_ACCESS_KEY": WRONG}, "access is denied"),
        (write, {"AWS_SECRET_ACCESS_KEY": WRONG}, "access is denied"),
        (read, {"AWS_ACCESS_KEY_ID": WRONG}, "access is denied"),
        ((*score, "-p", predictions, "-m", "f1"), {"AWS_ACCESS_KEY_ID": WRONG}, ""),
        (read, {"AWS_SESSION_TOKEN": TOKEN}, ""),
        (read, {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}, "connection was lost"),
        (("validate", "--data", place, "--task", "nli"), {}, "file not found"),
    ]
    for words, variables, message in cases:
        assert message in run(*words, code=1, AWS_MAX_ATTEMPTS="1", **variables)
    objects = client.list_objects_v2(Bucket=bucket)["Contents"]
    assert len(objects) > 15
    for row in objects:
        answer = client.get_object(Bucket=bucket, Key=row["Key"])
        held = answer["Body"].read() + json.dumps(answer["Metadata"]).encode()
        refuse(row["Key"], held)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 15
    for path in files:
        refuse(str(path), path.read_bytes())
    for text in said:
        refuse("what was printed", text.encode())


def refuse(name: str, content: bytes) -> None:
    for secret in SECRETS:
        assert secret not in name
        assert secret.encode() not in content, name


def test_credentials_in_an_endpoint_are_not_shown(
    run: Any, bucket: str, endpoint: str, said: list[str], tmp_path: Path
) -> None:
    with_user = endpoint.replace("http://", f"http://user:{TOKEN}@")
    data = ("validate", "--data", f"s3://{bucket}/x.jsonl", "--task", "nli")
    run(*data, code=1, AWS_ENDPOINT_URL_S3=with_user, AWS_MAX_ATTEMPTS="1")
    refuse("what was printed", said[-1].encode())
    for path in tmp_path.rglob("*"):
        if path.is_file():
            refuse(str(path), path.read_bytes())
