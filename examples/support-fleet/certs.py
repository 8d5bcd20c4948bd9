"""A throw-away authority and a certificate of `localhost` for the orders service, in `certs`. Real ones come from your own authority.

`cryptography` comes with `pip install 'ael-lang[serve]'`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def make(folder: Path) -> None:
    """Write `ca.pem`, `orders.pem` and `orders.key`, which are good for a day."""
    folder.mkdir(exist_ok=True)
    authority, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    above = _builder("the fleet's authority", "the fleet's authority", authority)
    usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    above = above.add_extension(x509.BasicConstraints(True, None), critical=True).add_extension(usage, critical=True)
    below = _builder("orders", "the fleet's authority", own)
    below = below.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    below = below.add_extension(signer, critical=False)
    for name, made in (("ca", above), ("orders", below)):
        signed = made.sign(authority, hashes.SHA256())
        (folder / f"{name}.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key = folder / "orders.key"
    key.touch(mode=0o600)
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    key.write_bytes(own.private_bytes(serialization.Encoding.PEM, *form))


def _builder(subject: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(_name(subject)).issuer_name(_name(issuer)).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1))
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


if __name__ == "__main__":
    make(Path(__file__).parent / "certs")
