"""`evalkit submit`: sends predictions to a server, and waits for their scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit.errors import EvalkitError
from evalkit_cli.commanding import (
    NO_VALUE,
    draw,
    echo,
    echo_json,
    json_option,
    quiet_with,
    watched,
)

if TYPE_CHECKING:
    from httpx2 import Client

TOKEN_VARIABLE = "EVALKIT_TOKEN"
_PART = 1 << 20
_LONGEST_PAUSE = 5.0
_LOOPBACK = ("127.0.0.1", "::1", "localhost")

Progress = Callable[[str, float], None]


@click.command("submit")
@click.argument("dataset")
@click.option(
    "--predictions",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="JSON lines, plain or compressed (.gz, .zst).",
)
@click.option("--server", required=True, help="Address, such as https://HOST.")
@click.option("--model", help="Name of the model. Default: the file's stem.")
@json_option
@quiet_with("Show no progress.")
def submit_command(
    dataset: str,
    predictions: Path,
    server: str,
    model: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Send predictions to an evaluation server, and wait for their scores.

    The environment variable EVALKIT_TOKEN holds a token of your account. A model that
    is not on the server is added.
    """
    name = model or predictions.name.partition(".")[0]
    with _connect(server) as client, watched(quiet) as progress:
        result = submit(client, dataset, name, predictions, progress)
    if as_json:
        echo_json(result)
        return
    rows = [_cells(score) for score in result["scores"] if not score["tag"]]
    draw([["metric", "score", "95 % interval", "n"], *rows], "table")
    echo(f"{server.rstrip('/')}/runs/{result['run_id']}", err=True)


def _cells(score: dict[str, Any]) -> list[str]:
    scale = score["scale"]
    places = 1 if scale > 1 else 3
    value, low, high = (
        NO_VALUE if score[name] is None else f"{score[name] * scale:.{places}f}"
        for name in ("value", "ci_low", "ci_high")
    )
    shown = f"{value} {score['unit']}".rstrip()
    return [score["metric"], shown, f"[{low}, {high}]", str(score["n"])]


def _connect(address: str) -> Client:
    """Return a client of a server's API, with the token of the environment.

    Raises:
        EvalkitError: The token is not set, or would be sent unprotected.
    """
    import os

    import httpx2

    try:
        url = httpx2.URL(address)
    except httpx2.InvalidURL as error:
        raise EvalkitError(f"{address}: not an address: {error}") from None
    if url.scheme != "https" and url.host not in _LOOPBACK:
        raise EvalkitError(f"{address}: expected https://, or http:// of this machine")
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not token:
        raise EvalkitError(f"{TOKEN_VARIABLE} is not set. Set it to a token of yours")
    return httpx2.Client(
        base_url=url.join("/api/v1/"),
        headers={"authorization": f"Bearer {token}"},
        timeout=httpx2.Timeout(30.0, read=600.0),
    )


def submit(
    client: Client, dataset: str, model: str, path: Path, progress: Progress
) -> dict[str, Any]:
    """Send predictions, and wait until they are evaluated.

    Returns:
        `submission_id`, `job_id`, `run_id`, `perf`, `perf_by_tag` and `scores`.

    Raises:
        EvalkitError: The server refuses the predictions, or cannot be reached.
    """
    datasets = _ask(client, "GET", "datasets", params={"name": dataset})
    if not datasets:
        raise EvalkitError(f"{client.base_url.host} has no dataset {dataset!r}")
    model_id = _find_model(client, datasets[0]["task"], model)
    submission = _ask(
        client,
        "POST",
        f"models/{model_id}/submissions",
        params={"dataset": datasets[0]["id"]},
        content=_parts(path, progress),
    )
    job = _wait(client, submission["id"], progress)
    scores = _ask(client, "GET", f"runs/{job['run_id']}/scores")
    keys = {"job_id": job["id"], "run_id": job["run_id"]}
    return {"submission_id": submission["id"], **keys, **scores}


def _find_model(client: Client, task: str, name: str) -> int:
    """Return the id of an own model, which is added if it is missing."""
    own = {"task": task, "name": name}
    models = _ask(client, "GET", "models", params=own)
    model = models[0] if models else _ask(client, "POST", "models", json=own)
    if model["account"] != _ask(client, "GET", "account")["name"]:
        owner = model["account"]
        raise EvalkitError(f"model {name!r} belongs to {owner}. Choose another --model")
    return int(model["id"])


def _wait(client: Client, submission: int, progress: Progress) -> dict[str, Any]:
    pause = 0.2
    while True:
        jobs = _ask(client, "GET", "jobs", params={"submission": submission})
        job: dict[str, Any] = jobs[0]
        if job["state"] == "done":
            return job
        if job["ended"] is not None:
            place = client.base_url.join(f"/runs/{job['run_id']}")
            see = f". See {place}" if job["run_id"] else ""
            raise EvalkitError(f"{job['state']}: {job['reason']}{see}")
        progress(job["progress"] or job["state"], job["share"] or 0.0)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _ask(client: Client, method: str, path: str, **sent: Any) -> Any:
    import httpx2

    host = client.base_url.host
    try:
        response = client.request(method, path, **sent)
        answer = response.json()
    except httpx2.RequestError as error:
        raise EvalkitError(f"{host}: cannot be reached: {error}") from None
    except ValueError:
        raise EvalkitError(f"{host}: not a server of evalkit") from None
    if response.status_code < httpx2.codes.BAD_REQUEST:
        return answer
    raise EvalkitError(_refusal(response.status_code, answer))


def _refusal(status: int, answer: Mapping[str, Any]) -> str:
    lines = [f"refused ({status}): {answer.get('detail')}"]
    for problem in answer.get("problems", ()):
        got = "" if problem["value"] is None else f", got {problem['value']}"
        where = f"line {problem['line']}: {problem['field']}"
        lines.append(f"{where}: {problem['rule']}{got}")
    return "\n".join(lines)


def _parts(path: Path, progress: Progress) -> Iterator[bytes]:
    size, sent = path.stat().st_size or 1, 0
    with path.open("rb") as file:
        while part := file.read(_PART):
            yield part
            sent += len(part)
            progress("sending predictions", sent / size)
