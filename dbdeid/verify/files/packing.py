"""What a packed text could carry beside the text: names, notes, dates, and bytes after its end.

Of gzip (RFC 1952) one member is expected, whose header tells nothing; of Zstandard (RFC 8878) one
frame, without a dictionary and without a block that holds nothing. Readers skip whatever else there
is, and Zstandard even has frames that are made to be skipped.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from dbdeid.engine.file_names import parsed
from dbdeid.verify.base.declaration import Check

_AT_ONCE = 2**16  # bytes, which may unpack to a thousand times as many
_NOTES = {0x04: "an extra field", 0x08: "a file name", 0x10: "a comment", 0xE0: "unknown flags"}
_UNKNOWN_SYSTEM = 255
_FRAME = bytes.fromhex("28b52ffd")
_SKIPPED = bytes.fromhex("2a4d18")  # after a byte of 50 to 5f


def packing(paths: Sequence[Path], *, ours: bool) -> list[Check]:
    """Whether packed files hold a text and nothing else; no check where none is packed.

    Args:
        paths: the files.
        ours: else a name and a date in the header of gzip, which other programs write, are told.
    """
    wrong: list[str] = []
    told: list[str] = []
    packed = False
    for path in paths:
        found = parsed(path.name)
        if found is None or not found.packing:
            continue
        packed = True
        if found.packing == "zstd":
            wrong += _zstd(path)
            continue
        with path.open("rb") as file:
            header = file.read(10)
        usual = [*_usual(header)]
        (wrong if ours else told).extend(usual)
        wrong += [*_gzip(path, header)]
    return [Check("packing", not wrong, "; ".join(wrong + told))] if packed else []


# -- gzip --------------------------------------------------------------------------------------


def _usual(header: bytes) -> Iterator[str]:
    """What other programs write into the header of gzip."""
    if len(header) == 10:
        if header[3] & 0x08:
            yield _NOTES[0x08]
        if header[4:8] != bytes(4):
            yield "a date"
        if header[9] != _UNKNOWN_SYSTEM:
            yield "the system that it was made on"


def _gzip(path: Path, header: bytes) -> Iterator[str]:
    if len(header) < 10 or header[:3] != b"\x1f\x8b\x08":
        yield "no gzip file"
        return
    yield from (what for flag, what in _NOTES.items() if header[3] & flag and flag != 0x08)
    reader = zlib.decompressobj(wbits=31)
    with path.open("rb") as file:
        while not reader.eof and (part := file.read(_AT_ONCE)):
            try:
                reader.decompress(part)
            except zlib.error:
                yield "a damaged gzip file"
                return
        left = len(reader.unused_data) + path.stat().st_size - file.tell()
        after = reader.unused_data + file.read(2)
    if not reader.eof:
        yield "a gzip file that is cut off"
    elif left:
        member = after.startswith(b"\x1f\x8b")
        yield "a second member" if member else f"{left} bytes after its end"


# -- Zstandard ---------------------------------------------------------------------------------


def _zstd(path: Path) -> Iterator[str]:
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(5)
        if _is_skipped(start):
            yield "a frame that readers skip"
            return
        if start[:4] != _FRAME or len(start) < 5:
            yield "no Zstandard file"
            return
        describes = start[4]
        if describes & 0x18:
            yield "unknown flags"
        if describes & 0x03:
            yield "the number of a dictionary"
        single = bool(describes & 0x20)
        told = (1 if single else 0, 2, 4, 8)[describes >> 6]
        file.seek((0 if single else 1) + (0, 1, 2, 4)[describes & 0x03] + told, 1)
        while True:
            block = file.read(3)
            if len(block) < 3:
                yield "a Zstandard file that is cut off"
                return
            number = int.from_bytes(block, "little")
            last, kind, length = number & 1, number >> 1 & 3, number >> 3
            if kind == 3 or (kind == 1 and not length):
                yield "a block that holds nothing"
                return
            file.seek(1 if kind == 1 else length, 1)
            if last:
                break
        file.seek(4 if describes & 0x04 else 0, 1)
        end = file.tell()
        after = file.read(4)
    if end > size:
        yield "a Zstandard file that is cut off"
    elif _is_skipped(after):
        yield "a frame that readers skip"
    elif after:
        yield "a second frame" if after == _FRAME else f"{size - end} bytes after its end"


def _is_skipped(start: bytes) -> bool:
    return len(start) >= 4 and start[0] >> 4 == 5 and start[1:4] == _SKIPPED
