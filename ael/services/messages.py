"""The messages of a served program as gRPC carries them: a file for each package of its services."""

from __future__ import annotations

from collections.abc import Iterable

from ael.run.placement import bare
from ael.services.contract import Contract, MethodContract
from ael.types.definition import Definitions
from ael.types.proto import ProtoFile, ProtoMethod
from ael.types.proto_build import Served, proto_file
from ael.types.proto_text import proto_text


def files(methods: Iterable[MethodContract], definitions: Definitions) -> tuple[ProtoFile, ...]:
    """The files, by package."""
    packages: dict[str, list[Served]] = {}
    for one in methods:
        package, _, service = one.service.rpartition(".")
        doc = "\n".join([*one.doc.splitlines(), *_fails(one)])
        served = Served(service, one.name, one.signature, bare(one.signature.result, definitions), doc, streams=True)
        packages.setdefault(package, []).append(served)
    return tuple(proto_file(package, packages[package], definitions) for package in sorted(packages))


def by_path(file: ProtoFile) -> dict[str, ProtoMethod]:
    """The methods of a file by their paths: `/desk.Orders/Get`. Without those that stream what happens in others."""
    return {
        f"/{file.package}.{service.name}/{method.name}": method
        for service in file.services
        for method in service.methods
        if not method.of
    }


def streamed(file: ProtoFile) -> dict[str, str]:
    """Path of a method -> path of the one that streams its events, where there is such."""
    names = [(f"/{file.package}.{service.name}/", method) for service in file.services for method in service.methods]
    return {f"{before}{method.of}": f"{before}{method.name}" for before, method in names if method.of}


def grpc_proto(contract: Contract) -> str:
    """The `.proto` of a program whose services are of one package. Raises `ValueError` where they are of several."""
    found = files(contract.methods, contract.definitions)
    if len(found) != 1:
        packages = ", ".join(file.package for file in found)
        raise ValueError(f"one file describes one package, and the services are of {packages}: name one with `--only`")
    return proto_text(found[0])


def _fails(method: MethodContract) -> list[str]:
    """A line that names the declared errors, which stand in the details of a status."""
    names = sorted(name.rpartition(".")[2] for name in method.signature.fails)
    return [f"Fails with {', '.join(names)}."] if names else []
