"""Packages that somebody else would publish; nothing installs them.

Their own tests are run by `tests/test_outside_packages.py`, where they are found.
"""

collect_ignore_glob = ["*/tests/*"]
