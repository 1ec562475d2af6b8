"""Small worlds to be killed in: a source, a release that is there, and a run that replaces it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Self

import duckdb
import fastexcel
import pyarrow as pa

import dbdeid
from dbdeid.bind.read import read
from dbdeid.engine.regular import digest
from dbdeid.workspace.workplace import workplace

# One of each way to write a file of text, beside CSV.
PACKED = ("out.csv.gz", "out.json")
BOOK = "out.xlsx"  # of the small world: writing a large one takes long
READERS = {".csv": "read_csv", ".parquet": "read_parquet", ".json": "read_json"}

KS = (5, 10)  # the release that is there, and the one that replaces it, by turns

SMALL = """
CREATE TABLE source AS
SELECT
  'person ' || i AS name,
  20 + (i * 7) % 60 AS age,
  CASE WHEN i % 11 = 0 THEN NULL WHEN i % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
  (10000 + (i * 37) % 400)::VARCHAR AS zip,
  ['asthma', 'flu', 'none'][1 + i % 3] AS illness
FROM range(1500) AS r(i)
"""
SMALL_COLUMNS = {
    "name": "identifier",
    "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 20]}},
    "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
    "zip": {"role": "quasi_identifier", "hierarchy": {"prefix": [3, 1]}},
    "illness": {"role": "sensitive", "accept": "homogeneity"},
}
ADULT_COLUMNS = {
    "age": {"role": "quasi_identifier", "hierarchy": {"intervals": [5, 10, 20]}},
    "sex": {"role": "quasi_identifier", "hierarchy": "suppress"},
    "race": {"role": "quasi_identifier", "hierarchy": "suppress"},
    "education": {"role": "quasi_identifier", "hierarchy": "suppress"},
    "income": {"role": "sensitive", "accept": "homogeneity"},
}


@dataclass(frozen=True)
class World:
    """A folder with a database, and a spec for each k.

    `layout` is `target`, with exports of every kind, or `inside` the database, with one export.
    """

    folder: Path
    size: str
    layout: str

    @classmethod
    def make(cls, folder: Path, size: str, layout: str) -> Self:
        world = cls(folder, size, layout)
        folder.mkdir()
        with duckdb.connect(str(folder / "owner.duckdb")) as con:
            if size == "small":
                con.execute(SMALL)
            else:
                with as_file(files("dbdeid.sample").joinpath("adult.parquet")) as adult:
                    names = ", ".join(ADULT_COLUMNS)
                    con.execute(f"CREATE TABLE source AS SELECT {names} FROM '{adult}'")
            con.execute("CREATE TABLE other AS SELECT range AS a FROM range(1000)")
            con.execute("CREATE VIEW seen AS SELECT count(*) AS n FROM other")
        for k in KS:
            (folder / f"k{k}.yml").write_text(json.dumps(world.spec(k)))
        return world

    def spec(self, k: int) -> dict[str, Any]:
        place: dict[str, Any] = {"output": {"export": ["out.csv"]}}
        if self.layout == "target":
            exports = ["out.parquet", "out.csv", *PACKED]
            exports.append("copy.duckdb" if self.size == "large" else BOOK)
            output = {"export": [*exports, "parts/"], "partition_by": ["sex"]}
            place = {"target": "out.duckdb", "output": output}
        return {
            "release": "released",
            "database": "owner.duckdb",
            "source": "source",
            "columns": SMALL_COLUMNS if self.size == "small" else ADULT_COLUMNS,
            "privacy": [{"model": "k_anonymity", "k": k}],
            "method": {"name": "full_domain", "suppression_limit": 0.1},
            "evaluate": {"metrics": []},
            **place,
        }

    @property
    def home(self) -> Path:
        name = "owner.duckdb" if self.layout == "inside" else "out.private.duckdb"
        return self.folder / name

    @property
    def names(self) -> set[str]:
        """The files that belong here once there is a release."""
        found = {"owner.duckdb", "out.csv", "out_dictionary.csv", *(f"k{k}.yml" for k in KS)}
        if self.layout == "target":
            found |= {"out.duckdb", "out.private.duckdb", "out.parquet", "out_dictionary.parquet"}
            found |= {"copy.duckdb"} if self.size == "large" else {BOOK, "out_dictionary.xlsx"}
            found |= {"parts", "parts_dictionary.parquet"}
            found |= {*PACKED, *(name.replace(".", "_dictionary.", 1) for name in PACKED)}
        return found

    @property
    def qis(self) -> list[str]:
        columns = self.spec(KS[0])["columns"]
        return [n for n, c in columns.items() if "hierarchy" in c]

    def waiting(self) -> int:
        """How many files are booked and not in their places."""
        if not self.home.exists():
            return 0
        with duckdb.connect(str(self.home), read_only=True) as con:
            if not con.execute("FROM duckdb_tables() WHERE table_name = 'files'").fetchall():
                return 0
            booked = con.execute("SELECT unfinished FROM deid.files").fetchall()
        return sum((self.folder / path).exists() for (path,) in booked)

    def judge(self, *, finished: bool = False) -> int | None:
        """The k of the release that stands, after everything about it was found to agree.

        The looks at it are the next start: what a killed run left is gone afterwards, but for the
        log of a database, which DuckDB removes when it is next opened for writing.
        """
        with workplace(read(self.folder / f"k{KS[0]}.yml"), writing=False) as work:
            runs = work.entries  # the next start, as a reader's
        k = int(runs[0].record["privacy"][0]["k"]) if runs else None
        prints = {p.name: digest(p) for p in self.folder.iterdir()}
        if k is not None and _VERIFIED.get(self.folder) != prints:
            found = dbdeid.verify(self.folder / f"k{k}.yml")
            assert found.verified, found
            self._agree(k, runs[0].record["released_rows"])
            _VERIFIED[self.folder] = prints
        left = {p.name for p in self.folder.iterdir()}
        log = set() if finished else {f"{self.home.name}.wal"}
        assert left - log - self.names == set()
        assert k is None or left >= self.names
        self._others_unchanged(k is not None)
        return k

    def _agree(self, k: int, rows: int) -> None:
        """Read with plain SQL: every copy has as many rows, in classes of at least k, the same."""
        contents: dict[str, Counter[Any]] = {}
        places = {"owner.duckdb": "", "out.duckdb": "", "copy.duckdb": ""}
        for name in self.names:
            path = self.folder / name
            if name in places and (name != "owner.duckdb" or self.layout == "inside"):
                with duckdb.connect(str(path), read_only=True) as con:
                    contents[name] = self._rows(con, "released")
            elif name.startswith("out.") and name.endswith((*READERS, *PACKED)):
                with duckdb.connect() as con:
                    reader = READERS[f".{name.split('.')[1]}"]
                    more = ", all_varchar = true" if reader == "read_csv" else ""
                    contents[name] = self._rows(con, f"{reader}('{path}'{more})")
            elif name == BOOK:
                sheet = fastexcel.read_excel(path).load_sheet(0, schema_sample_rows=None)
                with duckdb.connect() as con:
                    con.register("sheet", pa.Table.from_batches([sheet.to_arrow()]))
                    contents[name] = self._rows(con, "sheet")
        if "parts" in self.names:
            with duckdb.connect() as con:
                files = f"'{self.folder / 'parts'}/*/*.parquet', hive_partitioning = true"
                contents["parts"] = self._rows(con, f"read_parquet({files})")
        first = next(iter(contents.values()))
        assert all(rows == first for rows in contents.values()), {
            n: len(contents[n]) for n in contents
        }
        assert first.total() == rows
        classes: Counter[Any] = Counter()
        for row, count in first.items():
            classes[row[: len(self.qis)]] += count
        assert min(classes.values()) >= k

    def _rows(self, con: duckdb.DuckDBPyConnection, table: str) -> Counter[Any]:
        names = ", ".join([*self.qis, "COLUMNS(* EXCLUDE (" + ", ".join(self.qis) + "))"])
        query = f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (SELECT {names} FROM {table})"
        return Counter(con.execute(query).fetchall())

    def _others_unchanged(self, released: bool) -> None:
        with duckdb.connect(str(self.folder / "owner.duckdb"), read_only=True) as con:
            objects = con.execute(
                "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() "
                "AND NOT temporary UNION ALL SELECT view_name FROM duckdb_views() "
                "WHERE NOT internal ORDER BY ALL"
            ).fetchall()
            prints = con.execute(
                "SELECT (SELECT (count(*), bit_xor(hash(s))) FROM source AS s), "
                "(SELECT (count(*), bit_xor(hash(o))) FROM other AS o), (SELECT n FROM seen)"
            ).fetchone()
        expected = ["other", "seen", "source"]
        if released and self.layout == "inside":
            expected += ["released", "released_dictionary"]
            expected += [
                "clusters",
                "counterfeits",
                "files",
                "frontiers",
                "hierarchies",
                "published",
                "published_rows",
                "withdrawals",
                "releases",
            ]
        assert [name for (name,) in objects] == sorted(expected)
        known = _PRINTS.setdefault(self.folder, prints)
        assert prints == known


_PRINTS: dict[Path, Any] = {}  # of what is not ours, as it was first found
_VERIFIED: dict[Path, dict[str, str]] = {}  # the bytes that were last found to be right
