"""Warnings that must be answered: each fires, and its answer satisfies it."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from dbdeid.cli.text.release import verdict as words
from dbdeid.commands.check import check
from dbdeid.errors import SpecError, Unsatisfiable

QI = {"role": "quasi_identifier", "hierarchy": "suppress"}
SOURCE = """
CREATE TABLE t AS SELECT
    i % 2 AS q, 'dx' || (i % 3) AS dx, 'secret' || i AS note, i AS pay, 'x' || (i % 2) AS plain,
    i // 2 AS who, i AS id
FROM range(20) t(i)
"""


def checked(columns: dict[str, Any], **given: Any) -> dict[str, Any]:
    everything = dict.fromkeys(("dx", "note", "pay", "plain", "who", "id"), "drop")
    spec = {
        "release": "r",
        "source": "t",
        "columns": {"q": QI, **everything, **columns},
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": "full_domain",
        **given,
    }
    with duckdb.connect() as con:
        con.execute(SOURCE)
        return check(spec, con)


ASKED = [
    (
        "dx",
        "sensitive",
        {"role": "sensitive", "accept": "homogeneity"},
        "no diversity or closeness",
    ),
    ("note", "insensitive", {"role": "insensitive", "reason": "why"}, "is nearly unique"),
    ("pay", "insensitive", {"role": "insensitive", "reason": "why"}, "is numeric"),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "role", "answer", "words"), ASKED)
def test_columns_that_ask(name: str, role: str, answer: dict[str, str], words: str) -> None:
    with pytest.raises(SpecError) as refused:
        checked({name: role})
    (mistake,) = refused.value.mistakes
    assert mistake.place == f"columns.{name}"
    assert words in mistake.message
    assert mistake.hint
    assert "secret" not in str(refused.value)
    warnings = checked({name: answer})["warnings"]
    assert any(w.startswith((f"{name}: ", f"{name} is ")) for w in warnings)
    assert f"not {name}" in warnings[-1]


@pytest.mark.full
def test_a_sensitive_column_that_tells_people_apart_needs_a_reason() -> None:
    with pytest.raises(SpecError, match="sensitive column 'note' is nearly unique"):
        checked({"note": {"role": "sensitive", "accept": "homogeneity"}})
    answer = {"role": "sensitive", "accept": "homogeneity", "reason": "free words of the clinic"}
    assert (
        "note is published unchanged. Your reason: free words of the clinic"
        in checked({"note": answer})["warnings"]
    )


def test_promises_that_promise_nothing_are_named() -> None:
    found = checked(
        {},
        privacy=[{"model": "k_anonymity", "k": 1}],
        method={"name": "full_domain", "suppression_limit": 0.9},
    )
    assert found["warnings"][:2] == [
        "k = 1 promises nothing: a record may be the only one of its kind",
        "up to 90% of the records may be left out",
    ]


@pytest.mark.full
@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"model": "t_closeness", "t": 1.0}, "t = 1 on dx promises nothing"),
        ({"model": "l_diversity", "l": 1}, "l = 1 on dx promises nothing"),
    ],
)
def test_models_that_any_table_keeps_are_named(model: dict[str, Any], words: str) -> None:
    models = [{"model": "k_anonymity", "k": 2}, {**model, "column": "dx"}]
    found = checked({"dx": {"role": "sensitive", "accept": "homogeneity"}}, privacy=models)
    assert any(w.startswith(words) for w in found["warnings"])


def test_check_refuses_what_a_run_would_refuse() -> None:
    with pytest.raises(Unsatisfiable, match="k = 21 is more than the 20 records"):
        checked({}, privacy=[{"model": "k_anonymity", "k": 21}])


@pytest.mark.full
def test_an_identifier_that_repeats() -> None:
    with pytest.raises(SpecError, match=r"columns\.who: identifier 'who' repeats \(10 of 20"):
        checked({"who": "identifier"})
    told = checked({"who": "identifier"}, accept="rows")["warnings"]
    assert any(w.startswith("`accept: rows` in the spec") for w in told)
    assert checked({"id": "identifier"})["warnings"] == []
    assert checked({"who": "drop"})["warnings"] == []


NAMED = """
CREATE TABLE t AS SELECT
    i % 2 AS q, i AS "{number}", 'Ada' || (i % {names}) AS "First Name", i % 7 AS x
FROM range(60) t(i)
"""


@pytest.mark.full
@pytest.mark.parametrize("role", ["identifier", "undecided"])
@pytest.mark.parametrize("number", ["MRN", "Medical Record Number", "patient_id", "SSN"])
def test_a_name_is_no_subject_where_a_number_tells_persons(number: str, role: str) -> None:
    spec: dict[str, Any] = {
        "release": "r",
        "source": "t",
        "columns": {"q": QI, number: "identifier", "First Name": role, "x": "drop"},
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": "full_domain",
    }
    with duckdb.connect() as con:
        con.execute(NAMED.format(number=number, names=25))
        assert not any("First Name" in q for q in check(spec, con)["questions"])
    with duckdb.connect() as con:
        con.execute(NAMED.format(number="x2", names=25))
        spec["columns"] = {"q": QI, "x2": "drop", "First Name": role, "x": "drop"}
        try:  # without a number it is asked about
            said = " ".join(check(spec, con)["questions"])
        except SpecError as error:
            said = str(error)
    assert "First Name" in said


def test_all_questions_at_once_and_none_without_reason() -> None:
    with pytest.raises(SpecError) as refused:
        checked({name: role for name, role, _, _ in ASKED} | {"who": "identifier"})
    assert [m.place for m in refused.value.mistakes] == [
        "columns.dx",
        "columns.note",
        "columns.pay",
        "columns.who",
    ]
    (told,) = checked({"plain": "insensitive"})["warnings"]
    assert told.startswith("0 of 20 source records (0.0%) are unique over all released columns")


@pytest.mark.full
def test_uniqueness_is_counted_over_all_released_columns() -> None:
    told = checked({"note": {"role": "insensitive", "reason": "why"}})["warnings"][-1]
    assert told.startswith("20 of 20 source records (100.0%)")


def test_one_record_is_told_of_in_the_singular() -> None:
    rows = "SELECT (i = 3)::INTEGER AS i FROM range(20) AS t(i)"
    spec = {
        "release": "r",
        "source": {"sql": rows, "name": "t"},
        "columns": {"i": QI},
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": "full_domain",
    }
    with duckdb.connect() as con:
        assert "1 of 20 records (5.0%) is unique on its" in words.checked(check(spec, con))
        spec["source"] = {"sql": f"SELECT *, 0 AS q FROM ({rows})", "name": "t"}
        spec["columns"] = {"q": QI, "i": {"role": "insensitive", "reason": "public"}}
        told = check(spec, con)["warnings"][-1]
    assert told.startswith("1 of 20 source records (5.0%) is unique over all released columns")


@pytest.mark.full
def test_a_check_writes_nothing_and_describes_every_column() -> None:
    found = checked({})
    assert (found["source_rows"], found["lattice_size"], found["risk"]["k"]) == (20, 2, 10)
    assert {c["name"]: c["role"] for c in found["columns"]}["id"] == "drop"
    assert found["columns"][0] == {
        "name": "q",
        "type": "BIGINT",
        "role": "quasi_identifier",
        "hierarchy": "suppress",
        "levels": 2,
        "values": 2,
    }
