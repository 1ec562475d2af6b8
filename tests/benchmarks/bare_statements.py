"""What a verified release costs in bare statements of DuckDB; `baseline.py --bare` calls it.

    python tests/benchmarks/bare_statements.py SOURCE FOLDER KEYS COLUMNS COARSE THREADS

Of a release under a fixed generalization there is one statement for each thing that it cannot do
without, if it is written twice, verified before and after, and remembered: no search, no metrics,
no look for what is not released. It prints the seconds of processors of each.
"""

import sys
import time

import duckdb

source, folder, keys, columns, coarse, threads = sys.argv[1:]
names = columns.split(", ")
row = f"row({columns})"
differs = " OR ".join(f"a.{name} IS DISTINCT FROM b.{name}" for name in names)
picked = ", ".join(f"r.{name}" for name in names)
generalized = f"(SELECT {coarse} FROM '{source}')"
numbered = f"(SELECT record_id, {coarse} FROM '{source}')"
grouped = f"SELECT count(*) AS n, count(DISTINCT diagnosis) AS l FROM a GROUP BY {keys}"
sides = f"SELECT *, 1 AS side FROM a UNION ALL SELECT {columns}, -1 FROM {generalized}"
STATEMENTS = {
    "combinations": [
        f"CREATE TABLE c AS SELECT {keys}, diagnosis, count(*) FROM '{source}' GROUP BY ALL"
    ],
    "sorted release": [
        f"CREATE TABLE k AS SELECT {keys} FROM {generalized} GROUP BY ALL HAVING count(*) >= 5",
        f"CREATE TABLE a AS SELECT {picked} FROM {generalized} AS r JOIN k USING ({keys}) "
        "ORDER BY ALL",
    ],
    "its classes": [f"SELECT min(n), min(l) FROM ({grouped})"],
    "its truthfulness": [
        f"SELECT count(*) FROM (SELECT {columns}, sum(side) AS side FROM ({sides}) GROUP BY ALL "
        "HAVING side > 0)"
    ],
    "its order": [
        "SELECT count(*) FILTER (this < before) FROM "
        f"(SELECT {row} AS this, lag({row}) OVER () AS before FROM a)"
    ],
    "its digest": [
        "SELECT sha256(string_agg(each, '' ORDER BY each)) FROM "
        f"(SELECT sha256(concat_ws('|', {columns})) AS each FROM a)"
    ],
    "a database": [
        f"ATTACH '{folder}/bare.duckdb' AS public",
        "CREATE TABLE public.b AS FROM a",
        "DETACH public",
    ],
    "a Parquet file": [f"COPY a TO '{folder}/bare.parquet' (FORMAT parquet, COMPRESSION zstd)"],
    "the database read": [
        f"ATTACH '{folder}/bare.duckdb' AS public (READ_ONLY)",
        f"SELECT count(*) FROM a POSITIONAL JOIN public.b AS b WHERE {differs}",
    ],
    "the file read": [
        f"CREATE TABLE b AS FROM '{folder}/bare.parquet'",
        f"SELECT count(*) FROM a POSITIONAL JOIN b WHERE {differs}",
    ],
    "the book": [
        f"CREATE TABLE book AS SELECT md5_number_lower(record_id::VARCHAR), hash({keys}) "
        f"FROM {numbered}"
    ],
}
connection = duckdb.connect(config={"threads": int(threads)})
for name, statements in STATEMENTS.items():
    before = time.process_time()
    for statement in statements:
        connection.execute(statement).fetchall()
    print(f"{name} {time.process_time() - before:.2f}", end=", ")
