"""What is measured in SQL, what a search counts by and the definitions agree, class by class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import brute
import duckdb
import pytest
from brute import Counts, Record, counts, histogram, judge, model
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tiers import examples

from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.privacy.common.shares import (
    Shares,
    class_sizes,
    class_values,
    finite,
    hierarchy_nodes,
    source_values,
)

CODES = [None, 1, 2, 3, 4, 5, 10, 11]


def ancestors(value: Any) -> tuple[str | None, ...]:
    """Two levels above a number and a top; NULL stands alone below it."""
    if value is None:
        return (None, None, "*")
    return (f"{value // 2}", "few" if value < 6 else "many", "*")


@dataclass(frozen=True)
class Case:
    """Records of a source, and the classes of it that are released."""

    records: tuple[Record, ...]
    released: tuple[Any, ...]
    by_subject: bool
    nullable: bool = False

    @property
    def joint(self) -> bool:
        return isinstance(self.records[0][2], tuple)

    @property
    def whole(self) -> Counts:
        return counts(self.records, by_subject=self.by_subject, nullable=self.nullable)

    def members(self, classes: Sequence[Any]) -> list[Record]:
        return [record for record in self.records if record[0] in classes]

    def held(self, class_: Any) -> Counts:
        members = self.members([class_])
        return counts(members, by_subject=self.by_subject, nullable=self.nullable)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    single = st.sampled_from(draw(st.sampled_from([CODES, CODES[:3], CODES[1:5], CODES[1:2]])))
    value = st.tuples(single, single) if draw(st.booleans()) else single
    class_ = st.integers(1, 3)
    records = draw(
        st.lists(st.tuples(class_, st.integers(1, 6), value), min_size=1, max_size=24).map(tuple)
    )
    classes = sorted({record[0] for record in records})
    released = draw(st.lists(st.sampled_from(classes), min_size=1, unique=True).map(tuple))
    return Case(records, released, draw(st.booleans()), draw(st.booleans()))


shares = st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.9, 1.0])
sizes = st.sampled_from([0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0])


@st.composite
def models(draw: st.DrawFn, *, joint: bool) -> Any:
    columns: dict[str, Any] = {"column": ["a", "b"], "joint": True} if joint else {"column": "a"}
    others = sorted(set(brute.MODELS) - ({"em_anonymity", "km_anonymity"} if joint else set()))
    name = draw(st.sampled_from(["l_diversity"] * 3 + ["t_closeness"] * 3 + others))
    if name == "em_anonymity":
        epsilon = draw(st.sampled_from([0, 0.5, 1, 2, 4.5, 100.0]))
        return model(name, epsilon=epsilon, m=draw(st.integers(2, 4)), **columns)
    if name == "km_anonymity":
        listed = draw(
            st.sampled_from([";", "1"])
        )  # with 1 between them 10 is item 0, and 1 is none
        k, m = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        return model(name, k=k, m=m, separator=listed, **columns)
    if name == "l_diversity":
        kind = draw(st.sampled_from(["distinct", "entropy", "recursive"]))
        least = draw(st.integers(1, 4) if kind != "entropy" else st.sampled_from([1, 1.5, 2, 3]))
        c = {"c": draw(sizes)} if kind == "recursive" else {}
        return model(name, kind=kind, l=float(least), **c, **columns)
    if name == "t_closeness":
        distance = draw(
            st.sampled_from(["equal"] if joint else ["equal", "ordered", "hierarchical"])
        )
        return model(name, distance=distance, t=draw(shares), **columns)
    if name in ("basic_beta", "enhanced_beta"):
        return model(name, beta=draw(sizes), **columns)
    if name == "delta_disclosure":
        return model(name, delta=draw(sizes), **columns)
    alpha, k = draw(shares.filter(bool)), draw(st.integers(1, 4))
    values = None if joint else draw(st.sampled_from([None, ["1"], ["2", None], ["99"]]))
    return model("alpha_k", alpha=alpha, k=k, **columns, **({"values": values} if values else {}))


@dataclass
class Measured:
    """Members and source of a case in a database."""

    session: Session
    case: Case

    def __post_init__(self) -> None:
        self._load("source", self.case.records)

    def _load(self, name: str, records: Sequence[Record]) -> None:
        cells = [(c, p, *(v if isinstance(v, tuple) else (v, None))) for c, p, v in records]
        columns = "class INTEGER, subject INTEGER, s0 INTEGER, s1 INTEGER"
        self.session.execute(f"CREATE OR REPLACE TABLE {name} ({columns})")
        if cells:
            rows = ", ".join(
                f"({', '.join('NULL' if x is None else str(x) for x in row)})" for row in cells
            )
            self.session.execute(f"INSERT INTO {name} VALUES {rows}")

    def found(self, asked: Any, classes: Sequence[Any]) -> Any:
        """What a model measures when only some classes are released."""
        self._load("members", self.case.members(classes))
        members, source = self.session.relation("members"), self.session.relation("source")
        value, by_subject = ["s0", "s1"] if self.case.joint else ["s0"], self.case.by_subject
        nullable = value if self.case.nullable else []
        whole = source_values(source, value, by_subject=by_subject, nullable=nullable)
        nodes = hierarchy_nodes(whole, self.session.relation("hierarchies"), "a", "r")
        held = class_values(members, value, by_subject=by_subject, nullable=nullable)
        return self.session.row(asked.measure(Shares(held, whole, nodes)))[0]

    def risk(self, asked: Any, classes: Sequence[Any]) -> Any:
        self._load("members", self.case.members(classes))
        query = class_sizes(Relation("members"), by_subject=self.case.by_subject)
        return self.session.row(asked.measure(query))[0]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    levels = (
        f"SELECT 'r' AS release, 'a' AS hierarchy, {level} AS level, '{value}' AS value, "
        f"'{label}' AS label"
        for value in CODES
        if value is not None
        for level, label in enumerate((value, *ancestors(value)))
    )
    with duckdb.connect() as con, Session.over(con, None, read_only=False) as opened:
        opened.execute(f"CREATE TABLE hierarchies AS {' UNION ALL '.join(levels)}")
        yield opened


@given(data=st.data())
@settings(max_examples=examples(100), deadline=None)
def test_three_ways_to_the_same_verdict(session: Session, data: st.DataObject) -> None:
    case = data.draw(cases())
    asked = data.draw(models(joint=case.joint))
    if asked.model in ("k_anonymity", "k_map", "delta_presence", "max_risk"):
        return
    measured = Measured(session, case)
    held, whole = [case.held(c) for c in case.released], case.whole
    mask = asked.satisfied(histogram(held, whole, ancestors, single=not case.joint))
    verdicts = []
    for class_, of_class, by_search in zip(case.released, held, mask, strict=True):
        exact = judge(_as_text(asked), of_class, whole, ancestors)
        by_sql = asked.holds(measured.found(asked, [class_]))
        assert by_sql is True or exact is False
        if exact is not None:
            assert (bool(by_search), by_sql) == (exact, exact)
        verdicts.append(by_sql)
    assert asked.holds(measured.found(asked, case.released)) == all(verdicts)
    assert asked.holds(measured.found(asked, []))
    assert finite(asked.shown(measured.found(asked, []))) in (
        None,
        {"k": None, "alpha": None},
        {
            "l": None,
            "c": None,
        },
    )


def _as_text(asked: Any) -> Any:
    """The model with its listed values as they are in a case."""
    if asked.model != "alpha_k" or asked.values is None:
        return asked
    listed = tuple(None if v is None else int(v) for v in asked.values)
    return asked.model_copy(update={"values": listed})


@given(case=cases())
@settings(max_examples=examples(15), deadline=None)
def test_what_is_found_is_what_the_definition_gives(session: Session, case: Case) -> None:
    measured, whole = Measured(session, case), case.whole
    held = [case.held(c) for c in case.released]
    columns: dict[str, Any] = (
        {"column": ["a", "b"], "joint": True} if case.joint else {"column": "a"}
    )

    def found(name: str, **parameters: Any) -> Any:
        return measured.found(model(name, **parameters, **columns), case.released)

    assert found("l_diversity", l=2.0) == min(map(brute.distinct, held))
    entropy = found("l_diversity", l=2.0, kind="entropy")
    assert entropy == pytest.approx(min(map(brute.entropy, held)))
    for least in (1, 2, 3):
        two = found("l_diversity", l=float(least), kind="recursive", c=1.0)
        assert two["l"] == min(least, *map(brute.distinct, held))
        assert two["c"] == float(max(brute.recursive(h, least) for h in held))
    assert found("t_closeness", t=0.5) == pytest.approx(
        float(max(brute.equal(h, whole) for h in held))
    )
    if not case.joint:
        assert found("t_closeness", t=0.5, distance="ordered") == pytest.approx(
            float(max(brute.ordered(h, whole) for h in held)), abs=1e-12
        )
        assert found("t_closeness", t=0.5, distance="hierarchical") == pytest.approx(
            float(max(brute.hierarchical(h, whole, ancestors) for h in held)), abs=1e-12
        )
    both = found("alpha_k", k=1, alpha=0.5)
    assert both["k"] == min(h.size for h in held)
    assert both["alpha"] == float(max(map(brute.confidence, held)))
    if not case.joint:
        for epsilon in (0, 1, 5.0):
            least = min(brute.near(h, epsilon) for h in held)
            assert found("em_anonymity", epsilon=epsilon, m=2) == float(least)
    gain = float(max(max(brute.gains(h, whole).values()) for h in held))
    assert found("basic_beta", beta=1.0) == pytest.approx(gain)
    assert found("enhanced_beta", beta=1.0) in (inf, pytest.approx(gain))
    delta = model("delta_disclosure", delta=1.0, **columns)
    change = delta.shown(measured.found(delta, case.released))
    largest = max(brute.delta_of(h, whole) for h in held)
    assert change == ("infinite" if largest == inf else pytest.approx(largest, abs=1e-12))


@given(case=cases())
@settings(max_examples=examples(12), deadline=None)
def test_risks_are_of_one_over_the_size(session: Session, case: Case) -> None:
    measured = Measured(session, case)
    held = {c: case.held(c).size for c in case.released}
    records = case.members(case.released)
    highest = model("max_risk", attacker="prosecutor", threshold=0.5)
    assert measured.risk(highest, case.released) == 1 / min(held.values())
    mean = model("max_risk", attacker="marketer", threshold=0.5)
    expected = sum(1 / held[record[0]] for record in records) / len(records)
    assert measured.risk(mean, case.released) == pytest.approx(expected)
    assert measured.risk(mean, []) is None


# -- exactly at a limit -----------------------------------------------------------------------


def of_counts(classes: Sequence[Sequence[int]], lost: Sequence[int] = ()) -> Case:
    """Classes with so many records of each value 1, 2, …; the last is not released."""
    records = [
        (number, 0, value)
        for number, each in enumerate([*classes, lost])
        for value, count in enumerate(each, start=1)
        for _ in range(count)
    ]
    return Case(tuple(records), tuple(range(len(classes))), by_subject=False)


BORDERS = [
    # the entropy of equal shares is that of their number, and no more
    ("l_diversity", {"kind": "entropy", "l": 3.0}, [[7, 7, 7]], True),
    ("l_diversity", {"kind": "entropy", "l": 3.0}, [[7, 7, 8]], False),
    ("l_diversity", {"kind": "entropy", "l": 3.1}, [[7, 7, 7]], False),
    # a half once and an eighth four times are as diverse as four
    ("l_diversity", {"kind": "entropy", "l": 4.0}, [[4, 1, 1, 1, 1]], True),
    ("l_diversity", {"kind": "distinct", "l": 3.0}, [[9, 1, 1]], True),
    ("l_diversity", {"kind": "distinct", "l": 3.0}, [[9, 1, 1], [5, 5]], False),
    # 3 < 3 · 1 is false
    ("l_diversity", {"kind": "recursive", "l": 2.0, "c": 3.0}, [[3, 1]], False),
    ("l_diversity", {"kind": "recursive", "l": 2.0, "c": 3.0}, [[5, 2]], True),
    ("l_diversity", {"kind": "recursive", "l": 3.0, "c": 9.0}, [[1, 1]], False),
    ("l_diversity", {"kind": "recursive", "l": 2.0, "c": 0.1}, [[1, 10]], False),
    ("alpha_k", {"k": 4, "alpha": 0.25}, [[1, 1, 1, 1]], True),
    ("alpha_k", {"k": 3, "alpha": 1 / 3}, [[1, 1, 1]], True),
    ("alpha_k", {"k": 10, "alpha": 0.3}, [[3, 3, 3, 1]], True),
    ("alpha_k", {"k": 11, "alpha": 0.3}, [[3, 3, 3, 1]], False),
    ("alpha_k", {"k": 4, "alpha": 0.24}, [[1, 1, 1, 1]], False),
    ("alpha_k", {"k": 4, "alpha": 0.25, "values": ["2"]}, [[3, 1]], True),
    ("alpha_k", {"k": 4, "alpha": 0.25, "values": ["1"]}, [[3, 1]], False),
    # 1/2 and 1/2 against 8/10 and 2/10
    ("t_closeness", {"t": 0.3}, [[1, 1], [7, 1]], True),
    ("t_closeness", {"t": 0.29}, [[1, 1], [7, 1]], False),
    ("t_closeness", {"t": 0.3, "distance": "ordered"}, [[1, 1], [7, 1]], True),
    ("t_closeness", {"t": 0.29, "distance": "ordered"}, [[1, 1], [7, 1]], False),
    # of three values in a row two steps are 1
    ("t_closeness", {"t": 0.5, "distance": "ordered"}, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], True),
    ("t_closeness", {"t": 0.49, "distance": "ordered"}, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], False),
    # 1 and 3 have their ancestor on the second of three levels, half of each has to move
    ("t_closeness", {"t": 0.3334, "distance": "hierarchical"}, [[1, 0, 0], [0, 0, 1]], True),
    ("t_closeness", {"t": 0.3333, "distance": "hierarchical"}, [[1, 0, 0], [0, 0, 1]], False),
    # 1/2 is 5/2 of 1/5
    ("basic_beta", {"beta": 1.5}, [[1, 1], [7, 1]], True),
    ("basic_beta", {"beta": 1.49}, [[1, 1], [7, 1]], False),
    ("enhanced_beta", {"beta": 1.5}, [[1, 1], [7, 1]], True),
    ("enhanced_beta", {"beta": 1.49}, [[1, 1], [7, 1]], False),
    # from 1/2 to 1 is a gain of 1, more than ln 2
    ("enhanced_beta", {"beta": 9.0}, [[1, 0], [0, 1]], False),
    ("basic_beta", {"beta": 1.0}, [[1, 0], [0, 1]], True),
    # from 1/2 to 1/4 is log2 of 2
    ("delta_disclosure", {"delta": 1.0}, [[1, 3], [3, 1]], False),
    ("delta_disclosure", {"delta": 1.01}, [[1, 3], [3, 1]], True),
    ("delta_disclosure", {"delta": 3.0}, [[1, 15], [15, 1]], False),
    # 1/4 is 2/5 of 10/16: the logarithm as it is rounded, and the next number above it
    ("delta_disclosure", {"delta": 1.3219280948873624}, [[3, 1], [3, 9]], False),
    ("delta_disclosure", {"delta": 1.3219280948873626}, [[3, 1], [3, 9]], True),
    ("delta_disclosure", {"delta": 9.0}, [[1, 1, 0], [1, 1, 1]], False),
    # values 1, 2, 3, …: a half is near 1, then two thirds are near 2
    ("em_anonymity", {"epsilon": 0.9, "m": 2}, [[2, 1, 1]], True),
    ("em_anonymity", {"epsilon": 1, "m": 2}, [[1, 0, 1, 0]], True),
    ("em_anonymity", {"epsilon": 2, "m": 2}, [[1, 0, 1, 0]], False),
    ("em_anonymity", {"epsilon": 1, "m": 2}, [[1, 1, 1]], False),
    ("em_anonymity", {"epsilon": 1, "m": 3}, [[1, 0, 1, 0, 1]], True),
    ("em_anonymity", {"epsilon": 1, "m": 3}, [[1, 0, 1, 0, 2]], False),
    ("em_anonymity", {"epsilon": 0, "m": 4}, [[1, 1, 1, 1]], True),
    ("em_anonymity", {"epsilon": 0, "m": 4}, [[2, 1, 1, 1]], False),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "parameters", "classes", "holds"), BORDERS)
def test_exactly_at_the_limit(
    session: Session, name: str, parameters: dict[str, Any], classes: list[list[int]], holds: bool
) -> None:
    asked, case = model(name, column="a", **parameters), of_counts(classes)
    found = Measured(session, case).found(asked, case.released)
    assert asked.holds(found) == holds, found
    held = [case.held(c) for c in case.released]
    assert asked.satisfied(histogram(held, case.whole, ancestors, single=True)).all() == holds


def test_nearly_equal_counts_of_many_are_told_apart_without_their_powers() -> None:
    """The integers that decide have billions of digits: these would take days."""
    many = 10**8
    asked = model("l_diversity", column="a", l=2.0, kind="entropy")
    classes = [[many, many], [many - 1, many + 1], [many, many + 1, 1]]
    held = [Counts(sum(c), dict(enumerate(c, start=1))) for c in classes]
    seen = histogram(held, Counts(6 * many, {1: 1, 2: 1, 3: 1}), ancestors, single=True)
    assert asked.satisfied(seen).tolist() == [True, False, True]


@given(st.data(), st.sampled_from(["equal", "ordered", "hierarchical"]))
def test_a_distance_holds_at_itself_and_at_nothing_less(data: st.DataObject, kind: str) -> None:
    sizes = st.integers(0, 40)
    shapes = st.lists(sizes, min_size=4, max_size=4).filter(any)
    case = of_counts(data.draw(st.lists(shapes, min_size=1, max_size=4)), data.draw(shapes))
    held = [case.held(c) for c in case.released]
    seen = histogram(held, case.whole, ancestors, single=True)
    for number, of_class in enumerate(held):
        if kind == "hierarchical":
            distance = brute.hierarchical(of_class, case.whole, ancestors)
        else:
            distance = getattr(brute, kind)(of_class, case.whole)
        for less in (0, 5e-10):  # so near that integers decide
            asked = model(
                "t_closeness", column="a", t=max(float(distance) - less, 0), distance=kind
            )
            assert asked.satisfied(seen)[number] == (less == 0 or distance == 0)


def test_suppressed_records_count_for_the_source(session: Session) -> None:
    case = of_counts([[1, 1]], lost=[2, 0, 4])
    found = Measured(session, case).found(model("t_closeness", column="a", t=0.5), [0])
    assert found == pytest.approx(float(brute.equal(case.held(0), case.whole)))
    assert found == 0.5
    delta = model("delta_disclosure", column="a", delta=5.0)
    assert delta.shown(Measured(session, case).found(delta, [0])) == "infinite"


def test_one_subject_of_many_values_is_no_diversity(session: Session) -> None:
    """Two people: one has three values, the other one of them."""
    case = Case(((0, 1, 1), (0, 1, 2), (0, 1, 3), (0, 2, 1)), (0,), by_subject=True)
    measured = Measured(session, case)
    assert measured.found(model("l_diversity", column="a", l=2.0), [0]) == 1
    assert measured.found(model("l_diversity", column="a", l=2.0, kind="entropy"), [0]) == 1
    assert measured.found(model("alpha_k", column="a", k=2, alpha=0.5), [0])["alpha"] == 1
    other = Case(((0, 1, 1), (0, 1, 2), (0, 1, 3), (0, 2, 4)), (0,), by_subject=True)
    assert Measured(session, other).found(model("l_diversity", column="a", l=2.0), [0]) == 2


def test_values_are_listed_as_the_engine_writes_them() -> None:
    assert model("alpha_k", column="a", k=2, alpha=0.5, values=[True, 2]).values == ("true", "2")


# -- other programs ---------------------------------------------------------------------------

QIS = ["Teacher", "Gender", "Ethnic", "Freeredu", "wesson"]
SCORE: dict[str, Any] = {"column": "Score"}

# What pycanon finds in both files, but for the entropy, of which it shows the whole part, and c,
# for which it sorts counts the wrong way round.
ORACLE = [
    ("students_math_score", 1, 1, 1, 1, 71.0, 4.276666119016055, 0.4165919952210274, 1),
    (
        "students_math_score_k5",
        5,
        0.5,
        4,
        12**0.5,
        29.8,
        3.4275146899795286,
        0.31023287057769827,
        3,
    ),
]


@pytest.mark.parametrize(
    ("file", "k", "alpha", "distinct", "entropy", "beta", "delta", "t", "c"), ORACLE
)
def test_as_another_program_finds(
    session: Session,
    shared: Path,
    file: str,
    k: int,
    alpha: float,
    distinct: int,
    entropy: float,
    beta: float,
    delta: float,
    t: float,
    c: float,
) -> None:
    session.execute(
        f"""CREATE OR REPLACE TABLE students AS
        SELECT row({", ".join(QIS)}) AS class, Score AS s0
        FROM '{shared}/data/sdc/{file}.csv'"""
    )
    table = session.relation("students")
    held = class_values(table, ["s0"], by_subject=False)
    whole = source_values(table, ["s0"], by_subject=False)

    def found(name: str, **parameters: Any) -> Any:
        asked = model(name, **SCORE, **parameters)
        return session.row(asked.measure(Shares(held, whole)))[0]

    assert found("alpha_k", k=1, alpha=1.0) == {"k": k, "alpha": alpha}
    assert found("l_diversity", l=2.0) == distinct
    assert found("l_diversity", l=2.0, kind="entropy") == pytest.approx(entropy)
    assert found("l_diversity", l=float(distinct), kind="recursive", c=1.0)["c"] == c
    assert found("basic_beta", beta=1.0) == pytest.approx(beta)
    assert found("t_closeness", t=1.0, distance="ordered") == pytest.approx(t, abs=1e-12)
    # pycanon shows the lesser of β and -ln q; some score is commoner than that
    assert found("enhanced_beta", beta=1.0) == inf
    # no class has every score, so that none is δ-private; pycanon leaves out those that it lacks,
    # and takes the natural logarithm
    assert found("delta_disclosure", delta=1.0) == inf
    ratios = Shares(held, whole).compared.subquery("compared")
    change = "max(abs(ln(count * people / (size * known))))"
    assert session.row(exp.select(change).from_(ratios))[0] == pytest.approx(delta)


@pytest.mark.parametrize(
    ("by_subject", "nullable", "known"),
    [
        (False, True, {1: 3, 2: 0, 3: 1}),
        (False, False, {1: 4, 2: 2, 3: 2}),
        (True, True, {1: 2, 2: 0, 3: 1}),  # 3: of both records of one subject one has no value
        (True, False, {1: 3, 2: 2, 3: 1}),
    ],
    ids=["records", "records of any value", "subjects", "subjects of any value"],
)
def test_those_of_a_class_who_have_a_value_are_counted_once(
    session: Session, by_subject: bool, nullable: bool, known: dict[int, int]
) -> None:
    session.execute("CREATE OR REPLACE TABLE counted (class INTEGER, s0 INTEGER, subject INTEGER)")
    session.execute(
        "INSERT INTO counted VALUES (1, 7, 1), (1, 7, 2), (1, 8, 2), (1, NULL, 3), "
        "(2, NULL, 4), (2, NULL, 5), (3, 7, 6), (3, NULL, 6)"
    )
    held = class_values(
        session.relation("counted"),
        ["s0"],
        by_subject=by_subject,
        nullable=["s0"] if nullable else [],
    )
    query = exp.select("class", "known").distinct().from_(held.subquery("held"))
    assert dict(session.rows(query)) == known
