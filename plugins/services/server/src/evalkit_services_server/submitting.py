"""`evalkit submit`: sends predictions to a server, and waits for their scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

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
    with Server(server) as host, watched(quiet) as progress:
        found = host.submit(dataset, name, predictions, progress)
    if as_json:
        echo_json(found)
        return
    rows = [_cells(score) for score in found["scores"] if not score["tag"]]
    draw([["metric", "score", "95 % interval", "n"], *rows], "table")
    echo(f"{server.rstrip('/')}/runs/{found['run_id']}", err=True)


def _cells(score: dict[str, Any]) -> list[str]:
    scale = score["scale"]
    places = 1 if scale > 1 else 3
    value, low, high = (
        NO_VALUE if score[name] is None else f"{score[name] * scale:.{places}f}"
        for name in ("value", "ci_low", "ci_high")
    )
    shown = f"{value} {score['unit']}".rstrip()
    return [score["metric"], shown, f"[{low}, {high}]", str(score["n"])]


class Server:
    """The API of a server, with the token of the environment.

    Args:
        address: Its address; `https://`, or `http://` of this machine.

    Raises:
        EvalkitError: The token is not set, or would be sent unprotected.
    """

    def __init__(self, address: str) -> None:
        import os

        import httpx2

        try:
            url = httpx2.URL(address)
        except httpx2.InvalidURL as error:
            raise EvalkitError(f"{address}: not an address: {error}") from None
        if url.scheme != "https" and url.host not in _LOOPBACK:
            raise EvalkitError(
                f"{address}: expected https://, or http:// of this machine"
            )
        token = os.environ.get(TOKEN_VARIABLE, "").strip()
        if not token:
            raise EvalkitError(
                f"{TOKEN_VARIABLE} is not set. Set it to a token of yours"
            )
        self._address = address
        self._client = httpx2.Client(
            base_url=url.join("/api/v1/"),
            headers={"authorization": f"Bearer {token}"},
            timeout=httpx2.Timeout(30.0, read=600.0),
        )

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def submit(
        self, dataset: str, model: str, path: Path, progress: Progress
    ) -> dict[str, Any]:
        """Send predictions, and wait until they are evaluated.

        Args:
            dataset: Name of the dataset.
            model: Name of the model, which is added if it is not there.
            path: File of predictions.
            progress: Called with what is being done, and its share.

        Returns:
            `submission_id`, `job_id`, `run_id`, `perf`, `perf_by_tag` and `scores`.

        Raises:
            EvalkitError: The server refuses the predictions, or cannot be reached.
        """
        found = self._ask("GET", "datasets", params={"name": dataset})
        if not found:
            raise EvalkitError(f"{self._address} has no dataset {dataset!r}")
        model_id = self._model(found[0]["task"], model)
        submission = self._ask(
            "POST",
            f"models/{model_id}/submissions",
            params={"dataset": found[0]["id"]},
            content=_parts(path, progress),
        )
        job = self._wait(submission["id"], progress)
        scores = self._ask("GET", f"runs/{job['run_id']}/scores")
        keys = {"job_id": job["id"], "run_id": job["run_id"]}
        return {"submission_id": submission["id"], **keys, **scores}

    def _model(self, task: str, name: str) -> int:
        own = {"task": task, "name": name}
        found = self._ask("GET", "models", params=own)
        found = found or [self._ask("POST", "models", json=own)]
        account = self._ask("GET", "account")["name"]
        if found[0]["account"] != account:
            raise EvalkitError(
                f"model {name!r} is of {found[0]['account']}. Choose another --model"
            )
        key: int = found[0]["id"]
        return key

    def _wait(self, submission: int, progress: Progress) -> dict[str, Any]:
        pause = 0.2
        while True:
            found = self._ask("GET", "jobs", params={"submission": submission})
            job: dict[str, Any] = found[0]
            if job["state"] == "done":
                return job
            if job["ended"] is not None:
                shown = f". See {self._address}/runs/{job['run_id']}"
                more = shown if job["run_id"] else ""
                raise EvalkitError(f"{job['state']}: {job['reason']}{more}")
            progress(job["progress"] or job["state"], job["share"] or 0.0)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _ask(self, method: str, path: str, **sent: Any) -> Any:
        import httpx2

        try:
            response = self._client.request(method, path, **sent)
            answer = response.json()
        except httpx2.RequestError as error:
            raise EvalkitError(f"{self._address}: cannot be reached: {error}") from None
        except ValueError:
            raise EvalkitError(f"{self._address}: not a server of evalkit") from None
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
