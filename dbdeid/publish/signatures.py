"""A signed manifest: its owner vouches for the digests in it, and so for the files.

The signature is one of OpenSSH, in a file of its own beside the manifest, so that
`ssh-keygen -Y verify` checks it without dbdeid. It is made with an Ed25519 key, which lies where
nothing leaves from, readable by its owner only.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dbdeid.data import sshsig
from dbdeid.data.json import JsonObject
from dbdeid.engine import regular
from dbdeid.engine.file_names import holds_table
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError, DbdeidError, VerificationError
from dbdeid.publish.manifests import Manifest, read, read_bytes
from dbdeid.verify import Verification, verify_given
from dbdeid.verify.base.file_kinds import kind
from dbdeid.workspace.release_files import PRIVATE
from dbdeid.workspace.report_files import write_page

NAMESPACE, ENDING = "dbdeid-manifest", ".sig"
PUBLIC = (b"ssh-", b"ecdsa-", b"sk-")  # how a line of a public key begins


@dataclass(frozen=True, slots=True)
class Signed:
    """A manifest that was signed.

    Attributes:
        manifest: its path.
        signature: that of its signature.
        fingerprint: of the key.
        files: of the release, which were held against the manifest before.
    """

    manifest: Path
    signature: Path
    fingerprint: str
    files: tuple[Path, ...]

    def to_dict(self) -> JsonObject:
        """As JSON shows it."""
        return {
            "manifest": str(self.manifest),
            "signature": str(self.signature),
            "key": self.fingerprint,
            "files": [str(path) for path in self.files],
        }


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new pair of keys: where they are, and the fingerprint."""

    private: Path
    public: Path
    fingerprint: str

    def to_dict(self) -> JsonObject:
        """As JSON shows it."""
        return {
            "private": str(self.private),
            "public": str(self.public),
            "key": self.fingerprint,
        }


@dataclass(frozen=True, slots=True)
class Received:
    """What was found of a file that came with a manifest.

    Attributes:
        verification: of the file and of what lies beside it.
        signed_by: the fingerprint of the key that signed the manifest; None: nobody asked.
        taken: the promises of the manifest that the files alone do not tell.
        people: whether the promises are of people, whom the files may not tell.
        bytes_compared: whether the manifest tells the SHA-256 of files, and not only of rows.
        quasi_identifiers: those that the models were measured over.
    """

    verification: Verification
    signed_by: str | None
    taken: tuple[str, ...]
    people: bool
    bytes_compared: bool
    quasi_identifiers: tuple[str, ...]

    def to_dict(self) -> JsonObject:
        """As JSON shows it."""
        return {
            **self.verification.to_dict(),
            "signed_by": self.signed_by,
            "not_recomputed": list(self.taken),
            "counted": "subjects" if self.people else "records",
            "bytes_compared": self.bytes_compared,
            "quasi_identifiers": list(self.quasi_identifiers),
        }


def make_key(path: Path) -> NewKey:
    """Write a new private key, readable by its owner only, and its public key beside it.

    Raises:
        DataError: a file of one of the names exists, or they cannot be written.
    """
    beside = path.with_name(f"{path.name}.pub")
    for one in (path, beside):
        if one.exists() or one.is_symlink():
            raise DataError(
                f"{one} exists, and keys are never overwritten", hint="choose another name"
            )
    private, public = sshsig.new_key()
    _write_new(path, private, 0o600)
    try:
        _write_new(beside, f"{public.line}\n".encode(), 0o644)
    except DataError:
        path.unlink()
        raise
    return NewKey(path, beside, public.fingerprint)


def sign(
    where: Path,
    key: Path,
    *,
    passphrase: Callable[[], str] | None = None,
    settings: Settings | None = None,
) -> Signed:
    """Sign a manifest, or that of a folder after its files were checked against it.

    Nothing else may lie in the folder, at any depth: whoever is given it takes all of it for
    signed.

    Args:
        where: a public manifest, or a folder that `export` filled.
        key: the file of a private Ed25519 key of OpenSSH.
        passphrase: asks for that of the key; None: nobody can be asked.
        settings: engine limits.

    Raises:
        DataError: there is no public manifest, the folder holds other files than it tells, the key
            cannot be used or lies where the manifest does, or the signature cannot be written.
        VerificationError: a file of the folder is not what the manifest says.
    """
    path = _manifest_in(where) if where.is_dir() else where
    text = read_bytes(path, "manifest")
    manifest = read(path, text)
    folder, of_key = path.resolve().parent, key.resolve()
    if of_key.parent == folder or (where.is_dir() and of_key.is_relative_to(folder)):
        raise DataError(
            f"the private key {key} lies beside the manifest, in a folder that others may be given",
            hint="keep it elsewhere, where nothing is given away from",
        )
    private = sshsig.private_key(_private_bytes(key), str(key), passphrase)
    signature = path.with_name(f"{path.name}{ENDING}")
    if signature.exists() and not sshsig.is_signature(_text(signature, "file")):
        raise DataError(
            f"{signature} is there already, and is no signature", hint="move it elsewhere first"
        )
    files: tuple[Path, ...] = ()
    if where.is_dir():
        _require_only(path, signature, manifest)
        files = tuple(path.with_name(name) for name in manifest.releases)
    for file in files:
        found = verify_given(file, manifest.declared, manifest.content, manifest.digests, settings)
        if not found.verified:
            raise VerificationError(
                f"{file.name} is not what {path.name} says, and nothing was signed: "
                + "; ".join(found.failures),
                hint="export the release again, to a new folder",
            )
    write_page(signature, sshsig.sign(text, private, NAMESPACE))
    return Signed(path, signature, sshsig.public_of(private).fingerprint, files)


def receive(
    file: Path, manifest: Path, signed_by: Path | None, settings: Settings | None = None
) -> Received:
    """Hold a file against a manifest, and the manifest against the key of its owner.

    Args:
        file: of a release.
        manifest: the public manifest; its signature lies beside it, with the ending `.sig`.
        signed_by: the public key of its owner; None: whose it is is not asked.
        settings: engine limits.

    Raises:
        DataError: a file cannot be read, or is no manifest or public key.
        VerificationError: there is no signature, or not one of this key for this manifest.
    """
    kind(file)
    text = read_bytes(manifest, "manifest")
    signer = None if signed_by is None else _require_signature(manifest, text, signed_by)
    return _received(file, read(manifest, text), signer, settings)


def receive_folder(
    folder: Path, signed_by: Path | None, settings: Settings | None = None
) -> tuple[Path, Mapping[Path, Received]]:
    """Hold a folder that `export` filled against its manifest: each file, and no other.

    Args:
        folder: with the manifest, and its signature where it is asked for.
        signed_by: the public key of its owner; None: whose it is is not asked.
        settings: engine limits.

    Returns:
        The manifest, and what was found of each file of the release.

    Raises:
        DataError: there is no public manifest, or not one that tells of files.
        VerificationError: there is no signature, or not one of this key; or a file is missing, is
            another one, or is not of this release.
    """
    path = _manifest_in(folder)
    text = read_bytes(path, "manifest")
    signer = None if signed_by is None else _require_signature(path, text, signed_by)
    manifest = read(path, text)
    if manifest.files is None:
        raise DataError(
            f"{path.name} tells no digests of files, so that {folder} cannot be held against it",
            hint=f"dbdeid verify FILE --manifest {path.name}, for each file by itself",
        )
    signature = path.with_name(f"{path.name}{ENDING}")
    try:
        _require_only(path, signature, manifest)
        if signature.exists() and not sshsig.is_signature(_text(signature, "signature")):
            raise DataError(f"{signature.name} is no signature", hint="take it out")
    except DbdeidError as error:
        hint = "do not rely on this folder; ask its owner for it again"
        raise VerificationError(error.message, hint=hint) from None
    files = (path.with_name(name) for name in manifest.releases)
    return path, {file: _received(file, manifest, signer, settings) for file in files}


def _received(
    file: Path, told: Manifest, signer: str | None, settings: Settings | None
) -> Received:
    found = verify_given(file, told.declared, told.content, told.digests, settings)
    left = Counter(told.promised) - Counter(promise.model for promise in found.promises)
    taken = tuple(name for name in dict.fromkeys(told.promised) if left[name])
    if not found.promises and any(c.check == "readable" for c in found.hygiene):
        taken = ()  # nothing was read, which is not for want of the original
    measured = told.declared.quasi_identifiers if found.promises else ()
    return Received(found, signer, taken, told.people, told.files is not None, measured)


def _require_signature(manifest: Path, text: bytes, signed_by: Path) -> str:
    key = sshsig.public_key(_text(signed_by, "public key"), str(signed_by))
    beside = manifest.with_name(f"{manifest.name}{ENDING}")
    if not beside.is_file():
        raise VerificationError(
            f"{manifest.name} is not signed: there is no {beside.name} beside it",
            hint="ask its owner for the signature; dbdeid sign writes it",
        )
    sshsig.require_signed(text, _text(beside, "signature"), key, NAMESPACE)
    return key.fingerprint


def _text(path: Path, what: str) -> str:
    return read_bytes(path, what).decode("utf-8", errors="replace")


def _private_bytes(path: Path) -> bytes:
    """A private key that nobody else can read.

    Raises:
        DataError: it cannot be read, is a public key, or others can read it too.
    """
    try:
        with open(path, "rb", opener=regular.only_regular) as file:
            mode, held = os.fstat(file.fileno()).st_mode, file.read()
            if held.startswith(PUBLIC):
                other = path.with_suffix("") if path.suffix == ".pub" else "the file without .pub"
                raise DataError(
                    f"{path} is a public key, and to sign takes the private one",
                    hint=f"give {other}; the public key goes to those who check the signature",
                )
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise DataError(
                    f"the private key {path} can be read by others (mode {mode & 0o777:04o})",
                    hint=f"chmod 600 {path}; if others may have read it, make a new key",
                )
            return held
    except OSError as error:
        raise DataError(
            f"the private key {path} cannot be read ({error.strerror})", hint=sshsig.NEW_KEY
        ) from None


def _write_new(path: Path, data: bytes, mode: int) -> None:
    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(opened, "wb") as file:
            file.write(data)
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror})", hint="choose another place"
        ) from None


def _manifest_in(folder: Path) -> Path:
    """The one public manifest of a folder."""
    found = []
    for path in sorted(folder.glob("*.json")):
        with suppress(DataError):
            if holds_table(path):
                continue
            read(path, read_bytes(path, "manifest"))
            found.append(path)
    if len(found) != 1:
        raise DataError(
            f"{folder} holds {len(found)} public manifests, not one",
            hint="name the manifest, or fill a new folder: dbdeid export SPEC DIR/",
        )
    return found[0]


def _require_only(path: Path, signature: Path, manifest: Manifest) -> None:
    """Refuse a folder that does not hold exactly the files of its manifest, to the byte.

    Raises:
        DataError: a file is missing, or there is another one.
        VerificationError: a file is not the one that was handed out.
    """
    folder, told = path.parent, manifest.files
    if told is not None and not manifest.releases:
        raise DataError(
            f"{path.name} tells of no file that holds the release",
            hint="fill a new folder: dbdeid export SPEC DIR/",
        )
    if told is None:
        raise DataError(
            f"{path.name} tells no digests of files, so that {folder} cannot be held against it",
            hint="fill a new folder with dbdeid export SPEC DIR/, or sign the manifest alone",
        )
    for found in sorted(folder.rglob("*")):
        name = str(found.relative_to(folder))
        if name.endswith(PRIVATE):
            raise DataError(
                f"{name} is a private book, which must never leave: it tells of the originals",
                hint="take it out; if others may have it already, they can undo the release",
            )
        if name not in (*told, path.name, signature.name):
            raise DataError(
                f"{name} is no file of this release",
                hint="take it out: whoever gets the folder takes all of it for signed",
            )
        if found.is_symlink() or not found.is_file():
            raise DataError(
                f"{name} is no regular file", hint="put the file itself there, or take it out"
            )
    for name, digest in told.items():
        if not (folder / name).is_file():
            raise DataError(
                f"{name} is missing, which {path.name} tells of",
                hint="export the release again, to a new folder",
            )
        if regular.sha256(folder / name) != digest:
            raise VerificationError(
                f"{name} is not what {path.name} says: it is not byte by byte the file that was "
                "handed out",
                hint="export the release again, to a new folder",
            )
