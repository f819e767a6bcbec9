"""The program that compares expressions, which `comparing` runs.

It reads requests from standard input, one JSON object a line, and answers each by one
JSON value. An example that takes too much processor time ends it.
"""

from __future__ import annotations

import json
import logging
import sys
from contextlib import suppress
from dataclasses import replace
from typing import Any

_MEMORY = 4 << 30
"""Bytes of address space, so that no number fills the machine's memory."""


def main() -> None:
    """Answer requests until there are no more."""
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    with suppress(ImportError, ValueError, OSError):  # not on every system
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    logging.disable(logging.CRITICAL)
    # a library that prints, as antlr4 does of versions, must not answer a request
    replies, sys.stdout = sys.stdout, sys.stderr
    latex = LatexExtractionConfig()
    kept = replace(
        latex, normalization_config=replace(latex.normalization_config, units=False)
    )

    def answer(request: dict[str, Any]) -> bool | None:
        """Tell whether a prediction equals an answer; None if no answer is readable."""
        configuration = [
            latex if request["ignore_units"] else kept,
            ExprExtractionConfig(),
        ]
        answers, [prediction] = (
            [parse(text, configuration, parsing_timeout=None) for text in texts]
            for texts in (request["answers"], [request["prediction"]])
        )
        if not any(answers):
            return None
        return any(verify(each, prediction, timeout_seconds=None) for each in answers)

    print(file=replies, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        _limit_time(request["seconds"])
        print(json.dumps(answer(request)), file=replies, flush=True)
        _limit_time(0.0)


def _limit_time(seconds: float) -> None:
    """End this process after so much processor time; 0 for no limit."""
    if sys.platform != "win32":
        import signal

        signal.setitimer(signal.ITIMER_PROF, seconds)


if __name__ == "__main__":
    main()
