"""What is learned of a sensitive column: pycanon's values, and the definitions by brute force."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from dbdeid.data.source_files import file_query
from dbdeid.engine.duckdb.session import Session
from dbdeid.engine.relation import Relation
from dbdeid.engine.session import Step
from dbdeid.privacy import Counting
from dbdeid.privacy.risk import disclosure
from dbdeid.privacy.risk.disclosure import Block, Disclosure

Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session.open(None, read_only=False) as opened:
        yield opened


def table(session: Session, types: str, rows: Sequence[Row]) -> Relation:
    session.execute(f"CREATE OR REPLACE TEMP TABLE t ({types})")
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        session.cursor.executemany(f"INSERT INTO t VALUES ({marks})", [list(r) for r in rows])
    return session.temp("t")


# -- pycanon's values ----------------------------------------------------------------------------

PUPILS = ["Teacher", "Gender", "Ethnic", "Freeredu", "wesson"]


@pytest.mark.parametrize(
    ("file", "classes", "alpha", "l", "entropy_l", "beta", "enhanced", "delta", "t"),
    [
        (
            "students_math_score.csv", 46, 1, 1, 1, 71.0,
            5.375278407684164, 4.276666119016055, 0.4165919952210274,
        ),
        (
            "students_math_score_k5.csv", 25, 0.5, 4, 2 * math.sqrt(3), 29.8,
            5.036952602413629, 3.4275146899795286, 0.31023287057769827,
        ),
    ],
)  # fmt: skip
def test_scores_of_pupils(
    session: Session,
    shared: Path,
    file: str,
    classes: int,
    alpha: float,
    l: int,  # noqa: E741
    entropy_l: float,
    beta: float,
    enhanced: float,
    delta: float,
    t: float,
) -> None:
    source = file_query(shared / "data" / "sdc" / file)
    pupils = session.run(Step("pupils", source))  # type: ignore[arg-type]
    found = disclosure.measure(session, pupils, PUPILS, "Score", ordered=True)
    assert (found.alpha, found.distinct_l) == (alpha, l)
    assert found.entropy_l == pytest.approx(entropy_l, rel=1e-12)
    assert found.basic_beta == pytest.approx(beta, rel=1e-12)
    assert found.t == pytest.approx(t, rel=1e-12)
    assert found.t_distance == "ordered"
    blocks = (found.homogeneous, found.background, found.diverse)
    assert sum(block.classes for block in blocks) == classes
    # pycanon: the smaller of basic β and the greatest -ln q; δ in nats, over the values present
    assert found.enhanced_beta_bound == pytest.approx(enhanced, rel=1e-12)
    assert (found.delta_present or 0) * math.log(2) == pytest.approx(delta, rel=1e-12)
    # by the definitions no β and no δ will do: classes lack scores and exceed -ln q
    assert (found.enhanced_beta, found.delta_disclosure) == (None, None)
    assert found.classes_lacking_a_value == classes


def test_recursive_diversity_of_pupils_is_not_of_ascending_counts(
    session: Session, shared: Path
) -> None:
    source = file_query(shared / "data" / "sdc" / "students_math_score_k5.csv")
    pupils = session.run(Step("pupils", source))  # type: ignore[arg-type]
    assert disclosure.measure(session, pupils, PUPILS, "Score").recursive_c == 3.0


# -- brute force ---------------------------------------------------------------------------------


def judge(
    rows: Sequence[tuple[Any, Any, Any, Any]], counting: Counting, *, ordered: bool
) -> dict[str, Any]:
    """The disclosure of (person, a, b, sensitive) over a and b, by the definitions."""

    def members(kept: Sequence[Row]) -> int:
        if counting.subject is None:
            return len(kept)
        return len({row[0] for row in kept if row[0] is not None})

    def held(kept: Sequence[Row]) -> dict[Any, int]:
        found = {v: members([r for r in kept if r[3] == v]) for v in {r[3] for r in kept}}
        return {v: count for v, count in found.items() if count}

    def entropy(c: dict[Any, int], n: int) -> float:
        shares = [count / sum(c.values()) for count in c.values()]
        if n in c.values():
            return 1
        return min(math.exp(-sum(p * math.log(p) for p in shares)), n) if c else 0

    everywhere = held(rows)
    people, total = members(rows), sum(everywhere.values())
    order = sorted(v for v in everywhere if v is not None) + [None] * (None in everywhere)
    keys = {row[1:3] for row in rows}
    if counting.null_policy == "exclude":
        keys = {key for key in keys if None not in key}
    told = []
    for key in keys:
        kept = [row for row in rows if row[1:3] == key]
        n, c = members(kept), held(kept)
        most = max(c.values(), default=0)
        size = sum(c.values())
        p = {v: c[v] / n for v in c}
        q = {v: everywhere[v] / people for v in c}
        gains = [(p[v] - q[v]) / q[v] for v in c]
        share = {v: c.get(v, 0) / size - everywhere[v] / total for v in order} if c else {}
        if ordered:
            sums = [abs(sum(share[v] for v in order[: i + 1])) for i in range(len(share))]
            distance = sum(sums) / max(len(order) - 1, 1)
        else:
            distance = sum(map(abs, share.values())) / 2
        told.append(
            {
                "records": len(kept),
                "l": 1 if n and most == n else min(len(c), n),
                "entropy": entropy(c, n),
                "counts": sorted(c.values(), reverse=True),
                "t": distance if c else 1,
                "alpha": most / n if n else 1,
                "gain": max(gains) if c else None,
                "kept": all(g <= -math.log(q[v]) + 1e-9 for g, v in zip(gains, c, strict=True)),
                "shift": max(abs(math.log2(p[v] / q[v])) for v in c) if c else None,
                "lacks": len(c) < len(everywhere),
            }
        )

    def best(pick: Any, name: str) -> Any:
        return pick((one[name] for one in told if one[name] is not None), default=None)

    l = best(min, "l")  # noqa: E741
    tails = [one["counts"][0] / sum(one["counts"][l - 1 :]) for one in told if l and one["counts"]]
    gain, lacking = best(max, "gain"), sum(one["lacks"] for one in told)
    rarest = min(everywhere.values(), default=0)

    def block(*which: int) -> dict[str, int]:
        kept = [one for one in told if one["l"] in which]
        return {"classes": len(kept), "records": sum(one["records"] for one in kept)}

    return {
        "distinct_l": l,
        "entropy_l": best(min, "entropy"),
        "recursive_c": max(tails, default=None),
        "t": best(max, "t"),
        "t_distance": "ordered" if ordered else "equal",
        "alpha": best(max, "alpha"),
        "basic_beta": gain,
        "enhanced_beta": gain if all(one["kept"] for one in told) else None,
        "enhanced_beta_bound": None if gain is None else min(gain, -math.log(rarest / people)),
        "delta_disclosure": None if lacking else best(max, "shift"),
        "delta_present": best(max, "shift"),
        "classes_lacking_a_value": lacking,
        "homogeneous": block(0, 1),
        "background": block(2),
        "diverse": block(*range(3, 99)),
    }


few = st.one_of(st.none(), st.integers(0, 1))
tables = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 4)), few, few, st.one_of(st.none(), st.integers(0, 6))
    ),
    max_size=24,
)


@settings(max_examples=examples(80), deadline=None)
@given(tables, st.sampled_from(["own_category", "exclude"]), st.booleans(), st.booleans())
def test_every_number_by_brute_force(
    session: Session, rows: list[Row], policy: Any, people: bool, ordered: bool
) -> None:
    found = table(session, "p INTEGER, a INTEGER, b VARCHAR, s INTEGER", rows)
    counting = Counting(policy, "p" if people else None)
    told = disclosure.measure(session, found, ["a", "b"], "s", counting, ordered=ordered)
    texts = [(p, a, None if b is None else str(b), s) for p, a, b, s in rows]
    expected = judge(texts, counting, ordered=ordered)
    for name, value in told.to_dict().items():
        assert value == pytest.approx(expected[name], abs=1e-9), name


# -- facts ---------------------------------------------------------------------------------------


def measured(session: Session, rows: Sequence[Row], **kind: Any) -> Disclosure:
    found = table(session, "p VARCHAR, a INTEGER, s VARCHAR", rows)
    counting = Counting(subject="p") if kind.pop("people", False) else Counting()
    return disclosure.measure(session, found, ["a"], "s", counting, **kind)


def test_one_class_tells_what_the_table_tells(session: Session) -> None:
    found = measured(session, [("p", 1, s) for s in "aabbc"])
    assert (found.distinct_l, found.t, found.basic_beta, found.enhanced_beta) == (3, 0, 0, 0)
    assert (found.delta_disclosure, found.classes_lacking_a_value) == (0, 0)
    assert found.recursive_c == 2.0  # 2 / 1: the counts are 2, 2, 1 and l is 3
    assert found.diverse == Block(1, 5)


def test_an_illness_of_everybody_is_learned_whatever_else_they_have(session: Session) -> None:
    rows = [("x", 1, "flu"), ("x", 1, "gout"), ("y", 1, "flu"), ("y", 1, "mumps")]
    assert measured(session, rows).distinct_l == 3
    found = measured(session, rows, people=True)
    assert (found.distinct_l, found.alpha) == (1, 1.0)
    assert found.homogeneous == Block(1, 4)


@pytest.mark.full
def test_many_illnesses_of_one_person_are_no_diversity(session: Session) -> None:
    rows = [("x", 1, s) for s in "abcd"]
    assert measured(session, rows).distinct_l == 4
    assert measured(session, rows, people=True).distinct_l == 1


def test_a_class_of_nobody_known_protects_nobody(session: Session) -> None:
    found = measured(session, [(None, 1, "a"), (None, 1, "b")], people=True)
    assert (found.distinct_l, found.entropy_l, found.alpha) == (0, 0, 1)
    assert (found.t, found.recursive_c, found.basic_beta) == (1, None, None)
    assert found.homogeneous == Block(1, 2)


def test_a_column_of_one_value(session: Session) -> None:
    found = measured(session, [("p", i, "a") for i in range(3)], ordered=True)
    assert (found.distinct_l, found.t, found.basic_beta, found.delta_disclosure) == (1, 0, 0, 0)


def test_an_empty_table(session: Session) -> None:
    found = measured(session, [])
    assert (found.distinct_l, found.t, found.alpha, found.enhanced_beta) == (None,) * 4
    assert found.homogeneous == Block(0, 0)


def test_wildcards_are_refused(session: Session) -> None:
    found = table(session, "a INTEGER, s INTEGER", [])
    with pytest.raises(ValueError, match="overlap"):
        disclosure.measure(session, found, ["a"], "s", Counting("wildcard"))


OURS = ["qi_0", "qi_1", "subject", "records", "class_size", "class", "value", "position", "people"]
OURS += ["holders", "classes", "shares", "told", "found", "known", "held", "numbered", "total"]
OURS += ["reached", "summed", "level", 'quo"te', "select", "s"]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", OURS)
def test_no_name_of_the_table_meets_one_of_ours(session: Session, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    spare = "spare" if name == "s" else "s"
    for qi, sensitive in ((name, spare), (spare, name)):
        session.execute(
            f"CREATE OR REPLACE TEMP TABLE {quoted} AS SELECT i % 2 AS {quoted}, "
            f"i // 2 AS {spare}, i AS person FROM range(8) AS r(i)"
        )
        for counting in (Counting(), Counting(subject="person")):
            found = disclosure.measure(
                session, session.temp(name), [qi], sensitive, counting, ordered=True
            )
            assert found.distinct_l == (4 if qi == name else 2)
            assert found.t == pytest.approx(0)
    session.drop_temp(name)
