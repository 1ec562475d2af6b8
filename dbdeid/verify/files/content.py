"""The content of a table as one SHA-256, to tell whether a file holds the rows that were verified.

What cannot be recomputed from a file alone, as whose records they are, is promised of these rows.
A sum of hashes would not do: other rows of the same sum are found within seconds (Wagner 2002).

A cell is `N` where it is NULL, else the number of bytes of its text, `:` and the text; that of a
list holds the cells of its elements. No two tables of other columns, other rows or another number
of the same rows are hashed from the same text; the order of rows does not count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dbdeid.data.json import JsonObject
from dbdeid.engine.expressions import (
    Expr,
    Select,
    aliased,
    all_of,
    case,
    cast,
    coalesce,
    column,
    concatenated,
    function,
    list_of,
    literal,
    mapped,
    plus,
    select,
)
from dbdeid.engine.relation import Column, Relation
from dbdeid.engine.session import Session, Step
from dbdeid.engine.sqltext import step
from dbdeid.verify.base import hygiene
from dbdeid.verify.base.declaration import Check, Declared
from dbdeid.verify.base.file_kinds import IN_PARQUET
from dbdeid.verify.base.floats import bits, hides_bits, is_nan
from dbdeid.verify.padding.padded_release import CATALOG

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

MADE = (
    "SHA-256 of the columns' names and types, the number of rows and the sorted SHA-256 hashes of "
    "all rows, however they are ordered; docs/content.md has the SQL to compute it"
)
EARLIER = (
    "an earlier version of dbdeid kept the content as a sum, to which other rows can be found: "
    "run the spec again"
)
ROWS = "verify_row_digests"
AT_ONCE = 1_000_000  # rows whose digests are sorted in memory: some 150 MB
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LONG = 64  # digits of a digest
_SIZES = list_of(*(literal(f"{size}:") for size in range(48)))
_PARTS = ("dictionary", "catalog")


@dataclass(frozen=True, slots=True)
class Content:
    """How many rows a table has, and the digest of them all.

    Attributes:
        rows: how many.
        digest: SHA-256 in hexadecimal digits.
        dictionary: the same of the dictionary published beside a release; None: not told.
        catalog: the same of the catalog beside a padded release.
    """

    rows: int
    digest: str
    dictionary: Content | None = None
    catalog: Content | None = None

    @property
    def comparable(self) -> bool:
        """Whether it was kept in a form to which no other rows can be found."""
        return _DIGEST.fullmatch(self.digest) is not None

    def to_dict(self) -> JsonObject:
        """As the book and the manifest have it."""
        beside = {name: part for name in _PARTS if (part := getattr(self, name)) is not None}
        told = {name: part.one() for name, part in {"release": self, **beside}.items()}
        return {"made": MADE, **told}

    def one(self) -> JsonObject:
        """The table alone."""
        return {"rows": self.rows, "sha256": self.digest}

    @classmethod
    def of_one(cls, kept: Any) -> Content:
        """A table from what was kept of it; not comparable where an earlier version kept it."""
        if isinstance(kept, Mapping) and "sha256" in kept:
            return cls(int(kept.get("rows", 0)), str(kept["sha256"]))
        return cls(0, "")

    @classmethod
    def of_dict(cls, kept: Any) -> Content:
        """From what was kept."""
        if not isinstance(kept, Mapping):
            return cls(0, "")
        found = cls.of_one(kept.get("release"))
        beside = {name: cls.of_one(kept[name]) for name in _PARTS if name in kept}
        return cls(found.rows, found.digest, **beside)


def content(session: Session, table: Relation, columns: Sequence[Column]) -> Content | None:
    """The content of a table; None where it has other columns, or of other types, than these.

    Parquet has no type for some: there the type that stands for them will do, and gives the same.
    """
    if not table.columns:
        table = replace(table, columns=session.describe(table.table))
    if table.names != tuple(c.name for c in columns):
        return None
    if any(
        found.type not in (c.type, IN_PARQUET.get(c.type))
        for found, c in zip(table.columns, columns, strict=True)
    ):
        return None
    return digested(session, select("*").from_(table.table), table.columns, columns)


def contents(
    session: Session,
    declared: Declared,
    release: Relation,
    dictionary: Relation | None,
    catalog: Relation | None,
) -> Content | None:
    """The content of a release and of what is published beside it; None where it is misshapen."""
    found = content(session, release, declared.columns)
    if found is None:
        return None
    listed = content(session, dictionary, listing(declared)) if dictionary else None
    counts = content(session, catalog, CATALOG) if catalog else None
    return Content(found.rows, found.digest, listed, counts)


def compared(
    session: Session,
    declared: Declared,
    release: Relation,
    dictionary: Relation | None,
    catalog: Relation | None,
    expected: Content,
) -> list[Check]:
    """Whether a release and each table beside it have the content that was verified."""
    found = [same(content(session, release, declared.columns), expected)]
    for name, table, columns, wanted in (
        ("dictionary_content", dictionary, listing(declared), expected.dictionary),
        ("catalog_content", catalog, CATALOG, expected.catalog),
    ):
        if wanted is not None:
            there = content(session, table, columns) if table else None
            found.append(same(there, wanted, name))
    return found


def same(found: Content | None, expected: Content, check: str = "content") -> Check:
    """Whether a table has the content that was verified, apart from those beside it."""
    if not expected.comparable:
        return Check(check, False, EARLIER)
    if found and (found.rows, found.digest) == (expected.rows, expected.digest):
        return Check(check, True)
    what = "other columns or types" if found is None else "other rows"
    if found and found.rows == expected.rows:
        what = "other values"
    return Check(check, False, f"{what} than the table that was verified with its source")


def listing(declared: Declared) -> tuple[Column, ...]:
    """The columns of the dictionary of a release."""
    return hygiene.DICTIONARY if declared.relocated is None else hygiene.MARKED


def digested(
    session: Session,
    rows: Select,
    columns: Sequence[Column],
    named: Sequence[Column] | None = None,
) -> Content:
    """The content of the rows of a query.

    Args:
        session: sees the tables.
        rows: the query.
        columns: all its columns.
        named: as the digest names them, if not so.
    """
    # One text of all pieces: texts of cells would be written once more. That rows are alike is not
    # looked for, which takes as long as to hash them again.
    pieces = [piece for c in columns for piece in _pieces(column(c.name), c.type)]
    digest = function("sha256", function("concat", *pieces))
    each = select(aliased(digest, "row_digest")).from_(rows.subquery("rows"))
    records = session.fill(Step(ROWS, each))
    try:
        staged = Relation(ROWS, schema="main", catalog="temp")
        buckets = [row for span in _spans(records) for row in _buckets(session, staged, *span)]
    finally:
        session.drop_temp(ROWS)
    head = f"{_header(columns if named is None else named)} {records} "
    text = head + "".join(digest for _, digest in sorted(buckets))
    return Content(records, sha256(text.encode()).hexdigest())


def _spans(records: int) -> list[tuple[str, str]]:
    """The first and last bucket of each pass: rows are sorted in memory, so many at a time."""
    width = 256
    while width > 1 and records * width > AT_ONCE * 256:
        width //= 2
    return [(f"{i:02x}", f"{i + width - 1:02x}") for i in range(0, 256, width)]


def _buckets(session: Session, rows: Relation, first: str, last: str) -> list[tuple[str, str]]:
    """Buckets and their digests, sorted and hashed here: DuckDB takes several times longer."""
    import numpy as np

    found = session.batches(
        step("publish/content", {"rows": rows}, values={"first": first, "last": last})
    )
    texts = [column for batch in found if len(column := batch.column("row_digest"))]
    if not texts:
        return []
    told = np.concatenate([_of_one_length(text) for text in texts])
    digests = _sorted(told)
    bucket = digests.view("S2").reshape(-1, _LONG // 2)[:, 0]
    starts = [0, *(np.flatnonzero(bucket[1:] != bucket[:-1]) + 1).tolist(), len(digests)]
    return [
        (bucket[start].decode(), sha256(digests[start:end].tobytes()).hexdigest())
        for start, end in pairwise(starts)
    ]


def _of_one_length(texts: pa.Array) -> NDArray[Any]:
    """Digests as an array of bytes, whatever the settings of the connection make of texts."""
    import numpy as np
    import pyarrow as pa

    texts = texts.cast(pa.string())
    _, starts, held = texts.buffers()
    ends = np.frombuffer(starts, dtype=np.int32)[texts.offset :][: len(texts) + 1]
    if not (np.diff(ends) == _LONG).all():
        raise ValueError("a digest of another length")
    return np.frombuffer(held, dtype="S1")[ends[0] : ends[-1]].view(f"S{_LONG}")


def _sorted(digests: NDArray[Any]) -> NDArray[Any]:
    """Digests by their first eight digits as a number, and the few of one number as texts."""
    import numpy as np

    numbers = digests.view(">u8").reshape(-1, _LONG // 8)[:, 0].astype(np.uint64)
    order = np.argsort(numbers)
    found, numbers = digests[order], numbers[order]
    tied = np.zeros(len(found), dtype=bool)
    tied[1:] = numbers[1:] == numbers[:-1]
    tied[:-1] |= tied[1:]
    found[tied] = np.sort(found[tied])
    return found


def _header(columns: Sequence[Column]) -> str:
    words = [word for c in columns for word in (c.name, c.type)]
    return "".join(f"{len(word.encode())}:{word}" for word in words)


def _pieces(value: Expr, kind: str) -> list[Expr]:
    """A cell as a text after its length, in pieces; those that are NULL are left out.

    Lengths are mostly short, and their texts then are looked up, which is faster than writing them.
    """
    text = canonical(value, kind)
    size = function("strlen", text.copy())  # in bytes
    short = function("list_extract", _SIZES.copy(), plus(size, literal(1)))
    long = concatenated(cast(size.copy(), "VARCHAR"), literal(":"))
    return [coalesce(short, long, literal("N")), text]


def canonical(value: Expr, kind: str) -> Expr:
    """A text that no other value of the type has, whatever the settings of the connection."""
    if kind.endswith("[]"):
        return _elements(value, kind.removesuffix("[]"))
    if kind in ("FLOAT", "DOUBLE"):
        # nan and -nan are one value; 0.0 and -0.0 are equal, but read as two texts
        said = literal("nan")
        told = function("concat", said.copy(), bits(value))
        nan = (is_nan(value), said)
        hidden = (all_of(is_nan(value), hides_bits(value, kind)), told)
        return case(hidden, nan, otherwise=cast(value.copy(), "VARCHAR"))
    if kind == "TIMESTAMP WITH TIME ZONE":  # its text is that of the connection's zone
        moment = function("epoch_us", value.copy())
        unending = cast(value.copy(), "VARCHAR")  # which has no such number
        return coalesce(cast(moment, "VARCHAR"), unending)
    return cast(value.copy(), "VARCHAR")


def _elements(value: Expr, kind: str) -> Expr:
    each = "element" + str(kind.count("["))
    written = mapped(value.copy(), each, function("concat", *_pieces(column(each), kind)))
    return function("array_to_string", written, literal(""))
