"""Reading regular files only: a device or a pipe may never end, or never begin."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path


def text(path: Path, most: int = -1) -> str:
    """The text of a file, or of its beginning.

    Args:
        path: of a file in UTF-8.
        most: so many characters at most; all of them by default.

    Raises:
        OSError: it cannot be read, or is no regular file.
        UnicodeDecodeError: it is not UTF-8.
    """
    with open(path, encoding="utf-8", opener=only_regular) as file:
        return file.read(most)


def content(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    with open(path, "rb", opener=only_regular) as file:
        return file.read()


def sha256(path: Path) -> str:
    """The SHA-256 of the bytes of a file, in hexadecimal digits.

    Never of a file that this process has open as a database: closing any descriptor of a file
    gives up all locks that the process holds on it.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    with open(path, "rb", opener=only_regular) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(path: Path) -> str:
    """The SHA-256 of a file; of a folder that of the names and SHA-256 of all files in it.

    What is neither file nor folder in it, as a link, is told apart from both by its name alone.

    Raises:
        OSError: something cannot be read, or the path is neither a folder nor a regular file.
    """
    if path.is_symlink() or not path.is_dir():
        return sha256(path)
    found = hashlib.sha256()
    for inner in sorted(path.rglob("*"), key=lambda p: p.relative_to(path).parts):
        name = inner.relative_to(path).as_posix()
        told = "other"
        if not inner.is_symlink():
            told = "folder" if inner.is_dir() else sha256(inner) if inner.is_file() else told
        found.update(f"{len(name.encode())}:{name} {told}\n".encode())
    return found.hexdigest()


def only_regular(path: str, flags: int) -> int:
    """Opens a file, and looks at it then, so that nothing can take its place in between."""
    found = os.open(path, flags | os.O_NONBLOCK)  # a pipe would wait for one who writes
    mode = os.fstat(found).st_mode
    if stat.S_ISREG(mode):
        return found
    os.close(found)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise OSError(errno.EINVAL, "a device or a pipe; only regular files are read", path)
