"""Canaries: values that occur nowhere else, and every way in which bytes could hold them.

A canary stands in one cell of a source that must not leave. What it looks like in bytes depends on
its type: text as UTF-8 or UTF-16, in another case, in hexadecimal, hashed, or cut to the first
eight bytes as column statistics hold it; numbers, dates and moments as text, and as 4 or 8 bytes
in both orders. Numbers are drawn so that their bytes are rare: with many small ones a coincidence
is sure.
"""

from __future__ import annotations

import hashlib
import random
import string
import struct
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TypeVar
from uuid import UUID

# Why a cell must not leave.
IDENTIFIER = "identifier or dropped column"
GENERALIZED = "generalized cell"
SUPPRESSED = "other cell of a suppressed record"
LINKED = "identifier that pseudonyms stand for"

Cell = TypeVar("Cell")

_EPOCH_DAY, _EPOCH = date(1970, 1, 1), datetime(1970, 1, 1)
_ALPHABET = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class Canary:
    """One cell that must not leave: the column, why, and the bytes that would give it away."""

    column: str
    why: str
    needles: tuple[tuple[str, bytes], ...]


@dataclass
class Planter:
    """Draws canaries and remembers them; equal seeds draw equal canaries.

    Attributes:
        seed: of all draws but those of cells that are shown.
        fixed: kinds of cells that a release depends on, which are therefore equal for all seeds.
        canaries: all that were drawn.
    """

    seed: int
    fixed: tuple[str, ...] = ()
    canaries: list[Canary] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self._same = random.Random(0)

    def outliers(self) -> range:
        """The records to be suppressed; their number differs too, unless they are shown."""
        return range(12 + (0 if SUPPRESSED in self.fixed else self.seed % 5))

    def _source(self, why: str) -> random.Random:
        return self._same if why in self.fixed else self.random

    def text(self, column: str, why: str, form: str = "{}") -> str:
        """A text with a random token of 14 characters in it."""
        token = "".join(self._source(why).choices(_ALPHABET, k=14))
        cell = form.format(token)
        found = {
            "text": token,
            "lower": token.lower(),
            "upper": token.upper(),
            "start": token[:8],
            "hexadecimal": token.encode().hex(),
            "sha256": hashlib.sha256(cell.encode()).hexdigest(),
            "md5": hashlib.md5(cell.encode(), usedforsecurity=False).hexdigest(),
        }
        needles = {name: text.encode() for name, text in found.items()}
        needles["utf-16"] = token.encode("utf-16-le")
        needles["sha256 bytes"] = hashlib.sha256(cell.encode()).digest()
        # Statistics hold the first 8 bytes of a cell: enough where 4 of them are of the token.
        if len(cell[: cell.index(token)].encode()) <= 4:
            needles["statistics"] = cell.encode()[:8]
        return self._plant(column, why, needles, cell)

    def uuid(self, column: str, why: str) -> UUID:
        """A random UUID."""
        cell = UUID(int=self._source(why).getrandbits(128), version=4)
        turned = bytes([cell.bytes[0] ^ 0x80]) + cell.bytes[1:]  # DuckDB flips the highest bit
        needles = {
            "text": str(cell).encode(),
            "digits": cell.hex.encode(),
            "start": str(cell)[:12].encode(),
            "bytes": cell.bytes,
            "16 bytes": turned[::-1],
        }
        return self._plant(column, why, needles, cell)

    def whole(self, column: str, why: str, low: int, high: int) -> int:
        """A whole number in [low, high) of at least nine digits, with rare bytes."""
        while True:
            cell = self._source(why).randrange(low, high)
            unusual = sum(byte >= 0x80 for byte in cell.to_bytes(8, "little")[:3])
            if len(str(cell)) >= 9 and unusual == 3 and len(set(str(cell))) >= 5:
                return self._plant(column, why, _whole(cell), cell)

    def decimal(self, column: str, why: str, low: int, high: int) -> Decimal:
        """A decimal of four places whose unscaled value is a whole number in [low, high)."""
        cell = Decimal(self.whole(column, why, low, high)).scaleb(-4)
        needles = {"text": str(cell).encode()} | _real(float(cell))
        return self._plant(column, why, needles, cell)

    def real(self, column: str, why: str, low: float, high: float) -> float:
        """A number in [low, high) with all digits of a float."""
        cell = self._source(why).uniform(low, high)
        return self._plant(column, why, _real(cell), cell)

    def day(self, column: str, why: str, low: date, high: date) -> date:
        """A day between two others, with rare bytes; for that it must be far from our time.

        It is neither the first nor the last day, which may stand in a dictionary as bounds.
        """
        while True:
            cell = low + timedelta(days=self._source(why).randrange(1, (high - low).days - 1))
            days = (cell - _EPOCH_DAY).days
            if min(struct.pack("<i", days)[:2]) >= 0x80:
                break
        needles = {
            "text": cell.isoformat().encode(),
            "python": repr(cell).encode(),
            "4 bytes": struct.pack("<i", days),
            "4 bytes, big-endian": struct.pack(">i", days),
        }
        return self._plant(column, why, needles, cell)

    def moment(self, column: str, why: str, low: date, high: date) -> datetime:
        """A moment in [low, high) to the microsecond."""
        start = datetime(low.year, low.month, low.day)
        span = (high - low).days * 86_400_000_000
        cell = start + timedelta(microseconds=self._source(why).randrange(span) | 1)
        micros = (cell - _EPOCH) // timedelta(microseconds=1)
        needles = {
            "text": cell.isoformat(" ").encode(),
            "text with T": cell.isoformat().encode(),
            "time": cell.time().isoformat().encode(),
            "python": repr(cell).encode(),
            "8 bytes": struct.pack("<q", micros),
            "8 bytes, big-endian": struct.pack(">q", micros),
            "nanoseconds": struct.pack("<q", micros * 1000) if abs(micros) < 2**53 else b"",
        }
        return self._plant(column, why, needles, cell)

    def _plant(self, column: str, why: str, needles: dict[str, bytes], cell: Cell) -> Cell:
        kept = tuple((name, needle) for name, needle in needles.items() if needle)
        self.canaries.append(Canary(column, why, kept))
        return cell


def _whole(cell: int) -> dict[str, bytes]:
    needles = {
        "text": str(cell).encode(),
        "grouped": f"{cell:,}".encode(),
        "8 bytes": struct.pack("<q", cell),
        "8 bytes, big-endian": struct.pack(">q", cell),
        "as a float": struct.pack("<d", float(cell)),
    }
    if cell < 2**31:
        needles["4 bytes"] = struct.pack("<i", cell)
        needles["4 bytes, big-endian"] = struct.pack(">i", cell)
    return needles


def _real(cell: float) -> dict[str, bytes]:
    return {
        "text": repr(cell).encode(),
        "nine digits": repr(cell)[:10].encode(),
        "8 bytes": struct.pack("<d", cell),
        "8 bytes, big-endian": struct.pack(">d", cell),
    }
