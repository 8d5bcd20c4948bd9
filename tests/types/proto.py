"""`.proto` files as protoc takes them, and the classes that it makes of them: what clients in other languages have."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_tools import protoc

from ael.types.proto import ProtoFile
from ael.types.proto_text import proto_text


def compiled(*texts: tuple[str, str]) -> descriptor_pool.DescriptorPool:
    """A pool with the files (name, text). Fails with protoc's words where it does not take them."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in texts:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        out = root / "out.bin"
        code = protoc.main(["protoc", f"-I{folder}", f"--descriptor_set_out={out}", *(name for name, _ in texts)])
        assert code == 0, texts
        found = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in found.file:
        pool.Add(file)  # type: ignore[no-untyped-call]
    return pool


def classes(file: ProtoFile) -> dict[str, Any]:
    """The class of each message of a file."""
    pool = compiled((file.name, proto_text(file)))
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.{name}")) for name in file.messages}
