"""The program that compares expressions, which `comparing` runs.

It reads requests from standard input, one JSON object a line, and answers each by one
JSON value. It has no time limit: the parent process ends it.
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

    print(flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
