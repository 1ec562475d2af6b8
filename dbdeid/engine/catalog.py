"""The private book-keeping of one database: its runs, their hierarchies, counterfeits and files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlglot import exp

from dbdeid.engine import sqltext
from dbdeid.engine.expressions import identifier
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Session, Step

SCHEMA = "deid"
TABLES = (
    *("releases", "hierarchies", "counterfeits", "clusters", "files", "frontiers"),
    *("published", "published_rows", "withdrawals"),
)
RUN_DIGITS = 12

# What a run counts as. Only published ones are compared with later runs, and may be given away.
State = Literal["published", "trial", "withdrawn", "preview"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One run as it is kept.

    Attributes:
        release: name of the release.
        object: where it was written: a table or view name, or the path of a target file.
        kind: table, view or file.
        exports: paths of the files exported.
        spec: text of the spec.
        spec_hash: its SHA-256.
        transformation: level of each quasi-identifier.
        metrics: utility metrics.
        record: everything a report shows.
        version: of dbdeid.
        created: time of the run, UTC.
    """

    release: str
    object: str
    kind: str
    exports: tuple[str, ...]
    spec: str
    spec_hash: str
    transformation: Mapping[str, int]
    metrics: Mapping[str, float]
    record: Mapping[str, Any]
    version: str
    created: datetime

    @property
    def run(self) -> str:
        """The number of the run: the same whenever the book is read, of runs of any version."""
        told = f"{self.release.lower()}|{self.created.isoformat('T', 'microseconds')}"
        return hashlib.sha256(told.encode()).hexdigest()[:RUN_DIGITS]

    @property
    def trial(self) -> bool:
        """Whether the run was made to look at, not to publish."""
        return bool(self.record.get("trial"))


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A mark on a run: it counts as published no more.

    Attributes:
        run: its number.
        release: its release.
        reason: the owner's words.
        withdrawn_by: name of the account that withdrew it.
        withdrawn: when, UTC.
    """

    run: str
    release: str
    reason: str
    withdrawn_by: str
    withdrawn: datetime


@dataclass(frozen=True, slots=True)
class BookedFile:
    """A file that a run wrote; paths are relative to the folder of the book.

    Attributes:
        release: whose it is.
        path: where it belongs.
        sha256: of its content.
        unfinished: where it lay when it was booked, until it is renamed.

    A table of another database is kept among them: its `path` has a `|`, its `sha256` is that of
    its rows, and `unfinished` is empty.
    """

    release: str
    path: str
    sha256: str
    unfinished: str


@dataclass(frozen=True, slots=True)
class Book:
    """The book of one attached database."""

    session: Session
    catalog: str

    @property
    def exists(self) -> bool:
        """Whether this database keeps a book already."""
        return self.session.exists("releases", SCHEMA, self.catalog) == "table"

    def create(self) -> None:
        """Make the schema and its tables where they are missing."""
        schema = exp.table_(identifier(SCHEMA), db=identifier(self.catalog))
        self.session.execute(exp.Create(this=schema, kind="SCHEMA", exists=True))
        for name in TABLES:
            self.session.execute(self._definition(name))

    def _definition(self, name: str) -> exp.Expr:
        tree = sqltext.parsed(f"catalog/{name}.sql").copy()
        table = tree.find(exp.Table)
        assert table is not None
        table.set("catalog", identifier(self.catalog))
        return tree

    def table(self, name: str) -> Relation:
        """One of the tables of the book."""
        return Relation(name, (), SCHEMA, self.catalog)

    def of_release(self, release: str) -> Relation:
        """The hierarchies of one release's last run, as a temporary table."""
        same = exp.column("release").eq(exp.Literal.string(release))
        kept = self.table("hierarchies").table
        query = exp.select(*_HIERARCHY_COLUMNS).from_(kept).where(same)
        return self.session.run(Step("deid_hierarchies_kept", query))

    def add(self, entry: Entry) -> None:
        """Keep a run."""
        values = [
            entry.release,
            entry.object,
            entry.kind,
            list(entry.exports),
            entry.spec,
            entry.spec_hash,
            json.dumps(entry.transformation),
            json.dumps(entry.metrics),
            json.dumps(entry.record),
            entry.version,
            entry.created,
        ]
        marks = [exp.Placeholder() for _ in values]
        insert = exp.insert(exp.values([tuple(marks)]), self.table("releases").table)
        self.session.execute_with(sqltext.sql(insert), values)

    def add_files(self, files: Sequence[BookedFile]) -> None:
        """Keep the files of a run."""
        for file in files:
            values = [file.release, file.path, file.sha256, file.unfinished]
            marks = tuple(exp.Placeholder() for _ in values)
            insert = exp.insert(exp.values([marks]), self.table("files").table)
            self.session.execute_with(sqltext.sql(insert), values)

    def files(self) -> Sequence[BookedFile]:
        """All files that runs wrote, newest first."""
        return [one for one in self._written() if one.unfinished]

    def tables(self) -> Sequence[BookedFile]:
        """All tables of other databases that runs wrote, newest first."""
        return [one for one in self._written() if not one.unfinished]

    def _written(self) -> Sequence[BookedFile]:
        if self.session.exists("files", SCHEMA, self.catalog) is None:
            return []
        query = (
            exp.select(*BookedFile.__dataclass_fields__)
            .from_(self.table("files").table)
            .order_by(exp.column("rowid").desc())
        )
        return [BookedFile(*row) for row in self.session.rows(query)]

    def keep_hierarchies(self, release: str, hierarchies: Relation | None) -> None:
        """Keep the hierarchies of a run, if any, in place of those of the release's last run."""
        kept = self.table("hierarchies")
        same = exp.column("release").eq(exp.Literal.string(release))
        self.session.execute(exp.delete(kept.table, where=same))
        if hierarchies is not None:
            rows = exp.select(*_HIERARCHY_COLUMNS).from_(hierarchies.table)
            self.session.execute(exp.insert(rows, kept.table))

    def keep_counterfeits(self, release: str, flagged: Relation | None) -> None:
        """Keep which records of a run are counterfeit in place of those of the last run."""
        kept = self.table("counterfeits")
        name = exp.Literal.string(release)
        self.session.execute(exp.delete(kept.table, where=exp.column("release").eq(name)))
        if flagged is not None:
            rows = exp.select(name.copy(), "record", "counterfeits").from_(flagged.table)
            self.session.execute(exp.insert(rows, kept.table))

    def counterfeits_of(self, release: str) -> Relation | None:
        """The counterfeit records of a release's last run, as a temporary table."""
        if self.session.exists("counterfeits", SCHEMA, self.catalog) is None:
            return None
        same = exp.column("release").eq(exp.Literal.string(release))
        rows = exp.select("record", "counterfeits").from_(self.table("counterfeits").table)
        return self.session.run(Step("deid_counterfeits_kept", rows.where(same)))

    def keep_clusters(self, release: str, clusters: Relation | None) -> None:
        """Keep which records a run drew from which cluster, in place of those of the last run."""
        kept = self.table("clusters")
        name = exp.Literal.string(release)
        self.session.execute(exp.delete(kept.table, where=exp.column("release").eq(name)))
        if clusters is not None:
            rows = exp.select(name.copy(), *_CLUSTER_COLUMNS).from_(clusters.table)
            self.session.execute(exp.insert(rows, kept.table))

    def clusters_of(self, release: str) -> Relation | None:
        """The clusters of a release's last run, as a temporary table."""
        if self.session.exists("clusters", SCHEMA, self.catalog) is None:
            return None
        same = exp.column("release").eq(exp.Literal.string(release))
        rows = exp.select(*_CLUSTER_COLUMNS).from_(self.table("clusters").table)
        return self.session.run(Step("deid_clusters_kept", rows.where(same)))

    def keep_published(self, run: str, shown: Relation, rows: Relation | None) -> None:
        """Keep which records a run shows in one class, beside those of all other runs.

        Args:
            run: its number.
            shown: `record`, `person` and `class`, a row for each record.
            rows: of a release with counterfeit records, `row` and `records`.
        """
        for name, kept in (("published", shown), ("published_rows", rows)):
            if kept is not None:
                number = exp.alias_(exp.Literal.string(run), "run")
                found = exp.select(number, *_OF_PUBLISHED[name]).from_(kept.table)
                self.session.execute(exp.insert(found, self.table(name).table))

    def published_by(self, run: str, name: str = "published") -> Relation | None:
        """Load the rows kept of what a run published, as a temporary table; None where none are."""
        if self.session.exists(name, SCHEMA, self.catalog) is None:
            return None
        same = exp.column("run").eq(exp.Literal.string(run))
        rows = exp.select(*_OF_PUBLISHED[name]).from_(self.table(name).table).where(same)
        kept = Step(f"deid_{name}_before", rows)
        return self.session.temp(kept.name) if self.session.fill(kept) else None

    def keep_frontier(self, release: str, tables: Mapping[str, exp.Query]) -> None:
        """Keep the frontier of a release in place of the last one.

        Args:
            release: whose it is.
            tables: the rows of each table, by what follows the release's name.
        """
        kept = self.table("frontiers")
        for name in self.frontier_of(release):
            self.session.drop(Relation(name, (), "main", self.catalog))
        self.session.execute(exp.delete(kept.table, where=_of_release(release)))
        for what, rows in tables.items():
            place = Relation(f"{release}_{what}", (), "main", self.catalog)
            self.session.execute(exp.Create(this=place.table, kind="TABLE", expression=rows))
            entry = exp.values([(exp.Literal.string(release), exp.Literal.string(place.name))])
            self.session.execute(exp.insert(entry, kept.table))

    def frontier_of(self, release: str) -> Sequence[str]:
        """The tables of the frontier of a release."""
        if self.session.exists("frontiers", SCHEMA, self.catalog) is None:
            return []
        rows = exp.select("written").from_(self.table("frontiers").table)
        rows = rows.where(_of_release(release))
        return [name for (name,) in self.session.rows(rows)]

    def withdraw(self, withdrawal: Withdrawal) -> None:
        """Mark a run as withdrawn; its line stays as it is."""
        values = [getattr(withdrawal, name) for name in Withdrawal.__dataclass_fields__]
        marks = tuple(exp.Placeholder() for _ in values)
        insert = exp.insert(exp.values([marks]), self.table("withdrawals").table)
        self.session.execute_with(sqltext.sql(insert), values)

    def withdrawals(self) -> Mapping[str, Withdrawal]:
        """The runs that were withdrawn, by number."""
        if self.session.exists("withdrawals", SCHEMA, self.catalog) is None:
            return {}
        query = exp.select(*Withdrawal.__dataclass_fields__).from_(self.table("withdrawals").table)
        return {row[0]: Withdrawal(*row) for row in self.session.rows(query)}

    def states(self) -> Sequence[tuple[Entry, State]]:
        """All runs, newest first, each with what it counts as."""
        withdrawn = self.withdrawals()
        return [(entry, _state(entry, withdrawn)) for entry in self.entries()]

    def latest(self, release: str) -> Entry | None:
        """The last run of a release."""
        return next(self._of(release), None)

    def last_published(self, release: str) -> Entry | None:
        """The last run of a release that counts as published."""
        withdrawn = self.withdrawals()
        of_release = self._of(release)
        return next((e for e in of_release if _state(e, withdrawn) == "published"), None)

    def _of(self, release: str) -> Iterator[Entry]:
        """The runs of a release, newest first, each read only when it is needed."""
        return map(_entry, self._rows(_of_release(release)))

    def entries(self) -> Sequence[Entry]:
        """All runs, newest first: in the order in which they were booked, whatever a clock said."""
        return [_entry(row) for row in self._rows()]

    def _rows(self, where: exp.Expr | None = None) -> Sequence[tuple[Any, ...]]:
        if not self.exists:
            return []
        query = (
            exp.select(*Entry.__dataclass_fields__)
            .from_(self.table("releases").table)
            .order_by(exp.column("rowid").desc())
        )
        return self.session.rows(query if where is None else query.where(where))

    def count(self) -> int:
        """How many runs there are."""
        query = exp.select(exp.Count(this=exp.Star())).from_(self.table("releases").table)
        return int(self.session.row(query)[0]) if self.exists else 0


_HIERARCHY_COLUMNS = (
    "release",
    "hierarchy",
    "level",
    "value",
    "label",
    "loss",
    "lower",
    "upper",
)

_OF_PUBLISHED = {
    "published": ("record", "person", "class"),
    "published_rows": ("row", "records"),
}

_CLUSTER_COLUMNS = ("cluster", "side", "record", "records")


def _of_release(release: str) -> exp.Expr:
    """Rows of a release; names of tables differ in more than the case of letters."""
    return exp.Lower(this=exp.column("release")).eq(exp.Literal.string(release.lower()))


def _state(entry: Entry, withdrawn: Mapping[str, Withdrawal]) -> State:
    if entry.run in withdrawn:
        return "withdrawn"
    if entry.kind == "view":
        return "preview"
    return "trial" if entry.trial else "published"


def _entry(row: tuple[Any, ...]) -> Entry:
    fields = dict(zip(Entry.__dataclass_fields__, row, strict=True))
    for name in ("transformation", "metrics", "record"):
        fields[name] = json.loads(fields[name])
    fields["exports"] = tuple(fields["exports"])
    return Entry(**fields)
