"""Published database files: types kept, byte for byte the same, nothing of the process in them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from dbdeid.engine.duckdb.publish import write_database
from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.session import Step
from dbdeid.errors import DataError

TYPES = """SELECT 170141183460469231731687303715884105727::HUGEINT AS a, -1::HUGEINT AS b,
  340282366920938463463374607431768211455::UHUGEINT AS c, 1.50::DECIMAL(30, 2) AS d,
  TIMESTAMP_S '2020-01-01 01:02:03' AS e, DATE '0001-01-01' AS g, 0.1::FLOAT AS h,
  ['x', NULL, ''] AS i, NULL::VARCHAR AS "no ""j", '' AS k, true AS l, 255::UTINYINT AS m"""

# Doubles, booleans with gaps and long texts: what DuckDB packs in ways that leave stretches unset.
WIDE = """SELECT (i * 7919 % 10007) / 97.0 AS x, sqrt(i) AS y,
  'text number ' || md5(i::VARCHAR) AS t, CASE WHEN i % 7 <> 0 THEN i % 3 = 0 END AS b,
  'label ' || (i % 40) AS c, i * 7919 % 10007 AS n, i::SMALLINT AS s, (i / 3)::DECIMAL(9, 2) AS d,
  DATE '2020-01-01' + (i % 1000)::INTEGER AS w, CASE WHEN i % 5 > 0 THEN i END AS o,
  TIMESTAMP '2020-01-01' + to_seconds(i * i) AS m, [i::VARCHAR, 'x' || i % 9] AS l
FROM range(30000) AS r(i)"""


def step(text: str) -> Step:
    return Step("released", sqlglot.parse_one(text, dialect="duckdb"))


@pytest.mark.full
def test_types_and_cells_arrive(tmp_path: Path) -> None:
    with Session.open(None, read_only=False) as session:
        sent = session.run(step(TYPES))
        before = session.rows("FROM temp.main.released")
        write_database(session, tmp_path / "out.duckdb", {"r": sent}, {})
    with duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True) as con:
        assert con.execute("FROM r").fetchall() == before
        types = [row[1] for row in con.execute("DESCRIBE r").fetchall()]
    assert types == [c.type for c in sent.columns]


@pytest.mark.full
def test_views_stand_beside_their_tables_under_any_name(tmp_path: Path) -> None:
    query = sqlglot.parse_one("SELECT count(*) AS n FROM r", dialect="duckdb")
    assert isinstance(query, exp.Query)
    with Session.open(None, read_only=False) as session:
        sent = session.run(step(TYPES))
        write_database(session, tmp_path / "out.duckdb", {"r": sent}, {"counted": query})
    path = (tmp_path / "out.duckdb").rename(tmp_path / "renamed.duckdb")
    with duckdb.connect(str(path), read_only=True) as con:
        assert con.execute("FROM counted").fetchall() == [(1,)]
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE r AS FROM range(5); ATTACH '{path}' AS other (READ_ONLY)")
        assert con.execute("FROM other.counted").fetchall() == [(1,)]


def test_a_package_of_the_same_name_in_the_working_folder_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = tmp_path / "dbdeid"
    foreign.mkdir()
    (foreign / "__init__.py").write_text("raise RuntimeError('foreign')")
    monkeypatch.chdir(tmp_path)
    with Session.open(None, read_only=False) as session:
        write_database(session, tmp_path / "out.duckdb", {"r": session.run(step(TYPES))}, {})
    assert (tmp_path / "out.duckdb").exists()


def test_what_else_the_process_holds_changes_no_byte(tmp_path: Path) -> None:
    files = []
    for number in range(3):
        with Session.open(None, read_only=False) as session:
            marker = f"secret {number} of the original "
            session.execute(
                f"CREATE TEMP TABLE original AS SELECT '{marker}' || md5(i::VARCHAR) AS s, "
                "random() AS d FROM range(100000) AS r(i)"
            )
            session.rows("SELECT s, sum(d) FROM original GROUP BY s ORDER BY s LIMIT 5")
            session.execute("DROP TABLE original")
            path = tmp_path / f"{number}.duckdb"
            released = session.run(step(WIDE))
            exported = tmp_path / f"{number}.parquet"
            if number == 2:  # nor whether its rows are at hand as an export
                session.export(exp.select("*").from_(released.table), exported)
            at_hand = {"r": exported} if number == 2 else None
            write_database(session, path, {"r": released}, {}, at_hand)
        files.append(path.read_bytes())
    assert files[0] == files[1] == files[2]
    assert b"secret" not in files[0]


def test_a_file_that_cannot_be_written_is_an_error_with_its_name(tmp_path: Path) -> None:
    with Session.open(None, read_only=False) as session:
        sent = session.run(step(TYPES))
        with pytest.raises(DataError, match=r"out\.duckdb cannot be written \("):
            write_database(session, tmp_path / "missing" / "out.duckdb", {"r": sent}, {})
