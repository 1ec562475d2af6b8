"""Ed25519 signatures in OpenSSH's format, which `ssh-keygen -Y verify` checks as well.

The format is PROTOCOL.sshsig of OpenSSH: what is signed is the magic text, a namespace that says
what the signature is for, and the SHA-512 of the message. Ed25519 is RFC 8032; the keys are those
of `ssh-keygen -t ed25519`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbdeid.errors import DataError, VerificationError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KIND = b"ssh-ed25519"
_MAGIC, _VERSION, _HASHES = b"SSHSIG", 1, ("sha256", "sha512")
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_PRIVATE, _OPENED = "-----BEGIN OPENSSH PRIVATE KEY-----", b"openssh-key-v1\0"
_WIDTH = 70
NEW_KEY = "make one with: dbdeid sign --new-key FILE, or ssh-keygen -t ed25519 -f FILE"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key.

    Attributes:
        raw: its 32 bytes.
    """

    raw: bytes

    @property
    def blob(self) -> bytes:
        """The key as OpenSSH packs it."""
        return _packed(KIND) + _packed(self.raw)

    @property
    def line(self) -> str:
        """The key as a `.pub` file has it."""
        return f"{KIND.decode()} {base64.b64encode(self.blob).decode()}"

    @property
    def fingerprint(self) -> str:
        """The SHA-256 by which people compare keys, as `ssh-keygen -l` shows it."""
        digest = base64.b64encode(hashlib.sha256(self.blob).digest())
        return "SHA256:" + digest.decode().rstrip("=")


def public_key(text: str, where: str) -> PublicKey:
    """The one key of a `.pub` file.

    Raises:
        DataError: it holds no key, another kind of key, or several.
    """
    if _PRIVATE in text:
        raise DataError(
            f"{where} is a private key, which is for its owner only",
            hint="give the public key: the file of that name with the ending .pub",
        )
    lines = [line.split() for line in text.splitlines()]
    keys = [words for words in lines if words and not words[0].startswith("#")]
    if len(keys) != 1 or len(keys[0]) < 2:
        raise DataError(
            f"{where} is not one public key", hint="give a file of one line: ssh-ed25519 AAAA…"
        )
    if keys[0][0] != KIND.decode():
        raise DataError(f"{where} holds another kind of key than ssh-ed25519", hint=NEW_KEY)
    try:
        return _of_blob(base64.b64decode(keys[0][1], validate=True))
    except (ValueError, binascii.Error):
        raise DataError(f"{where} is a damaged public key", hint="ask for it again") from None


def private_key(data: bytes, where: str, passphrase: Callable[[], str] | None) -> Ed25519PrivateKey:
    """A private key from what its file holds.

    Args:
        data: the bytes of the file.
        where: it is, for messages.
        passphrase: asks for it where the key is protected; None: nobody can be asked.

    Raises:
        DataError: it is no Ed25519 key of OpenSSH, or cannot be opened.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    given = None
    if _protected(data, where):
        if passphrase is None:
            raise DataError(
                f"{where} is protected by a passphrase, and there is no terminal to ask for it",
                hint="sign at a terminal, or with ssh-keygen -Y sign and your agent",
            )
        given = passphrase().encode()
    try:
        found = load_ssh_private_key(data, given)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        what = "cannot be read" if given is None else "is not opened by this passphrase"
        raise DataError(f"the private key {where} {what}", hint="try again") from None
    if not isinstance(found, Ed25519PrivateKey):
        raise DataError(f"{where} is another kind of key than ssh-ed25519", hint=NEW_KEY)
    return found


def new_key() -> tuple[bytes, PublicKey]:
    """A new key pair, the private one as the file of OpenSSH, without a passphrase."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    made = Ed25519PrivateKey.generate()
    kept = made.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
    return kept, public_of(made)


def public_of(key: Ed25519PrivateKey) -> PublicKey:
    """The public half of a private key."""
    return PublicKey(key.public_key().public_bytes_raw())


def sign(message: bytes, key: Ed25519PrivateKey, namespace: str) -> str:
    """The signature of a message, as the file that OpenSSH writes."""
    public, hashed = public_of(key), _HASHES[1]
    signature = key.sign(_signed(message, namespace, hashed))
    packed = b"".join(
        (
            *(_MAGIC, _VERSION.to_bytes(4, "big"), _packed(public.blob)),
            *(_packed(namespace.encode()), _packed(b""), _packed(hashed.encode())),
            _packed(_packed(KIND) + _packed(signature)),
        )
    )
    text = base64.b64encode(packed).decode()
    lines = [text[i : i + _WIDTH] for i in range(0, len(text), _WIDTH)]
    return "\n".join([_BEGIN, *lines, _END]) + "\n"


def is_signature(text: str) -> bool:
    """Whether a text is a signature of OpenSSH, whoever made it of whatever."""
    try:
        _unpacked(text)
    except (ValueError, binascii.Error):
        return False
    return True


def require_signed(message: bytes, signature: str, key: PublicKey, namespace: str) -> None:
    """Refuse a message that the owner of a key has not signed for a purpose.

    Raises:
        VerificationError: it is no signature, one of another key or purpose, or one of another
            message.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        signer, purpose, hashed, made = _unpacked(signature)
    except (ValueError, binascii.Error):
        raise VerificationError(
            "the signature is damaged, or no SSH signature of an Ed25519 key",
            hint="ask for the manifest and its signature again",
        ) from None
    if signer != key:
        raise VerificationError(
            f"another key has signed: {signer.fingerprint}, not {key.fingerprint}",
            hint="ask the owner, by another way than the files came, which key is theirs",
        )
    if purpose != namespace:
        raise VerificationError(
            f"the key has signed something for another purpose than {namespace}",
            hint="the owner signs with: dbdeid sign MANIFEST --key FILE",
        )
    try:
        Ed25519PublicKey.from_public_bytes(key.raw).verify(
            made, _signed(message, namespace, hashed)
        )
    except InvalidSignature:
        raise VerificationError(
            "the manifest is not the one that was signed: it was changed since, or the signature "
            "belongs to another manifest",
            hint="trust nothing in it; ask its owner for manifest and signature again",
        ) from None


# -- OpenSSH's way to pack ----------------------------------------------------------------------


def _packed(part: bytes) -> bytes:
    return len(part).to_bytes(4, "big") + part


def _signed(message: bytes, namespace: str, hashed: str) -> bytes:
    """What is signed in place of a message."""
    digest = hashlib.new(hashed, message).digest()
    parts = (namespace.encode(), b"", hashed.encode(), digest)
    return _MAGIC + b"".join(map(_packed, parts))


def _unpacked(text: str) -> tuple[PublicKey, str, str, bytes]:
    """Key, namespace, hash and signature of a signature file.

    Raises:
        ValueError: it is none, or has other parts.
    """
    begin, *lines, end = text.removesuffix("\n").replace("\r\n", "\n").split("\n")
    if (begin, end) != (_BEGIN, _END) or len({*map(len, lines[:-1])}) > 1:
        raise ValueError
    rest = base64.b64decode("".join(lines), validate=True)
    head = _MAGIC + _VERSION.to_bytes(4, "big")
    if not rest.startswith(head):
        raise ValueError
    key, namespace, reserved, hashed, signed = _parts(rest.removeprefix(head), 5)
    kind, made = _parts(signed, 2)
    if kind != KIND or reserved or hashed.decode() not in _HASHES or len(made) != 64:
        raise ValueError
    return _of_blob(key), namespace.decode(), hashed.decode(), made


def _of_blob(blob: bytes) -> PublicKey:
    kind, raw = _parts(blob, 2)
    if kind != KIND or len(raw) != 32:
        raise ValueError
    return PublicKey(raw)


def _parts(packed: bytes, number: int) -> list[bytes]:
    """So many parts, and nothing after them.

    Raises:
        ValueError: there are fewer or more.
    """
    found = []
    for _ in range(number):
        size = int.from_bytes(packed[:4], "big")
        if len(packed) < 4 + size:
            raise ValueError
        found.append(packed[4 : 4 + size])
        packed = packed[4 + size :]
    if packed:
        raise ValueError
    return found


def _protected(data: bytes, where: str) -> bool:
    """Whether a private key asks for a passphrase.

    Raises:
        DataError: it is no private key of OpenSSH.
    """
    try:
        text = data.decode("ascii")
        if not text.lstrip().startswith(_PRIVATE):
            raise ValueError
        inner = base64.b64decode("".join(text.split("-----")[2].split()), validate=True)
        if not inner.startswith(_OPENED):
            raise ValueError
    except (ValueError, IndexError):
        raise DataError(f"{where} is no private key of OpenSSH", hint=NEW_KEY) from None
    inner = inner.removeprefix(_OPENED)
    return inner[4 : 4 + int.from_bytes(inner[:4], "big")] != b"none"
