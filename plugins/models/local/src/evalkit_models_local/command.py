"""A program that answers inputs on its standard streams."""

from __future__ import annotations

import json
import shlex
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from pydantic import Field

import evalkit
from evalkit.errors import PluginError

_SHOWN = 5
"""Last lines of the program's standard error that are shown when it fails."""


class Command(evalkit.Model):
    """Asks a program: it is fed inputs as JSON lines, and writes a line for each.

    The program runs as long as there are inputs. A line of input is an object with
    `uid` and the fields that the task sends; a line of output is a response with the
    same `id`, an object with `id` and `error`, or an answer alone, a JSON text or
    number. It has to write each line out at once (flush), in the order of the inputs.
    """

    batch_requests = 64

    class Parameters(evalkit.Parameters):
        """Which program."""

        run: str = Field(
            description="The command, as in a shell, which is not used: no pipes."
        )

    def __init__(self, parameters: Parameters) -> None:
        self._run = parameters.run
        self._process: subprocess.Popen[str] | None = None
        self._errors: deque[str] = deque(maxlen=_SHOWN)
        self._reading: list[threading.Thread] = []

    def describe(self) -> dict[str, Any]:
        """Return the name of the program."""
        return {"name": shlex.split(self._run)[0].rpartition("/")[2]}

    def predict(self, inputs: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Have the program answer inputs."""
        process = self._process or self._started()
        assert process.stdin is not None
        feeding = threading.Thread(
            target=_feed, args=[process.stdin, list(inputs)], daemon=True
        )
        feeding.start()
        answers = [self._read(process, row["uid"]) for row in inputs]
        feeding.join()
        return answers

    def close(self) -> None:
        """End the program."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):  # it has ended already
            process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for reading in self._reading:
            reading.join()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def _started(self) -> subprocess.Popen[str]:
        words = shlex.split(self._run)
        if not words:
            raise PluginError("run is empty: name a program")
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
            )
        except OSError as error:
            raise PluginError(f"{words[0]}: {error.strerror}") from error
        assert process.stderr is not None
        reading = threading.Thread(
            target=self._errors.extend, args=[process.stderr], daemon=True
        )
        reading.start()
        self._reading = [reading]
        self._process = process
        return process

    def _read(self, process: subprocess.Popen[str], uid: Any) -> Any:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            self._reading[0].join()
            said = "".join(f"\n  {each.rstrip()}" for each in self._errors)
            raise PluginError(
                f"the program ended with {code} before it answered {uid!r}{said}"
            )
        try:
            found = json.loads(line)
        except ValueError as error:
            raise PluginError(
                f"the program answered {uid!r} with what is no JSON: {line[:200]!r}"
            ) from error
        if isinstance(found, dict) and found.get("error") is not None:
            return evalkit.NotAnswered(str(found["error"]))
        return found


def _feed(stream: IO[str], inputs: Sequence[Mapping[str, Any]]) -> None:
    """Write inputs while answers are read, as a program may answer before it reads."""
    try:
        for row in inputs:
            stream.write(json.dumps(dict(row), ensure_ascii=False, default=str) + "\n")
        stream.flush()
    except (OSError, ValueError):  # it has ended, which the reader says
        pass
