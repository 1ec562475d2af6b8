"""A project sees that one release reads the table that another writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from lakes import spec

from dbdeid.bind.read import read
from dbdeid.workspace.lineage import read as read_by
from dbdeid.workspace.lineage import written

HALL = "postgresql://{}@db.example.org/hall"


@pytest.mark.parametrize("name", ["lake.visits", "lake.main.visits", "hall.research.visits"])
def test_a_table_that_is_written_is_known_where_it_is_read(place: Path, name: str) -> None:
    attach = {"hall": HALL.format("publisher:${SECRET}")}
    things = written(read(spec(name, attach=attach)))
    given = {key for key, of in things.items() if of == "output.export"}
    other = {"lake": "lake.sqlite", "hall": HALL.format("reader")}
    found = read_by(read(spec("again.csv", attach=other) | {"source": name}))
    assert len(given) == 2
    assert len(found & given) == 1
    assert "SECRET" not in str(things)
