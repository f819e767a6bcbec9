"""Secrets of the environment, or of the key ring of this machine."""

from __future__ import annotations

import os
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


def read_secret(name: str) -> Secret:
    """Return a secret: of the environment, else of the key ring, where one is used.

    Args:
        name: Name of the variable; in the key ring, of the user of `evalkit`.

    Raises:
        Unusable: The key ring cannot be read, as where it is locked.
    """
    origin = f"the environment variable {name}"
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
            f"{_ring()} cannot be read for {name} (service {KEY_RING}): {error}; "
            f"unlock it, or put the key into {origin}",
            is_fatal=True,
        ) from error
    return Secret(value, f"{_ring()} ({KEY_RING}, {name})" if value else origin)


def _ring() -> str:
    """Name the key ring that is used."""
    import keyring

    return f"the key ring {keyring.get_keyring().name!r}"
