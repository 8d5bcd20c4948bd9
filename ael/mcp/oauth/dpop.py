"""Tokens bound to a key of this process (RFC 9449): a stolen token is of no use without it. Loaded only on use, like `signing`."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from base64 import urlsafe_b64encode

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from ael.mcp.oauth.place import Place

ALGORITHM = "ES256"
_NONCE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,256}")


class KeyBound:
    """A key pair that lives as long as this object, and the nonces that servers gave, by origin."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._public = json.loads(ECAlgorithm.to_jwk(self._key.public_key()))
        self._nonces: dict[str, str] = {}
        parts = json.dumps({name: self._public[name] for name in ("crv", "kty", "x", "y")}, separators=(",", ":"))
        self.thumbprint = _base64(hashlib.sha256(parts.encode()).digest())

    def __repr__(self) -> str:
        return "KeyBound()"

    def token_request(self, where: Place) -> dict[str, str]:
        """The proof for a token endpoint."""
        return {"dpop": self._proof("POST", where, {})}

    def server_request(self, where: Place, method: str, token: str) -> dict[str, str]:
        """The proof for a request to the server, tied to the token that goes with it."""
        digest = hashlib.sha256(token.encode("ascii")).digest()
        return {"dpop": self._proof(method, where, {"ath": _base64(digest)})}

    def told(self, where: Place, nonce: str) -> bool:
        """Keep the nonce of an answer for the next proof. True for a new one."""
        if not _NONCE.fullmatch(nonce) or self._nonces.get(where.origin) == nonce:
            return False
        self._nonces[where.origin] = nonce
        return True

    def _proof(self, method: str, where: Place, more: dict[str, str]) -> str:
        nonce = self._nonces.get(where.origin)
        claims = {
            "jti": secrets.token_urlsafe(16),
            "htm": method,
            "htu": where.url.partition("?")[0],
            "iat": int(time.time()),
            **more,
            **({} if nonce is None else {"nonce": nonce}),
        }
        return jwt.encode(claims, self._key, ALGORITHM, {"typ": "dpop+jwt", "jwk": self._public})


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
