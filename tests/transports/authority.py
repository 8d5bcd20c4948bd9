"""An authority of the tests, and certificates that it signs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Its own certificate is `NAME.pem` in the folder; those that it signs are beside it, with their keys."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        made = self._builder(self._name, self._key).add_extension(x509.BasicConstraints(True, None), critical=True)
        made = made.add_extension(usage, critical=True)
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def sign(self, name: str) -> tuple[Path, Path]:
        """A certificate for this machine, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), key)
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        own = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(own, critical=False)
        certificate, secret = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        certificate.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
        return certificate, secret

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1))
        builder = builder.not_valid_after(now + timedelta(days=30))
        return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
