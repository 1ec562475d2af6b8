"""Sources that are files: Spark reads them itself, and a release of them is that of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_releases import counted, lent, people, released, spec

import dbdeid
from dbdeid.engine.engines import warehouse_of
from dbdeid.errors import DataError, DbdeidError

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

ROWS = people(900, seed=7)


def small(**more: Any) -> dict[str, Any]:
    return spec(**{"method": {"name": "full_domain", "suppression_limit": 0.2}, **more})


def kept_in(folder: Path, rows: pa.Table = ROWS) -> Path:
    """Rows as two files of a folder, as Spark writes them."""
    folder.mkdir(parents=True)
    for i in range(2):
        half = rows.slice(i * rows.num_rows // 2, rows.num_rows // 2)
        pq.write_table(half, folder / f"part-{i}.parquet")
    (folder / "_SUCCESS").touch()
    return folder


def test_files_give_the_release_of_the_table(here: Any, tmp_path: Path) -> None:
    lent(here, "visits", ROWS)
    dbdeid.run(small(), connection=here)
    wanted = counted(released(here, "visits_public"))
    folder = kept_in(tmp_path / "odd [a] {b} c%20d" / "visits.parquet")
    for source in (f"{folder}/", f"{kept_in(tmp_path / 'plain')}/part-*.parquet"):
        assert dbdeid.run(small(source=source), connection=here).verified
        assert counted(released(here, "visits_public")) == wanted
    tables = {t.name for t in here.catalog.listTables()}
    assert tables == {"visits", "visits_public", "visits_public_dictionary"}


def test_a_path_stands_beside_the_spec(here: Any, tmp_path: Path) -> None:
    kept_in(tmp_path / "visits")
    path = tmp_path / "visits.yml"
    path.write_text(json.dumps(small(source="visits/")))
    assert dbdeid.run(path, connection=here).verified


def test_columns_of_some_files_have_to_have_a_role(here: Any, tmp_path: Path) -> None:
    folder = kept_in(tmp_path / "visits")
    more = ROWS.slice(0, 5).append_column("diary", pa.array(["x"] * 5))
    pq.write_table(more, folder / "part-9.parquet")
    with pytest.raises(DbdeidError, match=r"column 'diary' .* has no role"):
        dbdeid.run(small(source=f"{folder}/"), connection=here)
    other = ROWS.slice(0, 5).drop_columns("age").append_column("age", pa.array(["x"] * 5))
    pq.write_table(other, folder / "part-9.parquet")
    with pytest.raises(DataError, match="as one table: CANNOT_MERGE_SCHEMAS"):
        dbdeid.run(small(source=f"{folder}/"), connection=here)


@pytest.mark.parametrize("log", ["_delta_log/0.json", "metadata/v1.metadata.json"])
@pytest.mark.parametrize("name", ["visits/", "visits/*.parquet"])
def test_files_of_a_table_with_a_log_are_not_read_without_it(
    here: Any, tmp_path: Path, log: str, name: str
) -> None:
    folder = kept_in(tmp_path / "visits")
    (folder / log).parent.mkdir()
    (folder / log).write_text("{}")
    with pytest.raises(DataError, match="which this session of Spark cannot read") as error:
        dbdeid.run(small(source=f"{tmp_path}/{name}"), connection=here)
    assert error.value.hint is not None
    assert "package" in error.value.hint
    assert not here.catalog.listTables()


def test_what_cannot_be_read_is_told(here: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.csv").write_text("age,zip\n1,Ann\n")
    for source, told in (
        (f"{tmp_path}/nowhere/", "Spark finds no Parquet files there"),
        (f"{tmp_path}/empty/", "Spark finds no Parquet files there"),
        (f"{tmp_path}/texts/", "as one table: FAILED_READ_FILE"),
        ("wasbs://a@b/visits/", "cannot read the files there as one table: RuntimeException"),
    ):
        with pytest.raises(DataError, match=told) as error:
            dbdeid.run(small(source=source), connection=here)
        assert "Ann" not in str(error.value)
        assert error.value.hint


def test_a_release_does_not_replace_its_own_source(here: Any, tmp_path: Path) -> None:
    lent(here, "visits", ROWS)
    dbdeid.run(small(), connection=here)
    before = counted(released(here, "visits_public"))
    there = warehouse_of(here)
    assert there is not None
    file = here.table("visits_public").inputFiles()[0].removeprefix("file:")
    folder = str(Path(file).parent)
    here.sql("CREATE OR REPLACE TEMP VIEW again AS SELECT * FROM visits_public")
    given = small()
    del given["columns"]["name"], given["columns"]["born"]
    for source in (f"{folder}/", "again"):
        with pytest.raises(DataError, match="read from the files of 'visits_public'"):
            dbdeid.run({**given, "source": source}, connection=here)
    here.catalog.dropTempView("again")
    assert counted(released(here, "visits_public")) == before
