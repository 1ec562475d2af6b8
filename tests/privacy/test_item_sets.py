"""(k, k^m)-anonymity: by hand, by brute force over what an attacker may know, and by command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, combinations
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples
from typer.testing import CliRunner

from dbdeid.cli.app import app
from dbdeid.engine.duckdb.session import Session
from dbdeid.errors import DataError
from dbdeid.privacy.risk import item_sets

Row = tuple[int, list[str | None] | None]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session.open(None, read_only=False) as opened:
        yield opened


def measured(session: Session, rows: list[Row], known: int, k: int) -> item_sets.ItemRisk:
    session.execute("CREATE OR REPLACE TEMP TABLE t (a INTEGER, held VARCHAR[])")
    for row in rows:
        session.cursor.execute("INSERT INTO t VALUES (?, ?)", list(row))
    classes = [sum(a == own for own, _ in rows) for a, _ in rows]
    least = min(classes, default=0)
    table = session.temp("t")
    return item_sets.measure(session, table, ["a"], "held", known, k=k, smallest_class=least)


def test_two_diagnoses_single_out_where_one_does_not(session: Session) -> None:
    rows: list[Row] = [(1, ["asthma", "flu"]), (1, ["asthma", "gout"]), (1, ["flu", "gout"])]
    one, two = (measured(session, rows, known, 2) for known in (1, 2))
    assert (one.smallest, one.combinations, one.rare, one.holds) == (2, 3, 0, True)
    assert (two.smallest, two.combinations, two.rare, two.records_at_risk) == (1, 6, 3, 3)
    assert not two.holds
    # in another class the same items are of others
    apart = measured(session, [*rows, (2, ["asthma"]), (2, [])], 1, 2)
    assert (apart.smallest, apart.rare, apart.records_at_risk) == (1, 1, 1)
    # nobody is known by items, and a class is too small
    alone = measured(session, [(1, None)], 3, 2)
    assert (alone.smallest, alone.combinations, alone.holds) == (None, 0, False)


held = st.none() | st.lists(st.sampled_from([*"vwxyz", None]), max_size=6)


@settings(deadline=None, max_examples=examples(60))
@given(
    rows=st.lists(st.tuples(st.integers(0, 2), held), max_size=14),
    known=st.integers(1, 4),
    k=st.integers(1, 4),
)
def test_brute_force_finds_the_same(session: Session, rows: list[Row], known: int, k: int) -> None:
    found = measured(session, rows, known, k)
    sets = [(a, {item for item in items or () if item is not None}) for a, items in rows]
    every = list(chain.from_iterable(combinations("vwxyz", n) for n in range(1, known + 1)))
    holders = {
        (a, knowledge): [i for i, (b, own) in enumerate(sets) if b == a and own >= {*knowledge}]
        for a in {a for a, _ in rows}
        for knowledge in every
    }
    there = [own for own in holders.values() if own]
    rare = [own for own in there if len(own) < k]
    assert found.smallest == min(map(len, there), default=None)
    assert (found.combinations, found.rare) == (len(there), len(rare))
    assert found.records_at_risk == len(set(chain.from_iterable(rare)))
    least = min((sum(a == b for b, _ in sets) for a, _ in sets), default=0)
    assert found.holds == (least >= k and not rare)


def test_too_many_combinations_are_refused_before_they_are_made() -> None:
    many = {(1, record): tuple(range(60)) for record in range(3)}
    with pytest.raises(DataError, match="--known 5: "):
        item_sets.summary("codes", many, 5, k=2, smallest_class=3)


def test_it_is_asked_by_command(tmp_path: Path) -> None:
    source = tmp_path / "v.parquet"
    rows = "(1, 'x', ['u', 'v']), (1, 'y', ['u', 'v']), (2, 'x', ['u']), (2, 'x', ['v'])"
    duckdb.sql(f"FROM (VALUES {rows}) v(a, b, codes)").write_parquet(str(source))
    words = ["risk", str(source), "--qi", "a", "--k", "2"]
    told = json.loads(CliRunner().invoke(app, [*words, "--items", "CODES", "--json"]).stdout)
    assert told["items"] == {
        "items": "codes", "known": 2, "smallest": 1, "combinations": 5, "rare": 2,
        "records_at_risk": 2, "holds": False,
    }  # fmt: skip
    text = CliRunner().invoke(app, [*words, "--items", "codes", "--known", "1"]).stdout
    assert "2 of 4, held by 2 records" in text
    for wrong, said in (
        (["--items", "b"], "items 'b' is no list, but VARCHAR"),
        (["--items", "codes", "--subject", "b"], "--items takes every record for a person"),
        (["--items", "a"], "given as quasi-identifier and as items"),
    ):
        ended = CliRunner().invoke(app, [*words, *wrong])
        assert ended.exit_code == 2
        assert said in ended.stderr
