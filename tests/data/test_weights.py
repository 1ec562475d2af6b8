"""The views of a recipient against a few lines of Python, whatever the columns are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.data.weights import earlier, truthful, weighted
from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.engine.sqltext import sql

Record = tuple[int, str | None, Any]  # class, another column, sensitive value
Group = tuple[list[int], Any, int]
RELEASE, CATALOG = Relation("people"), Relation("people_catalog")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with duckdb.connect() as connection, Session.over(connection, None, read_only=False) as opened:
        yield opened


def made(
    session: Session,
    records: Sequence[Record],
    catalog: Sequence[Group],
    names: tuple[str, str] = ("age", "illness"),
    kind: str = "VARCHAR",
) -> None:
    other, sensitive = (f'"{name}"' for name in names)
    columns = f"class_id BIGINT, {other} VARCHAR, {sensitive} {kind}"
    session.execute(f"CREATE OR REPLACE TABLE people ({columns})")
    session.execute(
        "CREATE OR REPLACE TABLE people_catalog"
        " (class_ids BIGINT[], sensitive_value VARCHAR, counterfeits BIGINT)"
    )
    for record in records:
        session.execute_with("INSERT INTO people VALUES (?, ?, ?)", list(record))
    for group in catalog:
        session.execute_with("INSERT INTO people_catalog VALUES (?, ?, ?)", list(group))


def expected_weights(records: Sequence[Record], catalog: Sequence[Group]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for record in records:
        weight = 1.0
        for classes, value, counterfeits in catalog:
            if record[0] in classes and record[2] == value:
                alike = sum(r[0] in classes and r[2] == value for r in records)
                weight = (alike - counterfeits) / alike
        found[(*record, weight)] += 1
    return found


def expected_truth(records: Sequence[Record], catalog: Sequence[Group]) -> Counter[Any]:
    doubtful = {(c, value) for classes, value, _ in catalog for c in classes}
    found: Counter[Any] = Counter(r for r in records if (r[0], r[2]) not in doubtful)
    for classes, value, counterfeits in catalog:
        alike = sum(r[0] in classes and r[2] == value for r in records)
        found[(None, None, value)] += alike - counterfeits
    return +found


RECORDS: list[Record] = [
    (0, "a", "flu"),
    (0, "a", "cold"),
    (1, "b", "flu"),
    (1, "b", "flu"),
    (1, "b", None),
    (2, "c", None),
    (2, None, "cold"),
    (3, "d", "flu"),
]
GROUPS: list[Group] = [([0, 1], "flu", 2), ([0, 1], "cold", 1), ([2, 3], None, 1)]


def test_by_hand(session: Session) -> None:
    made(session, RECORDS, GROUPS)
    found = session.rows(weighted(RELEASE, CATALOG, "illness"))
    assert sorted((r[0], r[2] or "", r[3]) for r in found) == [
        (0, "cold", 0),
        (0, "flu", 1 / 3),
        (1, "", 1),
        (1, "flu", 1 / 3),
        (1, "flu", 1 / 3),
        (2, "", 0),
        (2, "cold", 1),
        (3, "flu", 1),
    ]
    names = ["class_id", "age", "illness"]
    found = session.rows(truthful(RELEASE, CATALOG, "illness", names))
    certain = [(1, "b", None), (2, None, "cold"), (3, "d", "flu")]
    assert Counter(found) == Counter([*certain, (None, None, "flu")])


def test_earlier_versions_published_the_same_rows(session: Session) -> None:
    made(session, RECORDS, GROUPS)
    names = ["class_id", "age", "illness"]
    now = weighted(RELEASE, CATALOG, "illness"), truthful(RELEASE, CATALOG, "illness", names)
    before = earlier(RELEASE, CATALOG, "illness", names)
    assert {sql(one) for one in now}.isdisjoint(map(sql, before))
    for one, other in zip(now, before, strict=True):
        assert Counter(session.rows(one)) == Counter(session.rows(other))


@st.composite
def releases(draw: st.DrawFn) -> tuple[list[Record], list[Group]]:
    """Records, and disjoint groups of classes in which some values have counterfeits."""
    record = st.tuples(
        st.integers(0, 5), st.sampled_from(["x", None]), st.sampled_from(["flu", "cold", None])
    )
    records = draw(st.lists(record, max_size=25))
    group_of = draw(st.lists(st.integers(0, 2), min_size=6, max_size=6))
    catalog = []
    for group in (1, 2):  # 0: outside of the catalog
        classes = [c for c in range(6) if group_of[c] == group]
        for value in ("flu", "cold", None):
            alike = sum(r[0] in classes and r[2] == value for r in records)
            if alike and (counterfeits := draw(st.integers(0, alike))):
                catalog.append((classes, value, counterfeits))
    return records, catalog


@pytest.mark.full
@settings(
    deadline=None,
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(case=releases())
def test_equal_their_definitions(session: Session, case: tuple[list[Record], list[Group]]) -> None:
    records, catalog = case
    made(session, records, catalog)
    found = Counter(session.rows(weighted(RELEASE, CATALOG, "illness")))
    assert found == expected_weights(records, catalog)
    truth = Counter(
        session.rows(truthful(RELEASE, CATALOG, "illness", ["class_id", "age", "illness"]))
    )
    assert truth == expected_truth(records, catalog)
    assert truth.total() == len(records) - sum(counterfeits for *_, counterfeits in catalog)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("BIGINT", [7, -1]),
        ("DOUBLE", [0.1, 1e300]),
        ("BOOLEAN", [True, False]),
        ("DECIMAL(6, 2)", ["1.50", "-2.25"]),
        ("DATE", ["2020-02-29", "1900-01-01"]),
        ("TIMESTAMP", ["2020-02-29 12:30:00.5", "1900-01-01 00:00:00"]),
    ],
)
def test_values_are_compared_as_text(session: Session, kind: str, values: list[Any]) -> None:
    first, second = values
    made(
        session, [(0, "a", first), (0, "a", first), (1, "b", second), (1, "b", None)], [], kind=kind
    )
    session.execute_with(
        f"INSERT INTO people_catalog SELECT [0, 1], CAST(CAST(? AS {kind}) AS VARCHAR), 1", [first]
    )
    weights = [row[3] for row in session.rows(weighted(RELEASE, CATALOG, "illness"))]
    assert sorted(weights) == [0.5, 0.5, 1, 1]
    query = truthful(RELEASE, CATALOG, "illness", ["class_id", "age", "illness"])
    told = session.rows(f"SELECT class_id, age, CAST(illness AS {kind}) FROM ({sql(query)})")
    ((value,),) = session.rows("SELECT any_value(illness) FROM people WHERE class_id = 0")
    assert [row for row in told if row[0] is None] == [(None, None, value)]
    assert len(told) == 3
    ((released_type,),) = session.rows("SELECT any_value(typeof(illness)) FROM people")
    described = session.rows(f"SELECT DISTINCT typeof(illness) FROM ({sql(query)})")
    assert described == [(released_type,)]


def test_only_weighing_needs_the_name_of_the_weight(session: Session) -> None:
    made(session, RECORDS, GROUPS, ("weight", "illness"))
    told = session.rows(truthful(RELEASE, CATALOG, "illness", ["class_id", "weight", "illness"]))
    assert Counter(told) == expected_truth(RECORDS, GROUPS)


def test_without_a_sensitive_column(session: Session) -> None:
    made(session, RECORDS, [([0, 1], None, 2)])
    session.execute("CREATE OR REPLACE TABLE bare AS SELECT class_id, age FROM people")
    found = session.rows(weighted(Relation("bare"), CATALOG, None))
    assert sorted((row[0], row[2]) for row in found) == [
        *[(0, 3 / 5)] * 2,
        *[(1, 3 / 5)] * 3,
        *[(2, 1)] * 2,
        (3, 1),
    ]
    told = session.rows(truthful(Relation("bare"), CATALOG, None, ["class_id", "age"]))
    assert Counter(told) == Counter(
        {(None, None): 3, (2, "c"): 1, (2, None): 1, (3, "d"): 1},
    )


# Every name that the steps give to a table or a column of their own, and awkward ones.
OWN = ["released", "known", "listed", "counted", "held", "doubtful", "first_id", "records"]
NAMES = [*OWN, "class_ids", "sensitive_value", "counterfeits", "people", "count", "age col"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", [0, 1], ids=["other", "sensitive"])
def test_columns_may_be_called_as_ours(session: Session, name: str, place: int) -> None:
    names = ("age", name) if place else (name, "illness")
    made(session, RECORDS, GROUPS, names)
    found = Counter(session.rows(weighted(RELEASE, CATALOG, names[1])))
    assert found == expected_weights(RECORDS, GROUPS)
    told = Counter(session.rows(truthful(RELEASE, CATALOG, names[1], ["class_id", *names])))
    assert told == expected_truth(RECORDS, GROUPS)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [*OWN, "weight", "class_ids", "SELECT"])
def test_views_of_a_file_that_is_opened_elsewhere(name: str, tmp_path: Any) -> None:
    release, catalog = Relation(name), Relation(f"{name}_catalog")
    path = tmp_path / "public.duckdb"
    with duckdb.connect(str(path)) as connection:
        with Session.over(connection, None, read_only=False) as session:
            made(session, RECORDS, GROUPS)
        connection.execute(f'ALTER TABLE people RENAME TO "{name}"')
        connection.execute(f'ALTER TABLE people_catalog RENAME TO "{name}_catalog"')
        for view, query in (
            ("weighted", weighted(release, catalog, "illness")),
            ("truthful", truthful(release, catalog, "illness", ["class_id", "age", "illness"])),
        ):
            connection.execute(f'CREATE VIEW "{name}_{view}" AS {sql(query)}')
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS given (READ_ONLY)")
        found = Counter(connection.execute(f'FROM given."{name}_weighted"').fetchall())
        assert found == expected_weights(RECORDS, GROUPS)
        told = connection.execute(f'FROM given."{name}_truthful"')
        assert [column[0] for column in told.description] == ["class_id", "age", "illness"]
        assert Counter(told.fetchall()) == expected_truth(RECORDS, GROUPS)
