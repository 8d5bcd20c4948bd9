"""From a binding to an endpoint."""

from __future__ import annotations

from pathlib import Path

from ael.mcp.endpoint import Endpoint, HttpEndpoint, StdioEndpoint
from ael.project.deployment import Deployment, McpBinding


def remote_endpoint(binding: McpBinding, deployment: Deployment) -> Endpoint:
    """Where a server is."""
    if binding.kind == "stdio":
        environment = {name: value for name, value in binding.environment.items() if isinstance(value, str)}
        return StdioEndpoint(binding.command, binding.arguments, environment, Path(deployment.folder, binding.folder or "."))
    return HttpEndpoint(binding.url, binding.kind, hosts=deployment.hosts)
