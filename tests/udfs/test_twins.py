"""The functions that have a twin in SQL give what the macro gives, errors included."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pytest
import scipy.stats
from dbdeid.udfs.diversity import emd, entropy_l
from dbdeid.udfs.overlap import overlap
from dbdeid.udfs.rce import rce
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

Con = duckdb.DuckDBPyConnection

names = st.sampled_from(["age", ".age", "a.age", "b.age", "zip", "", None])
values = st.sampled_from(["20", "25", "30", "", "99", None])
levels = st.sampled_from([0, 1, 2, 3, -1, None])
labels = st.sampled_from(["20", "[20, 30)", "[20, 30)@1", "25", "25@0", "25@1", "*", "", "x", None])


def outcome(con: Con, query: str, arguments: list[Any]) -> object:
    """The value, or that there was an error of dbdeid's own."""
    try:
        ((found,),) = con.execute(query, arguments).fetchall()
    except duckdb.InvalidInputException as error:
        text = str(error)
        assert "deid." in text or "HierarchyError" in text
        return "ambiguous" if "ambiguous" in text or "several meanings" in text else "error"
    return ("value", found)


@settings(max_examples=examples(70), deadline=None)
@given(names, values, levels)
def test_generalize(con: Con, name: str | None, value: str | None, level: int | None) -> None:
    macro = "SELECT deid.generalize($2::VARCHAR, $1::VARCHAR, $3::INTEGER)"
    udf = "SELECT deid_generalize($1::VARCHAR, $2::VARCHAR, $3::INTEGER)"
    arguments = [name, value, level]
    assert outcome(con, udf, arguments) == outcome(con, macro, arguments)


@settings(max_examples=examples(70), deadline=None)
@given(names, st.one_of(st.none(), st.lists(values, max_size=4)))
def test_lca(con: Con, name: str | None, leaves: list[str | None] | None) -> None:
    arguments = [name, leaves]
    udf = outcome(con, "SELECT deid_lca($1::VARCHAR, $2::VARCHAR[])", arguments)
    assert udf == outcome(con, "SELECT deid.lca($1::VARCHAR, $2::VARCHAR[])", arguments)


@settings(max_examples=examples(70), deadline=None)
@given(names, labels)
def test_loss(con: Con, name: str | None, label: str | None) -> None:
    arguments = [name, label]
    udf = outcome(con, "SELECT deid_loss($1::VARCHAR, $2::VARCHAR)", arguments)
    assert udf == outcome(con, "SELECT deid.label_loss($1::VARCHAR, $2::VARCHAR)", arguments)


ends = st.one_of(st.integers(-9, 9), st.decimals(-9, 9, places=1), st.floats(-1e3, 1e3))
texts = st.one_of(
    st.none(),
    st.builds("[{}, {})".format, ends, ends),
    st.builds("[{}, {})@{}".format, ends, ends, st.integers(0, 12)),
    st.builds("< {}".format, ends),
    st.builds(">= {}".format, ends),
    ends.map(str),
    st.sampled_from(
        ["*", "", "[", "[1, 2]", "[1,2)", "(1, 2)", ">=5", "<5", "1e", ".5", "5.", "+5"]
    ),
    st.text(max_size=5),
)
bounds = st.one_of(st.none(), ends.map(float))


@settings(max_examples=examples(200), deadline=None)
@given(texts, bounds, bounds)
def test_overlap(con: Con, label: str | None, lower: float | None, upper: float | None) -> None:
    query = """SELECT deid.overlap($1::VARCHAR, $2::DOUBLE, $3::DOUBLE),
      deid_overlap($1::VARCHAR, $2::DOUBLE, $3::DOUBLE)"""
    ((macro, udf),) = con.execute(query, [label, lower, upper]).fetchall()
    assert macro == udf == overlap(label, lower, upper)
    assert udf is None or 0 <= udf <= 1


def about(con: Con, query: str, arguments: list[Any]) -> Any:
    """The number, or what dbdeid says of the arguments."""
    try:
        ((found,),) = con.execute(query, arguments).fetchall()
    except duckdb.InvalidInputException as error:
        return str(error).rpartition("deid")[2].partition(": ")[2].partition("\n")[0]
    return None if found is None else pytest.approx(found, rel=1e-12, abs=1e-12)


counts = st.one_of(st.none(), st.lists(st.one_of(st.none(), st.integers(-1, 50)), max_size=6))
natural = st.lists(st.integers(0, 10**6), max_size=12)


@settings(max_examples=examples(150), deadline=None)
@given(st.one_of(counts, natural))
def test_entropy_l(con: Con, given_counts: list[int | None] | None) -> None:
    macro = about(con, "SELECT deid.entropy_l($1::BIGINT[])", [given_counts])
    udf = about(con, "SELECT deid_entropy_l($1::BIGINT[])", [given_counts])
    assert macro == udf
    if not isinstance(udf, str):
        assert entropy_l(given_counts) == udf
        present = [count for count in given_counts or () if count]
        if present:
            assert udf == pytest.approx(math.exp(scipy.stats.entropy(present)), rel=1e-9)


amounts = st.floats(0, 1e6, allow_subnormal=False).map(lambda one: round(one, 3))
odd = st.sampled_from([None, -1.0, math.inf, math.nan, 0.0])
shares = st.one_of(st.none(), st.lists(st.one_of(amounts, odd), max_size=4))
pairs = st.lists(st.tuples(amounts, amounts), min_size=1, max_size=9).map(
    lambda two: [[a for a, _ in two], [b for _, b in two]]
)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.one_of(st.tuples(shares, shares), pairs),
    st.sampled_from(["equal", "ordered", "ordered", "Equal", None]),
)
def test_emd(con: Con, two: list[Any], kind: str | None) -> None:
    arguments = [*two, kind]
    macro = about(con, "SELECT deid.emd($1::DOUBLE[], $2::DOUBLE[], $3::VARCHAR)", arguments)
    udf = about(con, "SELECT deid_emd($1::DOUBLE[], $2::DOUBLE[], $3::VARCHAR)", arguments)
    assert macro == udf
    if not isinstance(udf, str):
        p, q = two
        assert emd(p, q, kind) == udf
        if udf is not None and kind == "ordered":
            places = range(len(p))
            moved = scipy.stats.wasserstein_distance(places, places, p, q)
            assert udf == pytest.approx(moved / max(len(p) - 1, 1), rel=1e-9, abs=1e-9)


sizes = st.one_of(st.none(), st.lists(st.one_of(st.none(), st.integers(0, 10**6)), max_size=4))
domains = st.lists(st.integers(1, 10**6), min_size=1, max_size=9)
chances = st.one_of(st.floats(0, 1), st.sampled_from([None, 0.0, 1.0, -0.1, 1.1, math.nan]))


@settings(max_examples=examples(200), deadline=None)
@given(st.one_of(sizes, domains), chances, st.sampled_from([True, False, None]))
def test_rce(con: Con, leaves: list[int | None] | None, p: float | None, real: bool | None) -> None:
    arguments = [leaves, p, real]
    macro = about(con, "SELECT deid.rce($1::BIGINT[], $2::DOUBLE, $3::BOOLEAN)", arguments)
    udf = about(con, "SELECT deid_rce($1::BIGINT[], $2::DOUBLE, $3::BOOLEAN)", arguments)
    assert macro == udf
    if not isinstance(udf, str):
        assert rce(leaves, p, real) == udf
        if udf is not None:
            assert leaves
            assert p is not None
            cells = [p * p / v + real * (1 - 2 * p / v) for v in leaves if v]
            assert udf == pytest.approx(sum(cells) / len(leaves), abs=1e-12)


def test_whole_columns_agree(con: Con) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE t AS SELECT ['20', '25', '30', NULL][1 + i % 4] AS age, "
        "CAST(i % 2 AS INTEGER) AS level FROM range(10000) AS r(i)"
    )
    query = """SELECT count(*) FROM t
      WHERE deid.generalize(age, 'a.age', level)
        IS DISTINCT FROM deid_generalize('a.age', age, level)
      OR deid.lca('a.age', [age, '20']) IS DISTINCT FROM deid_lca('a.age', [age, '20'])
      OR deid.label_loss('a.age', age || '@0') IS DISTINCT FROM deid_loss('a.age', age || '@0')"""
    assert con.execute(query).fetchall() == [(0,)]


def test_an_unmapped_value_is_an_error_that_does_not_quote_it(con: Con) -> None:
    for call in (
        "deid_generalize('a.age', '4711', 1)",
        "deid_lca('a.age', ['20', '4711'])",
        "deid_loss('a.age', '4711')",
    ):
        with pytest.raises(duckdb.Error, match=r"HierarchyError: hierarchy a\.age") as error:
            con.execute(f"SELECT {call}").fetchall()
        assert "4711" not in str(error.value)
