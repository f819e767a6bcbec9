"""Violations of the laws of adapters."""

from __future__ import annotations

from benchmarks.violations.entry import Violation, change

ADAPTER = "hookspecs.AdapterSpec"

VIOLATIONS = (
    Violation(
        "adapters-01",
        "adapters/flatten-hierarchy",
        "a row must not be changed",
        ADAPTER,
        (
            change(
                "flatten.py",
                "in self._leaves(name, row[name]):",
                "in self._leaves(name, row.pop(name)):",
            ),
        ),
    ),
    Violation(
        "adapters-02",
        "adapters/number-rows",
        "`adapt_frame` gives the rows that `adapt_row` gives",
        f"{ADAPTER}.adapt_frame",
        (
            change(
                "fields.py",
                "(numbers + self.shift).alias(self.field)",
                "(numbers + self.shift + 1).alias(self.field)",
            ),
        ),
    ),
    Violation(
        "adapters-03",
        "adapters/drop",
        "`adapt_frame` gives the rows that `adapt_row` gives: no row is lost",
        ADAPTER,
        (
            change(
                "fields.py",
                "        yield {name: value for name, value in items "
                "if name not in self.names}\n",
                "        kept = {n: value for n, value in items "
                "if n not in self.names}\n"
                "        if all(kept.values()):\n            yield kept\n",
            ),
        ),
    ),
    Violation(
        "adapters-04",
        "adapters/number-rows",
        "nothing is kept from one row to the next",
        ADAPTER,
        (
            change(
                "fields.py",
                "        yield {**row, self.field: number + self.shift}\n",
                "        self.shift += 1\n"
                "        yield {**row, self.field: self.shift}\n",
            ),
        ),
    ),
    Violation(
        "adapters-05",
        "adapters/strip",
        "what becomes of a text must not depend on the others",
        f"{ADAPTER}.extract_texts",
        (
            change(
                "strip.py",
                'if texts.str.contains("```", literal=True).any():',
                'if texts.str.contains("```", literal=True).all():',
            ),
        ),
    ),
    Violation(
        "adapters-06",
        "adapters/final-number",
        "`extract_texts` gives a row for each text",
        f"{ADAPTER}.extract_texts",
        (
            change(
                "settings.py",
                "    if len(distinct) == len(texts):\n        return found\n",
                "    return found\n",
            ),
        ),
    ),
    Violation(
        "adapters-07",
        "adapters/boxed",
        "a reason quotes nothing",
        f"{ADAPTER}.extract_text",
        (
            change(
                "boxed.py",
                'Found(None, "the last box is not closed")',
                'Found(None, f"the last box is not closed: {text}")',
            ),
            change(
                "boxed.py",
                "Found(None, _NO_BOX)",
                'Found(None, f"there is no box in {text!r}")',
            ),
        ),
    ),
    Violation(
        "adapters-08",
        "adapters/select",
        "a row that cannot be used is an `AdapterError`; anything else is a failure",
        ADAPTER,
        (
            change(
                "fields.py",
                "        row = object_row(row)\n"
                "        for name in self.names:\n"
                "            if name not in row:\n"
                "                raise missing(name, row)\n"
                "        yield {name: row[name] for name in self.names}\n",
                "        yield {name: row[name] for name in self.names}\n",
            ),
        ),
    ),
)
