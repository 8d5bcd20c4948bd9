"""What is signed with a private key. Loaded only when a deployment uses one: it needs the extra `oauth` (PyJWT with cryptography)."""

from __future__ import annotations

import secrets
import time

import jwt

from ael.mcp.oauth.client import SigningKey, current
from ael.mcp.oauth.discovery import AuthorizationServer
from ael.mcp.oauth.place import denied

ASSERTION_SECONDS = 60
ALGORITHMS = frozenset({"ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA"})
"""Signatures of a private key; never a shared secret, never `none`."""


def client_assertion(key: SigningKey, client: str, server: AuthorizationServer) -> str:
    """The assertion of `private_key_jwt` (RFC 7523, section 3). Raises `McpError` (`Denied`) when the key cannot sign it.

    Its audience is the issuer alone: an assertion for a token endpoint's URL could be played to another server that names the same.
    """
    if key.algorithm not in ALGORITHMS:
        raise denied(f"`{key.algorithm}` is no algorithm for a client's key")
    if server.algorithms is not None and key.algorithm not in server.algorithms:
        raise denied(f"{server.token.origin} takes no assertions signed with {key.algorithm}")
    now = int(time.time())
    claims = {
        "iss": client,
        "sub": client,
        "aud": server.issuer,
        "iat": now,
        "exp": now + ASSERTION_SECONDS,
        "jti": secrets.token_urlsafe(16),
    }
    try:
        return jwt.encode(claims, current(key.key).reveal(), key.algorithm, {"kid": key.id} if key.id is not None else None)
    except (ValueError, TypeError, jwt.PyJWTError):
        # The library's message may quote the key.
        raise denied(f"the client's private key is no PEM key for {key.algorithm}") from None
