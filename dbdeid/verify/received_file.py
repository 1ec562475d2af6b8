"""Verification of a published file by whoever received it, from a manifest and nothing else.

What its owner knew besides is not at hand: no source, no book, no specification. The digests of
the manifest tell whether the rows of the release, its dictionary and its catalog are those that
were verified with the source; the models that a table can be held to by itself are measured again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from pathlib import Path

from dbdeid.engine import regular
from dbdeid.engine.file_names import beside
from dbdeid.engine.session import Settings
from dbdeid.errors import DataError
from dbdeid.privacy import MODELS
from dbdeid.verify.base import file_kinds
from dbdeid.verify.base.declaration import Check, Declared, Verification
from dbdeid.verify.files.content import Content
from dbdeid.verify.release import verify_file

# What a file is held to beside the models: the levels that its dictionary lists.
_RECOMPUTED = (*MODELS, "transformation")
_BESIDE = ("dictionary", "catalog")


def verify_given(
    path: Path,
    declared: Declared,
    content: Content,
    digests: Mapping[str, frozenset[str]] | None = None,
    settings: Settings | None = None,
) -> Verification:
    """Verify a file that its owner vouches for by a manifest.

    Args:
        path: a file of the release; beside it, if it is no `.duckdb`, lie the files of the
            dictionary and the catalog, named after it.
        declared: the shape and the models of the manifest, its columns as they were released.
        content: the digests of the tables in the manifest.
        digests: SHA-256 of the bytes of the files that were handed out, of the `release`, its
            `dictionary` and its `catalog`; None: they are not known, and are not compared.
        settings: limits of the engine.

    A file that cannot be read fails the check `readable`. Equal rows are not enough where the bytes
    are known: other programs read the same bytes otherwise, or may find in them what no row shows.
    """
    wanted = [name for name in _BESIDE if getattr(content, name) is not None]
    try:
        if file_kinds.kind(path) == file_kinds.DATABASE:
            places: dict[str, str | Path] = {n: f"{declared.release}_{n}" for n in wanted}
        else:
            places = {n: beside(path, n) for n in wanted}
        found = verify_file(
            path,
            declared,
            dictionary=places.get("dictionary"),
            catalog=places.get("catalog"),
            same_as=content,
            settings=settings,
        )
    except DataError as error:
        return Verification((), (Check("readable", False, error.message),))
    promises = tuple(p for p in found.promises if p.model in _RECOMPUTED)
    found = replace(found, promises=promises)
    paths = {"release": path, **{n: p for n, p in places.items() if isinstance(p, Path)}}
    strays = [p.name for p in _strays(path, set(paths), digests or {})]
    if strays:
        told = f"{', '.join(strays)} beside it, which the manifest does not tell"
        found = replace(found, hygiene=(*found.hygiene, Check("beside", False, told)))
    if digests is None:
        return found
    checks = [*_bytes(paths, digests, same_rows=found.verified)]
    return replace(found, hygiene=(*found.hygiene, *checks))


def _strays(path: Path, wanted: Set[str], digests: Mapping[str, frozenset[str]]) -> Iterator[Path]:
    """Files that have the name of one that explains it, and are none of this release."""
    known = frozenset().union(*digests.values())
    for name in _BESIDE:
        other = beside(path, name)
        if name not in wanted and (other.exists() or other.is_symlink()):
            try:
                if regular.sha256(other) not in known:
                    yield other
            except OSError:
                yield other


def _bytes(
    paths: Mapping[str, Path], digests: Mapping[str, frozenset[str]], *, same_rows: bool
) -> Iterator[Check]:
    """Whether files are, byte by byte, those that were handed out, whatever they are called."""
    rows = ", though it holds the rows of the manifest" if same_rows else ""
    for table, path in paths.items():
        try:
            same = regular.sha256(path) in digests.get(table, ())
        except OSError:
            same = False
        detail = "" if same else f"{path.name} is not byte by byte the file that was handed out"
        name = "file" if table == "release" else f"{table}_file"
        yield Check(name, same, detail and f"{detail}{rows}")
