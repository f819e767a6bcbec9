"""Secrets of the environment, or of the key ring of this machine."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from evalkit_models_openai.unusable import Unusable

KEY_RING = "evalkit"
"""The service under which secrets are in a key ring."""


class Secret(NamedTuple):
    """A secret, and where it is from.

    Attributes:
        value: The secret; an empty text where there is none.
        origin: Where it stands, or is to be put, for messages.
    """

    value: str
    origin: str


def is_variable(name: str) -> bool:
    """Tell whether a text may be the name of a variable of the environment."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None


def quotable(name: str) -> str:
    """Return the name of a variable, unless it looks as if it were a key itself."""
    is_usual = re.fullmatch(r"_?[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|[A-Z_]{1,16}", name)
    is_words = re.fullmatch(r"[a-z]{1,12}(_[a-z]{1,12})*", name)
    if is_usual or (is_words and not name.startswith("sk_")):
        return name
    return "that api_key_variable names (not shown, as it may be a key itself)"


def read_secret(name: str) -> Secret:
    """Return a secret: of the environment, else of the key ring, where one is used."""
    origin = f"the environment variable {quotable(name)}"
    value = os.environ.get(name, "").strip()
    if value:
        return Secret(value, origin)
    try:
        import keyring
        from keyring.errors import KeyringError, NoKeyringError
    except ImportError:
        return Secret("", origin)
    try:
        value = (keyring.get_password(KEY_RING, name) or "").strip()
    except NoKeyringError:
        return Secret("", origin)
    except KeyringError as error:
        raise Unusable(
            f"{_ring()} cannot be read for {quotable(name)} (service {KEY_RING}): "
            f"{error}; unlock it, or put the key into {origin}",
            is_fatal=True,
        ) from error
    of_ring = f"{_ring()} ({KEY_RING}, {quotable(name)})"
    return Secret(value, of_ring if value else origin)


def _ring() -> str:
    """Name the key ring that is used."""
    import keyring

    return f"the key ring {keyring.get_keyring().name!r}"
