"""From a binding to an endpoint, as a run makes it."""

from __future__ import annotations

from ael.hosting.secrets import Secrets
from ael.hosting.servers import endpoint_of
from ael.mcp.endpoint import Endpoint
from ael.project.deployment import Deployment, McpBinding


def remote_endpoint(binding: McpBinding, deployment: Deployment) -> Endpoint:
    """Where a server is, its secrets read. Raises `HostError`."""
    return endpoint_of(binding, deployment, Secrets(deployment))
