"""Imports what entry points name, in a process of its own, and reports on each.

Run as a script: the values of entry points are its arguments, and a report is a line of
JSON on what was its stdout when it began. Nothing but Python's own library is imported
before.
"""

import json
import os
import sys
import time


def _now() -> float:
    """Return a time that stands still while others have the processor.

    A busy machine makes no plugin slow. Where the kernel does not tell how long this
    process waited for a processor, that time counts too.
    """
    waited = 0
    try:
        with open("/proc/self/schedstat") as file:  # noqa: PTH123 - nothing is imported
            waited = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return time.perf_counter() - waited / 1e9


def _main() -> None:
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what plugins print is no report
    leave = os._exit
    for value in sys.argv[1:]:
        module, _, attribute = value.partition(":")
        report.write(json.dumps({"begun": value}) + "\n")
        report.flush()
        start, problem = _now(), ""
        try:
            found = __import__(module.strip(), fromlist=["_"])
            name = attribute.partition("[")[0].strip()
            if name.endswith((".yaml", ".yml")):  # a file beside the package's modules
                os.stat(f"{next(iter(found.__path__))}/{name}")  # noqa: PTH116
                name = ""
            for part in filter(None, name.split(".")):
                found = getattr(found, part)
        except BaseException as error:
            problem = f"{type(error).__name__}: {error}"[:2000]
        done = {"done": value, "seconds": _now() - start, "problem": problem}
        report.write(json.dumps(done) + "\n")
        report.flush()
    leave(0)


if __name__ == "__main__":
    _main()
