"""Nothing of a withheld cell, and nothing of the order of the source, is in the files of Spark."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pytest
from spark_releases import lent, people, spec

import dbdeid

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

CANARY = "Qx7 canary"


def files(spark: Any, name: str) -> list[bytes]:
    """The files of a table."""
    found = spark.table(name).inputFiles()
    assert found
    return [Path(unquote(urlsplit(one).path)).read_bytes() for one in found]


def test_no_canary_is_in_what_is_written(
    here: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here.conf.set("spark.sql.parquet.compression.codec", "uncompressed")
    try:
        rows = people(600, seed=11)
        names = pa.array([f"{CANARY} {i}" for i in range(rows.num_rows)])
        lent(here, "kept", rows.set_column(0, "name", names))
        columns = ", ".join(f"{c} COMMENT '{CANARY}'" for c in rows.column_names)
        here.sql(f"CREATE VIEW visits ({columns}) COMMENT '{CANARY}' AS SELECT * FROM kept")
        assert any(CANARY.encode() in one for one in files(here, "kept"))  # it would be seen
        found = dbdeid.run(spec(), connection=here)
        for table in ("visits_public", "visits_public_dictionary"):
            assert not [one for one in files(here, table) if CANARY.encode() in one]
            told = here.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
            assert CANARY not in repr(told)
        assert CANARY not in repr(found.to_dict())
        printed = capfd.readouterr()
        assert CANARY not in printed.out + printed.err
    finally:
        here.conf.unset("spark.sql.parquet.compression.codec")


def test_another_original_of_the_same_release_changes_no_byte(here: Any) -> None:
    rows = people(2000, seed=12)
    kept = []
    for i, order in enumerate((range(2000), np.random.default_rng(1).permutation(2000))):
        names = pa.array([f"{i} {n}" for n in range(2000)])
        lent(here, f"visits_{i}", rows.take(pa.array(order)).set_column(0, "name", names))
        given = spec(release=f"public_{i}", source=f"visits_{i}")
        dbdeid.run(given, connection=here)
        tables = (f"public_{i}", f"public_{i}_dictionary")
        bytes_of = [sorted(hashlib.sha256(b).hexdigest() for b in files(here, t)) for t in tables]
        kept.append(bytes_of)
    assert kept[0] == kept[1]
