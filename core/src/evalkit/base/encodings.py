"""What a file probably is that is not UTF-8, and how to make it so."""

from __future__ import annotations

NOT_UTF8 = "must be UTF-8"
"""Start of the rule that a line breaks which is not."""

HOW_TO_CONVERT = (
    "it was probably written as Windows-1252 or Latin-1, as by Excel; convert it: "
    "iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW, or in Python "
    "Path(NEW).write_text(Path(FILE).read_text('cp1252'), 'utf-8')"
)

UTF16 = (
    "it was probably written as UTF-16, as by Excel (Unicode text); convert it: "
    "iconv -f UTF-16 -t UTF-8 FILE > NEW"
)
