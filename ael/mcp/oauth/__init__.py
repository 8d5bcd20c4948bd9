"""Credentials for MCP servers over the network: each function gives an `Authorizer` for one server and one tenant.

Where a function takes `tokens`, several authorizers can share what they got: each finds only what belongs to the same server, tenant
and version of its credential. All raise `McpError` (`Denied`) for a server's URL that no token must be sent to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ael.mcp.oauth.authorizer import KeyProof, OAuthAuthorizer, ServerFacts
from ael.mcp.oauth.client import Credential, Sign, SigningKey
from ael.mcp.oauth.code import LOGIN_SECONDS, AuthorizationCode
from ael.mcp.oauth.grant import ClientCredentials, EnterpriseManaged, WorkloadIdentity
from ael.mcp.oauth.place import denied
from ael.mcp.oauth.redirect import OpenUrl
from ael.mcp.oauth.static import BearerAuthorizer
from ael.mcp.oauth.token import Tokens

__all__ = [
    "Credential",
    "OAuthAuthorizer",
    "ServerFacts",
    "SigningKey",
    "Tokens",
    "authorization_code",
    "bearer",
    "client_credentials",
    "enterprise_managed",
    "workload_identity",
]


def bearer(token: Credential) -> BearerAuthorizer:
    """A static token."""
    return BearerAuthorizer(token)


def client_credentials(
    facts: ServerFacts, id: str, *, secret: Credential | None = None, key: SigningKey | None = None
) -> OAuthAuthorizer:
    """The program's own account: with a `secret`, or a private `key` (needs the extra `oauth`). One of the two has to be given.

    Where `facts` name no issuer, the credential is bound to the authorization server that the MCP server names first.
    """
    if (secret is None) == (key is None):
        raise ValueError("client credentials are either a secret or a key")
    return OAuthAuthorizer(facts, ClientCredentials(id, secret, key, None if key is None else _sign()))


def authorization_code(
    facts: ServerFacts,
    open_url: OpenUrl,
    *,
    id: str | None = None,
    secret: Credential | None = None,
    document: str | None = None,
    name: str = "AEL",
    seconds: float = LOGIN_SECONDS,
    bound: bool = False,
) -> OAuthAuthorizer:
    """A user's account: `open_url` shows the page where the user says yes, within `seconds`. See `AuthorizationCode`.

    `bound`: tokens are bound to a key of this process (DPoP; needs the extra `oauth`, and a server that takes them).
    """
    return OAuthAuthorizer(
        facts, AuthorizationCode(open_url, id, secret, document, name, seconds), _key_bound() if bound else None
    )


def workload_identity(facts: ServerFacts, id: str, assertion: Credential) -> OAuthAuthorizer:
    """The account of a workload that the platform vouches for with a signed token."""
    return OAuthAuthorizer(facts, WorkloadIdentity(id, assertion))


def enterprise_managed(
    facts: ServerFacts,
    id: str,
    secret: Credential,
    *,
    provider: str,
    provider_id: str,
    identity: Credential,
    provider_secret: Credential | None = None,
) -> OAuthAuthorizer:
    """A user's account, by the word of the organisation's identity provider. See `EnterpriseManaged`."""
    return OAuthAuthorizer(facts, EnterpriseManaged(id, secret, provider, provider_id, identity, provider_secret))


def _sign() -> Sign:
    # Loaded on use: PyJWT and cryptography are an extra, and take longer to import than all the rest.
    with _extra():
        from ael.mcp.oauth.signing import client_assertion
    return client_assertion


def _key_bound() -> KeyProof:
    # Loaded on use, for the same reason.
    with _extra():
        from ael.mcp.oauth.dpop import KeyBound
    return KeyBound()


@contextmanager
def _extra() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as missing:
        raise denied(f"signing with a private key needs the extra `oauth` (`{missing.name}` is not installed)") from None
