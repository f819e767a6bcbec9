"""The kind `suites`: trees of datasets that make one number."""

from __future__ import annotations

from evalkit.catalog import Kind


class SuiteSpec:
    """A suite; `docs/suites.md` has the keys of its file."""


SUITES = Kind("suites", SuiteSpec)
