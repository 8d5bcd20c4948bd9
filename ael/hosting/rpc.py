"""Services, nodes and edges that a deployment places behind gRPC. Imported only by a program that calls one there."""

from __future__ import annotations

from pathlib import Path

import grpc

from ael.net.address import Endpoint, rules
from ael.project.placements import PlacementBinding
from ael.project.program import Opened
from ael.run.ports import Clock
from ael.services import names
from ael.services.contract import MethodContract
from ael.services.elsewhere import Policy
from ael.services.rpc import Messages, Rpc
from ael.types.value import Secret


def bind_rpc(
    opened: Opened,
    name: str,
    binding: PlacementBinding,
    wire: str,
    endpoint: Endpoint,
    policy: Policy,
    token: Secret | None,
    clock: Clock,
) -> Rpc:
    """The placement of one service, node or edge, which goes by the service `wire` there. Nothing is connected yet."""
    program, deployment = opened.program, opened.deployment
    service = program.services.get(name)
    signatures = (
        [program.nodes[binding.node or name].signature] if service is None else [one.signature for one in service.operations]
    )
    contracts = [MethodContract(f"/{wire}/{names.method(one.name.rpartition('.')[2])}", one) for one in signatures]
    return Rpc(
        wire,
        endpoint,
        Messages(contracts, program.definitions),
        policy,
        allowed=rules(deployment.hosts),
        token=token,
        credentials=_credentials(binding, Path(deployment.folder)) if endpoint.tls else None,
        clock=clock,
    )


def _credentials(binding: PlacementBinding, folder: Path) -> grpc.ChannelCredentials:
    """Whom it trusts, and what it shows of itself; the files have been looked at."""
    authority, key, certificate = (
        None if path is None else (folder / path).read_bytes() for path in (binding.authority, binding.key, binding.certificate)
    )
    return grpc.ssl_channel_credentials(authority, key, certificate)
