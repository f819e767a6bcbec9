"""Secrets of the environment, or of the key ring of this machine."""

from __future__ import annotations

import os

from evalkit.errors import EvalkitError

KEY_RING = "evalkit"
"""The service under which secrets are in a key ring."""


def read_secret(name: str) -> str:
    """Return a secret: of the environment, else of the key ring, where one is used.

    Args:
        name: Name of the variable; in the key ring, of the user of `evalkit`.

    Returns:
        The secret; an empty text where there is none.

    Raises:
        EvalkitError: The key ring cannot be read.
    """
    value = os.environ.get(name, "").strip()
    if value:
        return value
    try:
        import keyring
        from keyring.errors import KeyringError, NoKeyringError
    except ImportError:
        return ""
    try:
        return (keyring.get_password(KEY_RING, name) or "").strip()
    except NoKeyringError:
        return ""
    except KeyringError as error:
        raise EvalkitError(
            f"the key ring cannot be read for {name}: {error}"
        ) from error
