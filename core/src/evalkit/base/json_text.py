"""JSON as it was before any plugin was imported.

A plugin may replace `json.dumps`, for all. Ids and run folders are made with this one.
"""

from __future__ import annotations

from json import dumps as dumps
