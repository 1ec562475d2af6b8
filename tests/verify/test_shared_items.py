"""(k, k^m)-anonymity of a written table: mutants of a class are caught by the verifier alone."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa
import pytest
from brute import model

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.verify import Declared, Promise, verify_table

Row = tuple[str, str | None]  # class, items
ITEMS = model("km_anonymity", column="codes", k=2, m=2)


def judged(rows: Sequence[Row], *, as_written: bool = True) -> Promise:
    """The promise of the model on a table that is released as it is."""
    declared = Declared(
        release="t",
        columns=(Column("ward", "VARCHAR"), Column("codes", "VARCHAR")),
        quasi_identifiers=("ward",),
        bounds=(),
        withheld=(),
        models=(ITEMS,),
        transformation={"ward": 0},
        tops={"ward": 2},
        source_rows=len(rows),
        suppression_limit=1.0,
        keeps_suppressed=False,
        null_policy="own_category",
        subject=None,
        as_written=("codes",) if as_written else (),
    )
    with duckdb.connect() as con:
        ward, codes = zip(*rows, strict=True)
        con.register("given", pa.table({"ward": ward, "codes": pa.array(codes, pa.string())}))
        for name in ("source", "t"):
            con.execute(f"CREATE TABLE {name} AS FROM given")
        con.execute(
            "CREATE TABLE h (hierarchy VARCHAR, level INTEGER, value VARCHAR, label VARCHAR)"
        )
        with Session.over(con, None, read_only=False) as session:
            found = verify_table(
                session,
                Relation("t"),
                declared,
                dictionary=None,
                source=Relation("source"),
                hierarchies=Relation("h"),
            )
    (promise,) = [p for p in found.promises if p.model == ITEMS.model]
    return promise


# every pair of items of a record is that of another one of its ward, too
KEPT: list[Row] = [
    ("a", "flu;gout"),
    ("a", "gout;flu"),
    ("a", "flu"),
    ("b", "flu;gout;asthma"),
    ("b", "asthma; flu; gout"),
    ("b", None),
    ("b", "gout;flu"),
]


def test_what_is_kept_is_found() -> None:
    promise = judged(KEPT)
    assert (promise.model, promise.found, promise.holds) == ("km_anonymity", 2, True)
    assert promise.declared == {"column": "codes", "k": 2, "m": 2}


MUTANTS: dict[str, list[Row]] = {
    "an item more": [("a", "flu;gout;asthma"), *KEPT[1:]],
    "an item that is another": [("a", "flu;asthma"), *KEPT[1:]],
    "an item less, so that another's pair is alone": [("a", "flu"), *KEPT[1:]],
    "a record left out": [*KEPT[:3], *KEPT[4:]],
    "a record in another class": [("b", "flu;gout"), *KEPT[1:]],
    "an item of other case": [("a", "Flu;gout"), *KEPT[1:]],
    "another separator": [("a", "flu,gout"), *KEPT[1:]],
    "a class of one": [*KEPT, ("c", None)],
    "a class of two strangers": [*KEPT, ("c", "flu"), ("c", "gout")],
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name: str) -> None:
    promise = judged(MUTANTS[name])
    assert not promise.holds
    assert promise.found == 1


def test_three_items_that_are_known_are_more_than_was_promised() -> None:
    """With any two of three items two records are found, and with all three one."""
    cyclic = [("a", codes) for codes in ("x;y;z", "x;y", "y;z", "x;z")]
    assert judged(cyclic).holds
