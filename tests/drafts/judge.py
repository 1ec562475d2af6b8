"""The judge of drafts: what each column was drafted as, against its review, and what leaves.

A column is *decided* unless its role is `undecided`; one that is decided is *right* if a reviewer
could defend its role. What *leaves* is read from the file that a run of the unedited draft wrote,
if it wrote one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
from ruamel.yaml import YAML

from dbdeid.commands.init import drafted
from dbdeid.errors import DbdeidError
from dbdeid.release.run import run
from drafts.tables import WITHHELD, Review, Reviewed

UNDECIDED = "undecided"
RELEASED = "released"


@dataclass(frozen=True, slots=True)
class Drafted:
    """A column of a draft, and its review."""

    table: str
    name: str
    role: str
    reviewed: Reviewed

    @property
    def decided(self) -> bool:
        return self.role != UNDECIDED

    @property
    def right(self) -> bool:
        return self.role in self.reviewed.roles

    @property
    def wrong(self) -> bool:
        return self.decided and not self.right

    def __str__(self) -> str:
        roles = ", ".join(sorted(self.reviewed.roles))
        return f"{self.table}.{self.name}: drafted {self.role}, defensible {roles}"


@dataclass(frozen=True, slots=True)
class Judged:
    """A table's draft, judged.

    Attributes:
        subject: the column that the draft set; "" where it set or asks none.
        outcome: `released`, or the error that the run of the unedited draft ended with.
        leaving: direct identifiers, and columns that determine the subject, in the released file:
            of the latter those only that the draft did not generalize.
    """

    review: Review
    columns: tuple[Drafted, ...]
    subject: str
    outcome: str
    leaving: tuple[Drafted, ...]

    @property
    def wrong_subject(self) -> bool:
        return self.subject != "" and self.subject not in self.review.subject


@dataclass(frozen=True, slots=True)
class Count:
    """Columns, those decided, and those right of the decided."""

    columns: int
    decided: int
    right: int

    @property
    def share_decided(self) -> float:
        return self.decided / self.columns

    @property
    def share_right(self) -> float:
        """Of the decided; 1 where none is, for none is wrong."""
        return self.right / self.decided if self.decided else 1.0


def judge(review: Review, source: Path) -> Judged:
    """Draft a table once, judge its columns, and run the draft as it is.

    Args:
        source: the file of the table; the draft, and what a run writes, are put beside it.
    """
    folder = source.parent
    path = folder / f"{review.table}.yml"
    path.write_text(drafted(source, None).text, encoding="utf-8")
    spec = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    columns = tuple(
        Drafted(review.table, name, _role(spec["columns"].get(name)), reviewed)
        for name, reviewed in review.columns.items()
    )
    outcome = _outcome(path)
    released = _released(folder / spec["output"]["export"][0])
    if outcome != RELEASED:
        assert not released, f"{review.table}: the run ended with {outcome}, yet wrote a file"
    leaving = tuple(c for c in columns if c.name in released and _leads(c))
    return Judged(review, columns, _text(spec.get("subject")), outcome, leaving)


def _role(entry: object) -> str:
    """The role of a column's entry, which may be the role alone."""
    role = entry.get("role") if isinstance(entry, dict) else entry
    return _text(role) or UNDECIDED


def _text(value: object) -> str:
    text = value if isinstance(value, str) else ""
    return "" if text == UNDECIDED else text


def _outcome(path: Path) -> str:
    try:
        run(path)
    except DbdeidError as error:
        return type(error).__name__
    return RELEASED


def _released(path: Path) -> frozenset[str]:
    if not path.exists():
        return frozenset()
    with duckdb.connect() as con:
        rows = con.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
    return frozenset(row[0] for row in rows)


def _leads(column: Drafted) -> bool:
    """A released column leads to a person: by what it is, or as good as a number."""
    reviewed = column.reviewed
    return reviewed.direct or (
        reviewed.determines_subject and column.role not in {"quasi_identifier"} | WITHHELD
    )


def count(columns: Iterable[Drafted]) -> Count:
    """How many columns were decided, and how many of those rightly."""
    all_of = tuple(columns)
    decided = [c for c in all_of if c.decided]
    return Count(len(all_of), len(decided), sum(c.right for c in decided))


def by(
    judged: Sequence[Judged], key: Callable[[Judged, Drafted], str]
) -> dict[str, tuple[Drafted, ...]]:
    """All columns, by what a key says of their table and them, in the order of first sight."""
    groups: dict[str, list[Drafted]] = {}
    for of in judged:
        for column in of.columns:
            groups.setdefault(key(of, column), []).append(column)
    return {name: tuple(columns) for name, columns in groups.items()}


def table(title: str, groups: dict[str, tuple[Drafted, ...]]) -> str:
    """Counts by group, as lines of text."""
    lines = [f"{title:34} columns  decided   right of them"]
    for name, columns in groups.items():
        counted = count(columns)
        lines.append(
            f"{name:34} {counted.columns:7}  {counted.share_decided:7.1%}"
            f"  {counted.right:5} of {counted.decided} ({counted.share_right:.1%})"
        )
    return "\n".join(lines)


def shown(judged: Sequence[Judged]) -> str:
    """The result by language, kind, role and table, with all that is wrong or leaves."""
    everything = {"all": tuple(c for of in judged for c in of.columns)}
    return "\n\n".join(
        (
            table("language", everything | by(judged, lambda of, _: of.review.language)),
            table("kind and language", by(judged, _kind)),
            table("role drafted", by(judged, lambda _, column: column.role)),
            table("role defensible", by(judged, _defensible)),
            table("table", by(judged, lambda of, _: f"{of.review.table} ({of.outcome})")),
            _listed("wrong", (str(c) for of in judged for c in of.columns if c.wrong)),
            _listed("wrong subject", (_subject(of) for of in judged if of.wrong_subject)),
            _listed("leaves by `init; run`", (str(c) for of in judged for c in of.leaving)),
        )
    )


def _kind(of: Judged, _: Drafted) -> str:
    return f"{of.review.kind} {of.review.language}"


def _defensible(_: Judged, column: Drafted) -> str:
    return ", ".join(sorted(column.reviewed.roles))


def _subject(of: Judged) -> str:
    return f"{of.review.table}: subject {of.subject}"


def _listed(title: str, lines: Iterable[str]) -> str:
    all_of = list(lines)
    return "\n".join([f"{title}: {len(all_of)}", *(f"  {line}" for line in all_of)])
