"""Writes `docs/cli.md` from the commands' own help texts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMANDS = (
    *("list", "show", "validate", "inputs", "perturb", "eval", "runs", "compare"),
    *("plan", "rescore", "merge", "verify", "cite", "leaderboard", "site", "new"),
    *("doctor", "help"),
)

INTRODUCTION = """# Command line

This page is made of the commands' own help texts by `docs/make_cli_page.py`.

Results go to stdout, everything else to stderr. Errors are printed without a traceback.
Exit codes: 0 done; 1 an error, refused predictions, or a metric that failed; 2 wrong
usage; 3 a score that `--fail-under` does not let pass; 70 a defect of evalkit, which
`EVALKIT_TRACEBACK=1` shows with its traceback; 130 interrupted; 141 where
nobody reads the output any more, as with `| head`. A progress bar is shown
on a terminal, and no colour when `NO_COLOR` is set.

Names, labels and messages may come from anybody. Control characters, directional
overrides and other characters that cannot be seen are printed as escapes such as
`\\x1b`; Markdown and LaTeX have their special characters escaped. In CSV a text that a
spreadsheet would take for a formula gets an apostrophe in front: one that begins with
`=`, `+`, `-`, `@`, a tab or a line break, and is no number. Numbers are never changed.
JSON holds every value as it is.

An option that is not called repeatable is given once: a second value is refused, and
does not replace the first. A switch that can only be turned on, such as `--json`, may
be repeated. The command line has precedence over the environment variable of an option;
that is no repetition.

Environment variables beside those of the options:

| variable | meaning |
|---|---|
| `EVALKIT_DATA_DIR` | folder with publishers' files, one sub-folder for each data set |
| `EVALKIT_CACHE_DIR` | what was fetched, annotated and replied; may be deleted |
| `EVALKIT_OFFLINE` | `1`: never use the network |
| `EVALKIT_DISABLE_PLUGINS` | plugins (`metrics/accuracy`) or distributions to hide |
| `EVALKIT_ALLOW_PLUGINS` | the only plugins or distributions to show |

`[tool.evalkit.tasks.NAME]` with `eval_metrics = ["…"]` and `perf_metric = "…"` (which
comes first) in the nearest `pyproject.toml` adds
metrics to a task that you do not own.

## `evalkit`

"""


def main() -> None:
    """Write the page."""
    parts = [INTRODUCTION + _block()]
    parts += [f"## `evalkit {name}`\n\n{_block(name)}" for name in COMMANDS]
    page = Path(__file__).with_name("cli.md")
    page.write_text("\n".join(parts), encoding="utf-8")


def _block(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "evalkit_cli", *arguments, "--help"],
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return f"```text\n{done.stdout.strip()}\n```\n"


if __name__ == "__main__":
    main()
