"""The proof that a client knows a password: SCRAM-SHA-256, the side of the server.

Source: RFC 5802 and RFC 7677. The clients of PostgreSQL leave the name of the user empty, which
libraries of Python take for a mistake.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from dataclasses import dataclass

MECHANISM = "SCRAM-SHA-256"
_ITERATIONS = 4096


class WrongPassword(Exception):
    """A client has not proved that it knows the password."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """What a server knows of a password.

    Attributes:
        salt: of the key.
        stored: the hash of the client's key.
        server: the server's key.
    """

    salt: bytes
    stored: bytes
    server: bytes

    @classmethod
    def of(cls, password: str) -> Verifier:
        """That of a password."""
        salt = secrets.token_bytes(16)
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS)
        stored = hashlib.sha256(_mac(salted, b"Client Key")).digest()
        return cls(salt, stored, _mac(salted, b"Server Key"))


class Exchange:
    """One exchange of proofs.

    Args:
        verifier: of the password.
    """

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._nonce = self._first = self._answer = ""

    def challenge(self, first: str) -> str:
        """The server's answer to a client's first message.

        Raises:
            WrongPassword: that is no first message.
        """
        binding, _, bare = first.partition(",,")
        found = _attributes(bare)
        if binding not in ("n", "y") or not found.get("r"):
            raise WrongPassword
        self._first, self._binding = bare, f"{binding},,"
        self._nonce = found["r"] + secrets.token_urlsafe(18)
        salt = base64.b64encode(self._verifier.salt).decode()
        self._answer = f"r={self._nonce},s={salt},i={_ITERATIONS}"
        return self._answer

    def proof(self, final: str) -> str:
        """The server's answer to a client's proof: that it knows the password, too.

        Raises:
            WrongPassword: it proves nothing.
        """
        without, _, given = final.rpartition(",p=")
        found = _attributes(without)
        bound = base64.b64encode(self._binding.encode()).decode()
        if found.get("r") != self._nonce or found.get("c") != bound:
            raise WrongPassword
        try:
            proved = base64.b64decode(given, validate=True)
        except (binascii.Error, ValueError):
            raise WrongPassword from None
        said = ",".join((self._first, self._answer, without)).encode()
        signature = _mac(self._verifier.stored, said)
        if len(proved) != len(signature):
            raise WrongPassword
        key = bytes(a ^ b for a, b in zip(proved, signature, strict=True))
        if not hmac.compare_digest(hashlib.sha256(key).digest(), self._verifier.stored):
            raise WrongPassword
        return f"v={base64.b64encode(_mac(self._verifier.server, said)).decode()}"


def _mac(key: bytes, said: bytes) -> bytes:
    return hmac.new(key, said, hashlib.sha256).digest()


def _attributes(said: str) -> dict[str, str]:
    return {part[:1]: part[2:] for part in said.split(",") if part[1:2] == "="}
