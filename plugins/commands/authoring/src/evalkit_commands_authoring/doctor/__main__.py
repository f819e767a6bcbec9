"""`python -m evalkit_commands_authoring.doctor`, for where evalkit cannot start."""

from __future__ import annotations

import sys

from evalkit_commands_authoring.doctor import examination


def _main() -> int:
    arguments = sys.argv[1:]
    found = examination.examine(
        examination.Environment(), imports="--no-imports" not in arguments
    )
    for line in examination.report(found, verbose="-v" in arguments):
        shown = (each if each.isprintable() else ascii(each)[1:-1] for each in line)
        text = "".join(shown).encode("ascii", "backslashreplace")
        sys.stdout.write(text.decode() + "\n")
    return int(examination.counts(found)["error"] > 0)


if __name__ == "__main__":
    sys.exit(_main())
