"""Mutants of releases of every method: what `verify` accepts although somebody changed it.

    python tests/benchmarks/mutants.py [--mutants 1000] [--seed 1] [--log mutants.jsonl] [METHOD …]

Each release has a target, exports of every kind, a dictionary, a private book, and a folder for a
recipient with a signed manifest. A mutant changes one of them, or the source database, at random;
`verify` then looks at it, as the owner or, of the folder, as the recipient does. An accepted mutant
is harmless where all that is published still reads the same: the same objects, rows, types, texts
of views and macros, comments and notes, read by DuckDB or pyarrow without dbdeid. Prints how many
of each kind were refused or accepted, and every accepted one that does not read the same.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from alike import METHODS, PEOPLE

import dbdeid
from dbdeid.commands import handout
from dbdeid.publish import signatures

FILES = ("out.parquet", "out.csv", "more.duckdb")
SOURCE, TARGET, BOOK = "owner.duckdb", "out.duckdb", "out.private.duckdb"
SENT, KEY = "sent", "owner"
Change = Callable[[Path, random.Random], str]


def made(method: str, folder: Path) -> dict[str, Any]:
    """A release of a method in a folder."""
    given = {**METHODS[method], "database": SOURCE, "target": TARGET}
    given |= {"output": {"export": list(FILES)}, "evaluate": {}}
    with duckdb.connect(str(folder / SOURCE)) as con:
        con.execute(PEOPLE)
    (folder / "spec.yml").write_text(json.dumps(given))
    dbdeid.run(folder / "spec.yml")
    handout.hand_out(folder / "spec.yml", folder / SENT)
    signatures.make_key(folder / KEY)
    signatures.sign(folder / SENT, folder / KEY)
    return given


# -- reading without dbdeid --------------------------------------------------------------------


def told(folder: Path) -> dict[str, Any]:
    """All that the published files tell."""
    found: dict[str, Any] = {}
    for path in sorted([*folder.glob("*"), *folder.glob(f"{SENT}/**/*")]):
        private = (SOURCE, BOOK, KEY, f"{KEY}.pub", "spec.yml")
        if path.name in private or path.suffix == ".wal" or path.is_dir():
            continue
        read = {".duckdb": of_database, ".parquet": of_parquet, ".csv": of_csv}
        found[str(path.relative_to(folder))] = read.get(path.suffix, Path.read_bytes)(path)
    return found


def of_database(path: Path) -> Any:
    """Objects, texts, comments and rows in their order."""
    with duckdb.connect(str(path), read_only=True) as con:
        seen: list[Any] = []
        for listing in ("tables", "views", "columns", "indexes", "constraints", "sequences"):
            told_ = con.execute(
                "SELECT COLUMNS('name|sql|type|default|comment|tags|null') "
                f"FROM system.main.duckdb_{listing}() "
                "WHERE database_name = current_catalog() ORDER BY ALL"
            )
            seen.append(told_.fetchall())
        seen.append(
            con.execute(
                "SELECT schema_name, function_name, macro_definition, comment, tags, parameters "
                "FROM system.main.duckdb_functions() WHERE database_name = current_catalog() "
                "ORDER BY ALL"
            ).fetchall()
        )
        tables = con.execute(
            "SELECT schema_name, table_name FROM system.main.duckdb_tables() "
            "WHERE database_name = current_catalog() ORDER BY ALL"
        ).fetchall()
        for schema, name in tables:
            seen.append(repr(con.execute(f'FROM "{schema}"."{name}"').fetchall()))
        return seen


def of_parquet(path: Path) -> Any:
    """Rows in their order, schema and notes."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    notes = file.metadata.metadata, file.metadata.created_by
    return repr(file.read().to_pylist()), str(file.schema_arrow), notes


def of_csv(path: Path) -> Any:
    """Rows in their order, whatever ends a line."""
    with path.open(newline="", encoding="utf-8") as lines:
        return [line for line in csv.reader(lines) if line]


# -- changes -----------------------------------------------------------------------------------


def tables(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Schema, name and columns of each table with rows."""
    found = con.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() "
        "WHERE database_name = current_catalog() AND estimated_size > 0 ORDER BY ALL"
    ).fetchall()
    return [
        (s, t, [(c[0], c[1]) for c in con.execute(f'DESCRIBE "{s}"."{t}"').fetchall()])
        for s, t in found
    ]


def cell(con: duckdb.DuckDBPyConnection, rng: random.Random) -> str:
    """One cell of a table gets another value."""
    schema, name, columns = rng.choice(tables(con))
    place, (column, kind) = f'"{schema}"."{name}"', rng.choice(columns)
    rows = con.execute(f"SELECT count(*) FROM {place}").fetchone()[0]
    row = rng.randrange(rows)
    quoted = f'"{column}"'
    ways = ["NULL", f"(SELECT {quoted} FROM {place} ORDER BY hash(rowid + {row}) LIMIT 1)"]
    if kind == "VARCHAR":
        ways += [f"{quoted} || ' '", f"upper({quoted})", f"lower({quoted})", "''", "'John Smith'"]
        ways += [f"{quoted} || chr(8203)", f"replace({quoted}, 'a', chr(1072))"]
    elif kind.endswith("[]"):
        ways += ["['John Smith HIV']", f"list_reverse({quoted})", "[]", f"{quoted} || [NULL]"]
    elif kind == "BOOLEAN":
        ways += [f"NOT {quoted}"]
    elif kind in ("DOUBLE", "FLOAT"):
        ways += [f"nextafter({quoted}, 1e300)", f"-{quoted}", "'nan'"]
    elif "INT" in kind or "DECIMAL" in kind:
        ways += [f"{quoted} + 1", f"-{quoted}"]
    elif kind == "DATE":
        ways += [f"{quoted} + 1"]
    way = rng.choice(ways)
    con.execute(f"UPDATE {place} SET {quoted} = {way} WHERE rowid = {row}")
    return f"cell of {name}.{column}: {way[:40]}"


def swap(con: duckdb.DuckDBPyConnection, rng: random.Random) -> str:
    """Two rows of a table exchange the cells of one column."""
    schema, name, columns = rng.choice(tables(con))
    place, (column, _) = f'"{schema}"."{name}"', rng.choice(columns)
    rows = con.execute(f"SELECT count(*) FROM {place}").fetchone()[0]
    one, two = rng.randrange(rows), rng.randrange(rows)
    con.execute(
        f'CREATE OR REPLACE TEMP TABLE pair AS SELECT rowid AS r, "{column}" AS v FROM {place} '
        f"WHERE rowid IN ({one}, {two})"
    )
    for there, other in ((one, two), (two, one)):
        con.execute(
            f'UPDATE {place} SET "{column}" = (SELECT v FROM pair WHERE r = {other}) '
            f"WHERE rowid = {there}"
        )
    return f"swapped cells of {name}.{column}"


def rows(con: duckdb.DuckDBPyConnection, rng: random.Random) -> str:
    """Rows of a table are left out, doubled or put in another order."""
    schema, name, _ = rng.choice(tables(con))
    place = f'"{schema}"."{name}"'
    count = con.execute(f"SELECT count(*) FROM {place}").fetchone()[0]
    row = rng.randrange(count)
    way = rng.choice(("left out", "doubled", "reordered"))
    if way == "left out":
        con.execute(f"DELETE FROM {place} WHERE rowid = {row}")
    elif way == "doubled":
        con.execute(f"INSERT INTO {place} FROM {place} WHERE rowid = {row}")
    else:
        con.execute(f"CREATE TEMP TABLE kept AS FROM {place} ORDER BY hash(rowid + {row})")
        con.execute(f"DELETE FROM {place}")
        con.execute(f"INSERT INTO {place} FROM kept")
    return f"rows of {name} {way}"


def objects(con: duckdb.DuckDBPyConnection, rng: random.Random) -> str:
    """Something is added to a database, or a table changes its shape."""
    schema, name, columns = rng.choice(tables(con))
    place, (column, _) = f'"{schema}"."{name}"', rng.choice(columns)
    way = rng.choice(
        [
            "CREATE TABLE raw_people AS SELECT 'Ann' AS name",
            "CREATE SCHEMA other",
            "CREATE VIEW more AS SELECT 1 AS a",
            "CREATE MACRO min(x) AS max(x)",
            "CREATE MACRO duckdb_tables() AS TABLE SELECT 1 AS a",
            "CREATE MACRO hash(x) AS 1",
            "CREATE SEQUENCE numbers",
            "CREATE TYPE ill AS ENUM ('HIV of Ann')",
            f"COMMENT ON TABLE {place} IS 'Ann has HIV'",
            f"COMMENT ON COLUMN {place}.\"{column}\" IS 'Ann has HIV'",
            f"ALTER TABLE {place} ADD COLUMN more VARCHAR DEFAULT 'Ann'",
            f'ALTER TABLE {place} RENAME COLUMN "{column}" TO other',
            f'ALTER TABLE {place} DROP COLUMN "{column}"',
            f'ALTER TABLE {place} ALTER COLUMN "{column}" SET DEFAULT NULL',
            f'CREATE INDEX found ON {place} ("{column}")',
            f'ALTER TABLE {place} ALTER COLUMN "{column}" TYPE VARCHAR',
            f'ALTER TABLE {place} ALTER COLUMN "{column}" TYPE VARCHAR COLLATE NOCASE',
            "CREATE TABLE gone AS SELECT 'Ann' || range AS n FROM range(9000); DROP TABLE gone",
            f"DROP TABLE {place}",
        ]
    )
    con.execute(way)
    return way.replace(place, name)[:60]


IN_DATABASE = (cell, cell, cell, swap, rows, objects)


def of_target(name: str) -> Change:
    """Changes of a database file, by DuckDB or byte by byte."""

    def change(folder: Path, rng: random.Random) -> str:
        if rng.random() < 0.1:
            return flipped(folder / name, rng)
        with duckdb.connect(str(folder / name)) as con:
            return rng.choice(IN_DATABASE)(con, rng)

    return change


PADDED = ("one more", "one fewer", "moved", "drawn anew", "class left out", "joined")


def padding(folder: Path, rng: random.Random) -> str:
    """The catalog of counterfeit records tells of others, or a record is drawn anew along with it.

    Releases without a catalog have no such mutants.
    """
    with duckdb.connect(str(folder / TARGET)) as con:
        listed = con.execute("FROM alike_catalog ORDER BY ALL").fetchall()
        if not listed:
            con.execute("INSERT INTO alike_catalog VALUES ([0], 'flu', 1)")
            return "catalog: made up"
        classes, value, _ = rng.choice(listed)
        other = rng.choice([v for c, v, _ in listed if c == classes and v != value] or [value])
        way, class_ = rng.choice(PADDED), rng.choice(classes)
        change = (
            "UPDATE alike_catalog SET counterfeits = counterfeits + ? "
            "WHERE class_ids = ? AND sensitive_value IS NOT DISTINCT FROM ?"
        )
        if way in ("one fewer", "moved", "drawn anew"):
            con.execute(change, [-1, classes, value])
            con.execute("DELETE FROM alike_catalog WHERE counterfeits = 0")
        if way in ("one more", "moved", "drawn anew"):
            con.execute(change, [1, classes, value if way == "one more" else other])
        if way == "drawn anew":  # in the table, too
            con.execute(
                "UPDATE alike SET illness = ? WHERE rowid = (SELECT min(rowid) FROM alike "
                "WHERE class_id = ? AND illness IS NOT DISTINCT FROM ?)",
                [other, class_, value],
            )
        elif way == "class left out":
            rest = [one for one in classes if one != class_]
            con.execute("UPDATE alike_catalog SET class_ids = ?", [rest])
        elif way == "joined":
            (more,) = con.execute("SELECT max(class_id) FROM alike").fetchone() or (0,)
            wider = sorted({*classes, rng.randrange(more + 1)})
            con.execute("UPDATE alike_catalog SET class_ids = ?", [wider])
        return f"catalog: {way}"


def flipped(path: Path, rng: random.Random) -> str:
    """A byte of a file is another one, or bytes follow its end."""
    content = bytearray(path.read_bytes())
    if rng.random() < 0.3:
        path.write_bytes(bytes(content) + b"Ann has HIV")
        return "bytes after the end"
    place = rng.randrange(len(content))
    content[place] ^= 1 << rng.randrange(8)
    path.write_bytes(bytes(content))
    return f"bit flipped at {place} of {len(content)}"


def parquet(folder: Path, rng: random.Random) -> str:
    """A Parquet file of the release or its dictionary is written again with a change."""
    path = rng.choice(sorted(folder.glob("*.parquet")))
    way = rng.choice(("bytes", "rows", "rows", "rows", "pyarrow", "notes"))
    if way == "bytes":
        return f"{path.name}: {flipped(path, rng)}"
    options = "FORMAT parquet, COMPRESSION zstd"
    if way == "notes":
        options += ", KV_METADATA {note: 'Ann has HIV'}"
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE given AS FROM '{path}'")
        said = way if way != "rows" else rng.choice(IN_DATABASE[:-1])(con, rng)
        if way == "rows" and rng.random() < 0.5:  # in the order of releases, as an adversary would
            con.execute("CREATE OR REPLACE TABLE given AS FROM given ORDER BY ALL")
        if way == "pyarrow":
            import pyarrow.parquet as pq

            pq.write_table(con.sql("FROM given").to_arrow_table(), path)
        else:
            con.execute(f"COPY given TO '{path}' ({options})")
    return f"{path.name}: {said}"


def text(folder: Path, rng: random.Random) -> str:
    """A CSV file of the release or its dictionary changes by a cell, a row or its writing."""
    path = rng.choice(sorted(folder.glob("*.csv")))
    written = path.read_bytes().decode()
    lines = list(csv.reader(written.splitlines()))
    way = rng.choice(("cell", "cell", "cell", "row", "quotes", "ends", "mark", "blank", "space"))
    if way in ("cell", "row"):
        row = rng.randrange(1, len(lines))
        if way == "row":
            lines.append(lines[row])
        else:
            place = rng.randrange(len(lines[row]))
            other = rng.choice(lines[1:])[place]
            lines[row][place] = rng.choice([other, lines[row][place] + " ", "", "John Smith", "*"])
        with path.open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows(lines)
    else:
        other = {
            "quotes": "\n".join(",".join(f'"{c}"' for c in line) for line in lines) + "\n",
            "ends": written.replace("\n", "\r\n"),
            "mark": "\ufeff" + written,
            "blank": written + "\n",
            "space": written.replace(",", ", ", 1),
        }[way]
        path.write_bytes(other.encode())
    return f"{path.name}: {way}"


def book(folder: Path, rng: random.Random) -> str:
    """A cell or a row of the private book, or a value inside of its record."""
    with duckdb.connect(str(folder / BOOK)) as con:
        if rng.random() < 0.5:
            return rng.choice((cell, rows))(con, rng)
        (kept,) = con.execute("SELECT record FROM deid.releases").fetchone() or ("{}",)
        record = json.loads(kept)
        said = inside(record, rng)
        con.execute("UPDATE deid.releases SET record = ?", [json.dumps(record)])
        return f"record: {said}"


def inside(node: Any, rng: random.Random, path: str = "") -> str:
    """Another value somewhere in a tree of JSON."""
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    key = rng.choice(keys)
    value, there = node[key], f"{path}.{key}"
    if isinstance(value, (dict, list)) and value:
        return inside(value, rng, there)
    if isinstance(value, bool):
        node[key] = not value
    elif isinstance(value, (int, float)):
        node[key] = value + 1
    elif isinstance(value, str):
        node[key] = value[:-1] + ("0" if value[-1:] != "0" else "1")
    else:
        node[key] = 1
    return there


@cache
def built_ins() -> tuple[tuple[str, str, int], ...]:
    """Names of all functions of DuckDB, whether of tables, and how many parameters they take."""
    with duckdb.connect() as con:
        return tuple(
            con.execute(
                "SELECT DISTINCT function_name, function_type, coalesce(len(parameters), 1) "
                "FROM duckdb_functions() WHERE database_name = 'system' "
                "AND function_type <> 'pragma' ORDER BY ALL"
            ).fetchall()
        )


def shadow(folder: Path, rng: random.Random) -> str:
    """A built-in function is a macro of the source database, and the release has a class of one."""
    while True:
        name, kind, count = rng.choice(built_ins())
        names = ", ".join("abcdefghijklmnop"[:count])
        body = rng.choice(["0", "true", "NULL", "'x'", *("a" for _ in range(min(count, 1)))])
        body = f"TABLE SELECT {body} AS a" if "table" in kind else body
        quoted = name.replace('"', '""')
        try:
            with duckdb.connect(str(folder / SOURCE)) as con:
                con.execute(f'CREATE MACRO "{quoted}"({names}) AS {body}')
        except duckdb.Error:
            continue
        with duckdb.connect(str(folder / TARGET)) as con:
            return f"macro {name}, and {swap(con, rng)}"


def received(folder: Path, rng: random.Random) -> str:
    """The folder of a recipient: the manifest, its signature, a file, or one more."""
    sent = folder / SENT
    (manifest,) = sent.glob("*.json")
    way = rng.choice(("manifest", "manifest", "bytes", "file", "file", "swap", "more"))
    if way == "manifest":
        told_ = json.loads(manifest.read_text())
        said = inside(told_, rng)
        manifest.write_text(json.dumps(told_, indent=2))
        return f"manifest: {said}"
    if way == "bytes":
        path = rng.choice([manifest, manifest.with_name(f"{manifest.name}.sig")])
        return f"{path.suffix}: {flipped(path, rng)}"
    if way == "file":
        return f"sent {rng.choice((parquet, text, of_target('more.duckdb')))(sent, rng)}"
    if way == "swap":
        one, other = rng.sample(sorted(sent.glob("*.*[tvb]")), 2)
        kept = one.read_bytes()
        one.write_bytes(other.read_bytes())
        other.write_bytes(kept)
        return f"{one.name} and {other.name} change places"
    one = rng.choice(sorted(sent.glob("*.parquet")))
    name = rng.choice(("notes.txt", "out_catalog.parquet", "out_dictionary.csv.parquet", "x/y"))
    (sent / name).parent.mkdir(exist_ok=True)
    (sent / name).write_bytes(one.read_bytes())
    return f"one more: {name}"


KINDS: dict[str, Change] = {
    "target": of_target(TARGET),
    "padding": padding,
    "database export": of_target("more.duckdb"),
    "Parquet": parquet,
    "CSV": text,
    "book": book,
    "source macros": shadow,
    "received": received,
}


# -- judging -----------------------------------------------------------------------------------


def outcome(folder: Path, kind: str = "") -> str:
    """What `verify` says: accepted, refused, or how it broke down."""
    try:
        if kind == "received":
            _, files = signatures.receive_folder(folder / SENT, folder / f"{KEY}.pub")
            return "accepted" if all(f.verification.verified for f in files.values()) else "refused"
        found = dbdeid.verify(folder / "spec.yml")
    except dbdeid.DbdeidError as error:
        return "REPORT" if "please report" in f"{error} {error.hint}" else "refused"
    except Exception as error:
        return f"CRASH {type(error).__name__}"
    return "accepted" if found.verified else "refused"


def mutants(wanted: int, seed: int, methods: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """Method, kind, what was changed, and what became of it."""
    each = -(-wanted // (len(methods) * len(KINDS)))
    for method in methods:
        with tempfile.TemporaryDirectory() as place:
            base = Path(place) / "base"
            base.mkdir()
            made(method, base)
            assert outcome(base) == outcome(base, "received") == "accepted", method
            original = told(base)
            for kind, change in KINDS.items():
                for i in range(each):
                    rng = random.Random(f"{seed} {method} {kind} {i}")
                    folder = Path(place) / "mutant"
                    shutil.copytree(base, folder)
                    try:
                        said = change(folder, rng)
                    except duckdb.Error:
                        shutil.rmtree(folder)
                        continue  # DuckDB does not do such a thing
                    found = outcome(folder, kind)
                    if found == "accepted":
                        try:
                            found = "harmless" if told(folder) == original else "ACCEPTED"
                        except Exception as error:
                            found = f"ACCEPTED, and unreadable: {type(error).__name__}"
                    shutil.rmtree(folder)
                    yield method, kind, said, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path)
    parser.add_argument("methods", nargs="*", default=[])
    given = parser.parse_args()
    os.environ.setdefault("DBDEID_PSEUDONYM_KEY", "k" * 64)
    spent, tally, reasons = time.process_time(), Counter(), Counter()
    for method, kind, said, found in mutants(
        given.mutants, given.seed, given.methods or [*METHODS]
    ):
        tally[kind, found.split(",")[0]] += 1
        if given.log:
            with given.log.open("a") as out:
                out.write(json.dumps([given.seed, method, kind, said, found]) + "\n")
        if found == "harmless":
            reasons[kind, said.split(" at ")[0]] += 1
        elif found != "refused":
            print(f"{found}: {method}, {kind}, {said}", flush=True)
    print(f"{sum(tally.values())} mutants, {time.process_time() - spent:.0f} CPU seconds")
    for (kind, found), count in sorted(tally.items()):
        print(f"  {kind:16} {found:12} {count}")
    print("accepted, and everything published reads the same:")
    for (kind, said), count in sorted(reasons.items()):
        print(f"  {kind:16} {said}  {count}")


if __name__ == "__main__":
    main()
