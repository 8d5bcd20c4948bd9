"""Secrets in the keyring of the operating system. Loaded only for a deployment that names one: it needs the extra `keyring`."""

from __future__ import annotations

import keyring
from keyring.errors import KeyringError


class KeychainError(Exception):
    """The keyring cannot be asked; the sentence is the library's own, and holds no secret."""


def read(service: str, name: str) -> str | None:
    """What the keyring keeps for `name` of `service`; None when it keeps nothing. Raises `KeychainError`."""
    try:
        return keyring.get_password(service, name)
    except KeyringError as error:
        raise KeychainError(str(error) or type(error).__name__) from None
