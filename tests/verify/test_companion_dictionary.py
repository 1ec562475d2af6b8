"""The dictionary of a bare file: two explanations of one value are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from handmade import detail, failed, handmade

from dbdeid.data.source_files import file_query
from dbdeid.engine.duckdb.session import Session
from dbdeid.verify import verify_bare
from dbdeid.verify.base import file_kinds

NAMES = ("age", "zip", "sex")
TWICE = """INSERT INTO ward_dictionary SELECT * REPLACE ('0' AS lower, '99' AS upper)
    FROM ward_dictionary WHERE "column" = 'age' LIMIT 1"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ending", [".duckdb", ".parquet", ".csv"])
def test_a_value_explained_twice(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"ward{ending}"
    handmade().write(path)
    assert verify_bare(path, NAMES, 5).verified
    path.unlink()
    handmade().sql(TWICE).write(path)
    found = verify_bare(path, NAMES, 5)
    assert failed(found) == {"dictionary"}
    assert detail(found, "dictionary") == "lists 1 values of 'age' more than once"


def test_another_file_of_that_name_is_no_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    handmade().write(path)
    (tmp_path / "ward_dictionary.csv").write_text("word,meaning\nage,years\nage,years\n")
    assert verify_bare(path, NAMES, 5).verified


def test_both_readers_of_csv_take_every_line_for_a_row(tmp_path: Path) -> None:
    # The verifier has its own options, and must not see other rows than a run does.
    path = tmp_path / "any.csv"
    for text in (
        "a,b\n# no comment,1\n2,\n",
        "note\na,b\n1,2\n",
        'a,b\n"",1\n,2\n"x ""y""",3\n',
        "a;b\n1;2\n#;4\n",
    ):
        path.write_text(text)
        query = file_query(path)
        assert query is not None
        with Session.open(None, read_only=True) as session:
            theirs = file_kinds.foreign_csv(session, path, "read")
            count = session.row(f"SELECT count(*) FROM ({query.sql('duckdb')}) AS q")
            assert session.row(f"SELECT count(*) FROM {theirs.table.sql('duckdb')}") == count
            assert tuple(c.name for c in session.describe(query)) == theirs.names
