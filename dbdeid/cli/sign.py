"""Signing a manifest, and holding a file against a signed one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbdeid.cli.command import Options, show, signing_texts
from dbdeid.errors import DataError, VerificationError

if TYPE_CHECKING:
    from dbdeid.publish.signatures import Received


def sign(
    manifest: Annotated[
        Path | None,
        typer.Argument(metavar="MANIFEST|DIR", help="A public manifest, or an exported folder."),
    ] = None,
    *,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your private Ed25519 key of OpenSSH.")
    ] = None,
    new_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Make a key: FILE and FILE.pub.")
    ] = None,
    options: Options,
) -> None:
    """Sign the manifest of a release.

    Recipients can then check the files without you. Writes the signature beside the manifest. In a
    folder that `export` filled, each file is first checked against the manifest. The format is that
    of `ssh-keygen -Y sign`; a key that you have for SSH will do, if it is of the kind ed25519. Give
    the public key (.pub) to recipients by another way than the files, and the private key to
    nobody.

    dbdeid sign --new-key ~/release_key

    dbdeid sign to_send/ --key ~/release_key
    """
    from dbdeid.publish import signatures

    if new_key is not None:
        if manifest is not None or key is not None:
            raise DataError(
                "--new-key makes a key and signs nothing",
                hint=f"first dbdeid sign --new-key {new_key}, then sign with --key {new_key}",
            )
        made = signatures.make_key(new_key)
        return show(options, made.to_dict(), signing_texts().new_key(made))
    if manifest is None or key is None:
        raise DataError(
            "what is to be signed, and with which key?",
            hint="dbdeid sign to_send/ --key ~/release_key",
        )
    ask = _passphrase if sys.stdin.isatty() else None
    done = signatures.sign(manifest, key, passphrase=ask, settings=options.settings)
    show(options, done.to_dict(), signing_texts().signed(done, key))


def _passphrase() -> str:
    from getpass import getpass

    return getpass("Passphrase of the key: ")


def receive(file: Path, manifest: Path, signed_by: Path | None, options: Options) -> None:
    """Verify a file against a manifest, and the manifest against the key of its owner."""
    from dbdeid.publish import signatures

    found = signatures.receive(file, manifest, signed_by, options.settings)
    show(options, found.to_dict(), signing_texts().received(found, file, manifest))
    _require(found)


def receive_folder(folder: Path, signed_by: Path | None, options: Options) -> None:
    """Verify all that a folder holds against the manifest in it."""
    from dbdeid.publish import signatures

    manifest, received = signatures.receive_folder(folder, signed_by, options.settings)
    told = [signing_texts().received(one, file, manifest) for file, one in received.items()]
    files = {file.name: one.to_dict() for file, one in received.items()}
    verified = all(one.verification.verified for one in received.values())
    document = {"manifest": manifest.name, "verified": verified, "files": files}
    show(options, document, "\n".join([*told, signing_texts().whole(folder)]))
    for one in received.values():
        _require(one)


def _require(found: Received) -> None:
    failed = [p.model for p in found.verification.promises if not p.holds]
    failed += [c.check for c in found.verification.hygiene if not c.holds]
    if not found.verification.verified:
        raise VerificationError(
            f"verification failed: {', '.join(failed)}",
            hint="do not rely on this file; ask its owner for it again",
        )
