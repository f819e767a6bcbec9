"""A program that answers inputs on its standard streams."""

from __future__ import annotations

import json
import queue
import shlex
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from pydantic import Field

import evalkit
from evalkit.errors import PluginError
from evalkit_models_base import Model, NotAnswered

_SHOWN = 5
"""Last lines of the program's standard error that are shown when it fails."""

_GRACE = 1.0
"""Seconds that a late program has to end when its input ends."""

_SCRIPTS = frozenset(
    {
        *(".py", ".pyz", ".sh", ".bash", ".js", ".mjs", ".ts", ".rb", ".pl", ".php"),
        *(".r", ".R", ".jl", ".lua", ".jar"),
    }
)
"""Endings of files that another program runs."""


class Command(Model):
    """Asks a program: it is fed inputs as JSON lines, and writes a line for each.

    The program runs as long as there are inputs. A line of input is an object with
    `uid` and the fields that the task sends; a line of output is a response with the
    same `id`, an object with `id` and `error`, or an answer alone, a JSON text or
    number. It has to write each line out at once (flush), in the order of the inputs;
    one line too many or too few ends the work. One that does not answer in time is
    ended, and started anew.
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
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._errors: deque[str] = deque(maxlen=_SHOWN)
        self._threads: list[threading.Thread] = []

    def describe(self) -> dict[str, Any]:
        """Return the name of the script or program."""
        return {"name": _name_of(self._words())}

    def predict(self, inputs: Sequence[Mapping[str, Any]], seconds: float) -> list[Any]:
        """Have the program answer inputs."""
        each = seconds / max(1, len(inputs))
        process = self._process or self._started()
        assert process.stdin is not None
        self._refuse_surplus()
        feeding = threading.Thread(
            target=_feed, args=[process.stdin, list(inputs)], daemon=True
        )
        feeding.start()
        try:
            answers = [self._read(process, row["uid"], each) for row in inputs]
        except BaseException:
            process.kill()  # what it says next would be taken for other answers
            self._end()
            self._lines = queue.SimpleQueue()
            raise
        feeding.join()
        return answers

    def close(self) -> None:
        """End the program."""
        self._end()
        self._refuse_surplus()

    def _refuse_surplus(self) -> None:
        while not self._lines.empty():
            line = self._lines.get()
            if not line:  # its end, which the next answer is to see
                self._lines.put(line)
                return
            if line.strip():
                raise PluginError(
                    "the program wrote more lines than it got inputs, so that no "
                    f"answer is certain: {line[:200]!r}"
                )

    def _end(self) -> None:
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
        for thread in self._threads:
            thread.join()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def _words(self) -> list[str]:
        try:
            words = shlex.split(self._run)
        except ValueError as error:
            raise PluginError(f"run is no command: {error}") from error
        if not words:
            raise PluginError("run is empty: name a program")
        return words

    def _started(self) -> subprocess.Popen[str]:
        words = self._words()
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
        self._lines, self._errors = queue.SimpleQueue(), deque(maxlen=_SHOWN)
        self._threads = [
            threading.Thread(
                target=_tell, args=[process.stdout, self._lines], daemon=True
            ),
            threading.Thread(
                target=self._errors.extend, args=[process.stderr], daemon=True
            ),
        ]
        for thread in self._threads:
            thread.start()
        self._process = process
        return process

    def _read(self, process: subprocess.Popen[str], uid: Any, seconds: float) -> Any:
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            if self._ends(process):
                raise PluginError(
                    "the program wrote fewer lines than it got inputs, so that no "
                    "answer is certain"
                ) from None
            raise TimeoutError(
                "the program was ended, having answered too late"
            ) from None
        if not line:
            code = process.wait()
            self._threads[1].join()
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
            return NotAnswered(str(found["error"]))
        return found

    def _ends(self, process: subprocess.Popen[str]) -> bool:
        """Tell whether a program that is late waits for more input."""
        assert process.stdin is not None
        with suppress(OSError, ValueError):
            process.stdin.close()
        with suppress(queue.Empty):
            return not self._lines.get(timeout=_GRACE)
        return False


def _name_of(words: Sequence[str]) -> str:
    """Return what a command is called: by the script or module that is run, if any."""
    program = Path(words[0])
    if program.suffix in _SCRIPTS:
        return program.stem
    before = ""
    for word in words[1:]:
        if before == "-m" and program.name.startswith("python"):
            return word
        if Path(word).suffix in _SCRIPTS and Path(word).is_file():
            return Path(word).stem
        before = word
    return program.name


def _tell(stream: IO[str], lines: queue.SimpleQueue[str]) -> None:
    """Hand on what the program says, and an empty text at its end."""
    try:
        for line in stream:
            lines.put(line)
    except UnicodeDecodeError:
        lines.put("bytes that are no UTF-8")
    except (OSError, ValueError):  # it is being closed
        pass
    lines.put("")


def _feed(stream: IO[str], inputs: Sequence[Mapping[str, Any]]) -> None:
    """Write inputs while answers are read, as a program may answer before it reads."""
    try:
        for row in inputs:
            stream.write(json.dumps(dict(row), ensure_ascii=False, default=str) + "\n")
        stream.flush()
    except (OSError, ValueError):  # it has ended, which the reader says
        pass
