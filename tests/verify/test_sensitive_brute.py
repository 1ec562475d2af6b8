"""What the verifier finds of sensitive attributes on random tables is what their papers say."""

from __future__ import annotations

from math import inf
from typing import Any

import brute
import duckdb
import pyarrow as pa
import pytest
from brute import Counts, counts, model
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Column, Relation
from dbdeid.verify import Declared, Promise, verify_table

QIS, COLUMNS = ("age", "s0"), ("age", "s0", "class", "value")
BOTH = {"column": ("class", "value")}
MODELS = (
    model("l_diversity", **BOTH, l=1.0),
    model("l_diversity", **BOTH, joint=True, l=1.0),
    model("l_diversity", **BOTH, l=1.0, kind="entropy"),
    model("l_diversity", **BOTH, l=2.0, kind="recursive", c=1.0),
    model("alpha_k", **BOTH, k=1, alpha=0.5),
    model("t_closeness", **BOTH, t=0.5),
    model("t_closeness", **BOTH, joint=True, t=0.5),
    model("t_closeness", column="class", t=0.5, distance="ordered"),
    model("basic_beta", **BOTH, beta=1.0),
    model("delta_disclosure", **BOTH, delta=1.0),
)

Row = tuple[Any, ...]


def expected(asked: Any, held: list[Counts], whole: Counts) -> Any:
    match asked.model, getattr(asked, "kind", getattr(asked, "distance", None)):
        case "l_diversity", "distinct":
            return min(map(brute.distinct, held))
        case "l_diversity", "entropy":
            return min(map(brute.entropy, held))
        case "l_diversity", _:
            most = float(max(brute.recursive(h, int(asked.l)) for h in held))
            least = min(int(asked.l), *map(brute.distinct, held))
            return {"l": least, "c": "infinite" if most == inf else most}
        case "t_closeness", "equal":
            return float(max(brute.equal(h, whole) for h in held))
        case "t_closeness", _:
            return float(max(brute.ordered(h, whole) for h in held))
        case "basic_beta", _:
            return float(max(max(brute.gains(h, whole).values()) for h in held))
        case "delta_disclosure", _:
            most = max(brute.delta_of(h, whole) for h in held)
            return "infinite" if most == inf else most
    alpha = float(max(map(brute.confidence, held)))
    return {"k": min(h.size for h in held), "alpha": alpha}


cells = st.sampled_from([None, "x", "y"])
values = st.sampled_from([None, "", "a", "b", "B", " \u0430 "])
MEANINGS = {"": None, "B": "b", " \u0430 ": "a"}  # a Cyrillic letter
rows = st.lists(st.tuples(cells, cells, values, values, st.integers(1, 5)), min_size=1, max_size=20)


@given(
    rows=rows,
    data=st.data(),
    by_subject=st.booleans(),
    exclude=st.booleans(),
    as_written=st.sampled_from([(), ("class",), ("class", "value")]),
)
@settings(max_examples=examples(25), deadline=None)
def test_what_is_found_is_what_the_definition_gives(
    rows: list[Row],
    data: st.DataObject,
    by_subject: bool,
    exclude: bool,
    as_written: tuple[str, ...],
) -> None:
    classes = sorted({row[:2] for row in rows}, key=str)
    released = data.draw(st.lists(st.sampled_from(classes), min_size=1, unique=True))
    written = [r for r in rows if r[:2] in released]
    promises = verified(rows, written, by_subject, exclude, as_written)
    alone = sum(None in row[:2] for row in rows if row[:2] in released)
    at = {"class": 2, "value": 3}
    for asked in MODELS:
        for target in asked.targets:
            promise = promises.pop(0)
            assert promise.model == asked.model
            if exclude and alone:
                assert promise.found == f"{alone} records without a class"
                assert not promise.holds
                continue
            if getattr(asked, "distance", "") == "ordered" and "class" not in as_written:
                continue  # the order of texts is that of one of their spellings
            records = [
                (row[:2], row[4], tuple(meant(row[at[n]], n in as_written) for n in target))
                for row in rows
            ]
            own = {"by_subject": by_subject, "nullable": True}
            whole = counts(records, **own)
            held = [counts((r for r in records if r[0] == c), **own) for c in released]
            assert promise.found == pytest.approx(expected(asked, held, whole), abs=1e-12)


def meant(value: str | None, as_written: bool) -> str | None:
    """What a value counts as; NULL as written is a value like any."""
    if as_written:
        return "~" if value is None else f"v{value}"
    return MEANINGS.get(value, value) if value is not None else None


def verified(
    source: list[Row],
    released: list[Row],
    by_subject: bool,
    exclude: bool,
    as_written: tuple[str, ...],
) -> list[Promise]:
    """The promises of the models on a table that is released as it is."""
    declared = Declared(
        release="t",
        columns=tuple(Column(name, "VARCHAR") for name in COLUMNS),
        quasi_identifiers=QIS,
        bounds=(),
        withheld=(),
        models=MODELS,
        transformation=dict.fromkeys(QIS, 0),
        tops=dict.fromkeys(QIS, 2),
        source_rows=len(source),
        suppression_limit=1.0,
        keeps_suppressed=False,
        null_policy="exclude" if exclude else "own_category",
        subject="person" if by_subject else None,
        as_written=as_written,
    )
    with duckdb.connect() as con:
        for name, given in (("source", source), ("t", released)):
            columns = [
                pa.array([row[i] for row in given], pa.string() if i < 4 else pa.int64())
                for i in range(5)
            ]
            con.register("given", pa.table(columns, names=[*COLUMNS, "person"]))
            con.execute(f"CREATE TABLE {name} AS FROM given")
        con.execute("ALTER TABLE t DROP COLUMN person")
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
    return list(found.promises)
