"""The steps from classes to counterfeit records and their catalog, each counted again by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sqlglot

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Step
from dbdeid.engine.sqltext import step
from dbdeid.methods.common.secret import upload_secret
from dbdeid.methods.counterfeit import padded_rows
from dbdeid.methods.counterfeit.search.padding import quotas

K, SIZE = 4, 5
RELEASED = "class_id, k0, s, o0"


@pytest.fixture
def session() -> Iterator[Session]:
    with Session.open(None, read_only=False) as session:
        yield session


def upload(session: Session, name: str, columns: dict[str, list[Any]]) -> Relation:
    """A temporary table; lists of numbers are numbers."""
    arrays = {
        c: np.array(v) if all(isinstance(x, int) for x in v) else v for c, v in columns.items()
    }
    return session.upload(name, arrays)


def stage(session: Session, seed: int, key: str = "key", *, permuted: bool = False) -> None:
    """Records of 30 classes, half of them in one group and half in another."""
    rng = np.random.default_rng(seed)
    town = rng.geometric(0.15, 150) % 30
    value = rng.choice(["a", "b", "c", None], 150, p=[0.5, 0.3, 0.15, 0.05])
    other = rng.integers(0, 3, 150)
    order = np.random.default_rng(99).permutation(150) if permuted else np.arange(150)
    codes = {"a": 0, "b": 1, "c": 2, None: 3}
    columns = {
        "k0": [None if t == 7 else f"t{t:02}" for t in town],
        "s": value.tolist(),
        "o0": other.tolist(),
        "part": (town % 2).tolist(),
        "code": [codes[v] for v in value],
    }
    upload(
        session, padded_rows.REAL.name, {name: [v[i] for i in order] for name, v in columns.items()}
    )
    padded_rows.upload_groups(session, np.array([0, 1]), np.array([0, 1]))
    upload_secret(session, key)
    names = padded_rows.Names((), "s", ("o0",))
    members = step("methods/counterfeit/members", {"real": padded_rows.REAL}, {"key": ["k0"]})
    session.run(Step(padded_rows.MEMBERS.name, members))
    session.run(padded_rows.member_steps(names, K, SIZE)[1])
    for drawing in padded_rows.drawing_steps(uniform=False):
        session.run(drawing)


def make(session: Session, *, uniform: bool = False) -> Relation:
    """The counterfeit records of what was drawn, as drawn."""
    names = padded_rows.Names((), "s", ("o0",))
    session.run(padded_rows.donors_step(names, uniform=uniform))
    session.execute(
        "CREATE OR REPLACE TEMP TABLE deid_placed AS SELECT *, hash(place) % "
        "(SELECT count(number) FROM deid_donors AS d WHERE d.code = s.code) AS donor "
        "FROM deid_slots AS s"
    )
    tables = {"placed": padded_rows.PLACED, "members": padded_rows.MEMBERS}
    query = step(
        "methods/counterfeit/counterfeits",
        {**tables, "donors": padded_rows.DONORS},
        {"key": ["k0"], "value": ["s", "o0"]},
    )
    return session.run(Step(padded_rows.COUNTERFEITS.name, query))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(8))
def test_deficits_quotas_and_slots(session: Session, seed: int) -> None:
    stage(session, seed)
    members = session.rows("SELECT class_id, k0, code, part FROM deid_members")
    ranked = sorted({k for _, k, _, _ in members}, key=lambda k: (k is None, k))
    assert {(c, k) for c, k, _, _ in members} == {(i + 1, k) for i, k in enumerate(ranked)}
    sizes = Counter(c for c, *_ in members)
    parts = {c: part for c, _, _, part in members}
    deficits = session.rows("SELECT class_id, records, missing, grp FROM deid_deficits")
    for class_, records, missing, group in deficits:
        assert records == sizes[class_]
        assert missing == (SIZE - records if records < K else 0)
        assert group == (parts[class_] if records + missing == SIZE else None)
    real: dict[int, Counter[int]] = defaultdict(Counter)
    lacking: Counter[int] = Counter()
    group_of = {c: g for c, _, _, g in deficits if g is not None}
    for class_, _, code, _ in members:
        if class_ in group_of:
            real[group_of[class_]][code] += 1
    for _, _, missing, group in deficits:
        lacking[group] += missing
    found = session.rows("SELECT grp, code, records, quota FROM deid_quotas")
    assert {(g, c): n for g, c, n, _ in found} == {
        (g, c): n for g, counts in real.items() for c, n in counts.items()
    }
    for group, counts in real.items():
        shares = quotas(np.array([counts[c] for c in range(4)]), lacking[group])
        assert {c: q for g, c, _, q in found if g == group} == {
            c: shares[c] for c in range(4) if counts[c]
        }
    slots = session.rows("SELECT place, class_id, code FROM deid_slots ORDER BY place")
    assert [place for place, *_ in slots] == list(range(1, len(slots) + 1))
    assert Counter(c for _, c, _ in slots) == Counter({c: m for c, _, m, _ in deficits if m})
    drawn = Counter((group_of[c], code) for _, c, code in slots)
    assert drawn == Counter({(g, c): q for g, c, _, q in found if q})


def test_draws_depend_on_the_key_and_not_on_the_order_of_rows(session: Session) -> None:
    slots = "SELECT * FROM deid_slots ORDER BY ALL"
    made = f"SELECT {RELEASED} FROM deid_counterfeits ORDER BY ALL"
    found = []
    for key, permuted, threads in (("a", False, 4), ("a", True, 1), ("b", False, 4)):
        session.execute(f"SET threads = {threads}")
        stage(session, 3, key, permuted=permuted)
        make(session)
        found.append((session.rows(slots), session.rows(made)))
    assert found[0] == found[1]
    assert found[0][0] != found[2][0]


def test_counterfeits_are_copies_but_for_their_class(session: Session) -> None:
    stage(session, 5)
    made = make(session)
    rows = session.rows(f"SELECT class_id, k0, s, o0, code FROM {made.name}")
    placed = session.rows("SELECT class_id, code FROM deid_placed")
    assert Counter((c, code) for c, _, _, _, code in rows) == Counter(map(tuple, placed))
    towns = dict(session.rows("SELECT DISTINCT class_id, k0 FROM deid_members"))
    assert all(k == towns[c] for c, k, *_ in rows)
    pool = session.rows(
        "SELECT DISTINCT s, o0 FROM deid_members JOIN deid_deficits USING (class_id) "
        "WHERE grp IS NOT NULL"
    )
    assert {(s, o) for _, _, s, o, _ in rows} <= set(pool)


def test_catalog_counts_what_was_placed(session: Session) -> None:
    stage(session, 6)
    make(session)
    upload(session, "deid_sensitive_0", {"value0": ["a", "b", "c", None], "code": [0, 1, 2, 3]})
    groups = sqlglot.parse_one("SELECT class_id, grp FROM deid_deficits WHERE grp IS NOT NULL")
    catalog = session.run(padded_rows.catalog_step("deid_catalog", groups, "s"))
    rows = session.rows(f"SELECT class_ids, sensitive_value, counterfeits FROM {catalog.name}")
    assert rows == sorted(rows, key=lambda r: (r[0], r[1] is None, r[1]))
    group_of = dict(session.rows("SELECT class_id, grp FROM deid_deficits WHERE grp IS NOT NULL"))
    members = {g: sorted(c for c, h in group_of.items() if h == g) for g in group_of.values()}
    expected = Counter(
        (tuple(members[group_of[c]]), "abc"[code] if code < 3 else None)
        for c, code in session.rows("SELECT class_id, code FROM deid_placed")
    )
    assert {(tuple(ids), s): n for ids, s, n in rows} == expected


def test_risk_knows_that_what_stands_alone_is_genuine(session: Session) -> None:
    """Two classes of two; a record that no other is like is no copy, so the others are sooner."""
    upload(
        session,
        padded_rows.MEMBERS.name,
        {"class_id": [1, 2, 2], "code": [0, 0, 0], "s": ["x"] * 3, "o0": [1, 1, 2]},
    )
    made = upload(session, "made", {"class_id": [1], "code": [0], "s": ["x"], "o0": [1]})
    groups = upload(session, "groups_", {"class_id": [1, 2], "grp": [0, 0]})
    names = padded_rows.Names((), "s", ("o0",))
    risk = session.row(padded_rows.risk_query(names, made, groups))[0]
    # one of three records that are alike is counterfeit: they weigh 2/3, that with o0 = 2 weighs 1
    assert risk == pytest.approx(1 / (1 + 2 / 3))
    plain = padded_rows.Names((), "s", ())
    assert session.row(padded_rows.risk_query(plain, made, groups))[0] == pytest.approx(0.5)


def test_risk_knows_that_of_two_alike_one_is_a_copy_where_values_seldom_repeat(
    session: Session,
) -> None:
    """Ten classes of four; one of forty records is counterfeit, and all but it and its own differ.

    By the sensitive value alone it would be suspected as little as any other.
    """
    class_, others = [c for c in range(1, 11) for _ in range(4)], list(range(40))
    upload(
        session,
        padded_rows.MEMBERS.name,
        {"class_id": class_[1:], "code": [0] * 39, "s": ["x"] * 39, "o0": others[1:]},
    )
    made = upload(session, "made", {"class_id": [1], "code": [0], "s": ["x"], "o0": [39]})
    groups = upload(session, "groups_", {"class_id": list(range(1, 11)), "grp": [0] * 10})
    names = padded_rows.Names((), "s", ("o0",))
    risk = session.row(padded_rows.risk_query(names, made, groups))[0]
    assert risk == pytest.approx(1 / 3.5)
