"""Services, nodes and edges as a deployment places them. Imported only by a program that calls one elsewhere."""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from ael.hosting.failure import HostError
from ael.hosting.secrets import Secrets
from ael.models.registry import PROVIDERS
from ael.net.address import Endpoint, parse_endpoint, rules
from ael.net.failure import NetError
from ael.net.tls import unusable
from ael.project.environment import environment_of
from ael.project.placements import PlacementBinding
from ael.project.program import Opened
from ael.project.queues import QueueBinding
from ael.run.breaker import Thresholds
from ael.run.carrier import ConnectedService
from ael.run.placement import Placement
from ael.run.ports import Clock
from ael.services import names
from ael.services.elsewhere import Policy
from ael.services.remote import Fixed, Places, Remote
from ael.services.workers import Fleet, Peers, Pool
from ael.types.value import Secret


def bind_placements(
    opened: Opened, wanted: frozenset[str], secrets: Secrets, clock: Clock, peers: Mapping[str, list[str]], token: Secret | None
) -> dict[str, Placement]:
    """Those of the deployment's placements that are `wanted` (services, nodes, edges). Raises `HostError`; nothing is started yet.

    `peers`: placement -> sockets of the processes that another process of this program keeps up, and the `token` that lets in there.
    """
    deployment = opened.deployment
    found: dict[str, Placement] = {}
    started = {name: one for name, one in deployment.placements.items() if one.kind == "process" and name not in peers}
    fleet = _fleet(opened, started) if started.keys() & wanted else None
    for name, binding in deployment.placements.items():
        if name not in wanted:
            continue
        policy = Policy(binding.connect / 1000, binding.concurrent, Thresholds(binding.failures, binding.cooldown / 1000))
        if binding.kind == "connector" and binding.provider is not None:
            found[name] = ConnectedService(binding.provider, _wire(opened, name, binding), binding.url, binding.settings)
            continue
        if isinstance(binding, QueueBinding):
            found[name] = _queue(opened, name, binding, policy, secrets, clock)
            continue
        if binding.kind != "process":
            given = None if binding.token is None else secrets.get(binding.token)
            found[name] = (_https if binding.kind == "https" else _grpc)(opened, name, binding, policy, given, clock)
            continue
        places: Places
        own: Secret | None
        if fleet is not None and name in started:
            places, own = fleet.places(name), fleet.token
        else:
            places, own = Peers(peers[name], policy.connect), token
        found[name] = Remote(_wire(opened, name, binding), places, policy, token=own, clock=clock, protocol="process")
    return found


def _queue(opened: Opened, name: str, binding: QueueBinding, policy: Policy, secrets: Secrets, clock: Clock) -> Placement:
    # Loaded here: without a queue there is no code for it in the program.
    bind = import_module("ael.hosting.queues").bind_queue
    return cast(
        Placement, bind(opened, name, binding, policy, secrets, tls_of(name, binding, Path(opened.deployment.folder)), clock)
    )


def _https(opened: Opened, name: str, binding: PlacementBinding, policy: Policy, token: Secret | None, clock: Clock) -> Placement:
    deployment = opened.deployment
    return Remote(
        _wire(opened, name, binding),
        Fixed(_endpoint(opened, name, binding)),
        policy,
        token=token,
        allowed=rules(deployment.hosts),
        tls=tls_of(name, binding, Path(deployment.folder)),
        clock=clock,
        protocol="https",
    )


def _grpc(opened: Opened, name: str, binding: PlacementBinding, policy: Policy, token: Secret | None, clock: Clock) -> Placement:
    if find_spec("grpc") is None:
        raise HostError("AEL0852", "gRPC needs packages that are not installed: grpcio", "pip install 'ael-lang[grpc]'")
    # Loaded here: without a service over gRPC there is no code for it in the program.
    bind = import_module("ael.hosting.rpc").bind_rpc
    deployment = opened.deployment
    # Looked at as those of `https` are, so that a wrong file is told alike.
    tls_of(name, binding, Path(deployment.folder))
    endpoint = _endpoint(opened, name, binding)
    return cast(Placement, bind(opened, name, binding, _wire(opened, name, binding), endpoint, policy, token, clock))


def _endpoint(opened: Opened, name: str, binding: PlacementBinding) -> Endpoint:
    try:
        return parse_endpoint(binding.url, rules(opened.deployment.hosts))
    except NetError as error:
        raise HostError("AEL0850", f"the address of `{name}` cannot be used: {error.message}") from None


def tls_of(name: str, binding: PlacementBinding, folder: Path) -> ssl.SSLContext | None:
    """How TLS is spoken where the deployment says more than that it is. Raises `HostError`."""
    if binding.authority is None and binding.certificate is None:
        return None
    files = [folder / file for file in (binding.authority, binding.certificate, binding.key) if file is not None]
    try:
        context = ssl.create_default_context(cafile=None if binding.authority is None else str(folder / binding.authority))
        if binding.certificate is not None and binding.key is not None:
            context.load_cert_chain(folder / binding.certificate, folder / binding.key)
    except (OSError, ssl.SSLError) as error:
        reason = unusable(error, files)
        raise HostError("AEL0878", f"a certificate of the service `{name}` cannot be used: {reason}") from None
    return context


def _wire(opened: Opened, name: str, binding: PlacementBinding) -> str:
    """The whole name by which a service, or the service of the nodes, goes there."""
    if binding.name is not None:
        return binding.name
    pack = opened.project.pack.name if opened.project.pack is not None else opened.program.main
    return names.service(pack, name) if name in opened.program.services else names.nodes(pack)


def _fleet(opened: Opened, started: Mapping[str, PlacementBinding]) -> Fleet:
    if sys.platform == "win32":
        raise HostError("AEL0852", "processes need sockets of a kind that Windows does not have", "run the service over `https`")
    if find_spec("uvicorn") is None:
        raise HostError("AEL0852", "processes need packages that are not installed: uvicorn", "pip install 'ael-lang[serve]'")
    deployment = opened.deployment
    pools = {name: Pool(name, one.workers, one.connect / 1000) for name, one in started.items()}
    told = {
        "path": str(_main(opened).resolve()),
        "deploy": None if deployment.name == "default" else deployment.name,
    }
    return Fleet(pools, told, environment_of(_variables(opened)))


def _main(opened: Opened) -> Path:
    """The file of the program's main module."""
    path = opened.project.modules[opened.project.main].source.path
    assert path is not None
    return path


def _variables(opened: Opened) -> dict[str, str]:
    """The variables of secrets that the program itself may use, and of its models' providers: nothing else goes to a child (K41)."""
    deployment = opened.deployment
    outside = {caller.secret for caller in deployment.serving.callers.values()}
    wanted = {source.name for name, source in deployment.secrets.items() if source.kind == "env" and name not in outside}
    providers = {spec.provider for spec in opened.program.models.values()} | {one.provider for one in deployment.models.values()}
    wanted |= {info.key_variable for name, info in PROVIDERS.items() if name in providers and info.key_variable is not None}
    return {name: os.environ[name] for name in sorted(wanted) if name in os.environ}
