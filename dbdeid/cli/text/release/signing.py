"""Print signatures, and files that were checked against a signed manifest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dbdeid.cli.text.layout import flat

if TYPE_CHECKING:
    from dbdeid.publish.signatures import NewKey, Received, Signed
    from dbdeid.verify import Promise

TABLES = {"content": "release", "dictionary_content": "dictionary", "catalog_content": "catalog"}
FILES = ("file", "dictionary_file", "catalog_file")
ROWS_ONLY = (
    "the manifest tells no SHA-256 of files, so that rows were compared and bytes were not: other "
    "programs may read the file otherwise. The one of dbdeid export SPEC DIR/ tells them"
)
UNSIGNED = (
    "nobody vouches for the manifest: who made the file could have made the manifest too. "
    "Give --signed-by with the public key of its owner"
)
# What the files only say of themselves, and is compared with the manifest.
READ = {"transformation": "read in the dictionary"}
PEOPLE = "the promises are of people; the files tell records, and those were counted"


def new_key(made: NewKey) -> str:
    """Where a new key is, and who gets which half."""
    return "\n".join(
        (
            f"private key  {made.private}  for nobody but you, and without a passphrase",
            f"public key   {made.public}  for your recipients, by another way than the files",
            f"fingerprint  {made.fingerprint}",
            f"ssh-keygen -p -f {made.private} sets a passphrase",
        )
    )


def signed(done: Signed, key: Path) -> str:
    """What was signed, and how others check it."""
    checked = ", ".join(path.name for path in done.files)
    folder = done.manifest.resolve().parent.name
    how = f"FILE --manifest {done.manifest.name}" if not done.files else f"{folder}/"
    lines = [f"signed      {done.manifest}"]
    lines += [f"verified    {checked}, against the manifest"] if checked else []
    lines += [
        f"signature   {done.signature}  goes with the files",
        f"key         {done.fingerprint}",
        f"recipients  dbdeid verify {how} --signed-by {key.name}.pub",
    ]
    return "\n".join(lines)


def received(found: Received, file: Path, manifest: Path) -> str:
    """Which of the promises of a manifest hold of a file, in words."""
    checks = {c.check: c for c in found.verification.hygiene}
    good = found.verification.verified
    lines = [f"{file.name}: {'verified' if good else 'NOT verified'} against {manifest.name}"]
    if found.signed_by is None:
        lines.append(f"  {'not signed':<18}  {UNSIGNED}")
    else:
        lines.append(f"  {'signature':<18}  good: {manifest.name} was signed by {found.signed_by}")
    for check, table in TABLES.items():
        if check in checks and checks[check].holds:
            lines.append(f"  {table:<18}  these are the rows that the manifest is of")
    if same := [name for name in FILES if name in checks and checks[name].holds]:
        lines.append(f"  {', '.join(same):<18}  byte by byte what was handed out")
    lines += [
        f"  {p.model:<18}  {READ.get(p.model, 'recomputed')}: {_kept(p)}"
        for p in found.verification.promises
        if p.holds
    ]
    if names := found.quasi_identifiers:
        lines.append(f"  {'measured over':<18}  {', '.join(map(repr, names))}")
    clean = [c.check for c in checks.values() if c.holds and c.check not in (*TABLES, *FILES)]
    lines += [f"  {'also in order':<18}  {', '.join(clean)}"] if clean else []
    lines += [f"  note: {PEOPLE}"] if found.people else []
    lines += [] if found.bytes_compared else [f"  note: {ROWS_ONLY}"]
    if found.taken:
        lines.append(
            f"  {'not recomputed':<18}  {', '.join(found.taken)}: these take the original, and "
            f"{'rest on the word of whoever signed' if found.signed_by else 'nobody vouches'}"
        )
    lines += [f"  FAIL  {p.model}: {_kept(p)}" for p in found.verification.promises if not p.holds]
    lines += [f"  FAIL  {c.check}: {c.detail}" for c in checks.values() if not c.holds]
    return "\n".join(lines)


def whole(folder: Path) -> str:
    """What was found of a folder besides its files."""
    return f"{folder}: it holds what the manifest tells, each file byte by byte, and nothing else"


def _kept(promise: Promise) -> str:
    return f"declared {flat(promise.declared)}; found {flat(promise.found)}"
