"""Sensitive values that only look different count as one, in the methods and in the verifier."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import pytest
import tiers
from hypothesis import given, settings
from hypothesis import strategies as st

import dbdeid
from dbdeid.data.spelling import meaning
from dbdeid.verify.base.spelling import Speller

# Spellings of one value each: case, blanks, invisible characters, Unicode forms, look-alikes.
ALIKE = [
    ("HIV", "hiv", "HIV ", "\u00a0Hiv", "H\u00adIV", "HI\u200bV", "\uff28\uff29\uff36"),
    ("HIV", "\u041dIV", "HI\u03bd"),  # a Cyrillic letter, a Greek one
    ("A15", "\u041015", "\u043015", "a15\n"),
    ("hepatitis B", "Hepatitis  b", "hepatitis\tB", "h\u0435patitis \u0412"),
    ("\u0412\u0418\u0427", "\u0432\u0438\u0447"),  # a word that has no Latin look
    ("caf\u00e9", "cafe\u0301"),
    ("COVID-19", "covid\u201119", "COVID\u201319"),
    ("stra\u00dfe", "STRASSE"),
]
APART = ("1", "1.0", "01", "I10", "110", "HIV", "HPV", "cafe", "caf\u00e9", "non-A", "nonA", "0")
NOTHING = ("", " ", "\t\n", "\u00a0", "\u200b", "\u2800", "\u00ad \u3164")


@pytest.mark.parametrize("alike", ALIKE, ids=[words[0] for words in ALIKE])
def test_spellings_of_a_value_are_one(alike: tuple[str, ...]) -> None:
    assert len({meaning(text) for text in alike}) == 1
    assert len({Speller()(text) for text in alike}) == 1


def test_other_values_stay_apart_and_blanks_say_nothing() -> None:
    for read in (meaning, Speller()):
        assert len({read(text) for text in APART}) == len(APART)
        assert {read(text) for text in NOTHING} == {None}


@given(st.text(max_size=8) | st.text("aA \u0430\u0410\u03bd\u00df\u0130\u200b\u2011-'\u2019"))
@settings(max_examples=tiers.examples(300), deadline=None)
def test_methods_and_verifier_read_every_text_alike(text: str) -> None:
    read = meaning(text)
    assert Speller()(text) == read
    assert meaning(f" {text}\u200b\t") == read
    assert meaning(unicodedata.normalize("NFD", text)) == meaning(
        unicodedata.normalize("NFC", text)
    )


@pytest.mark.full
def test_every_character_is_read_alike() -> None:
    other = Speller()
    for number in [*range(0x3100), *range(0xA640, 0xA7FF), *range(0xFB00, 0x10000)]:
        if not 0xD800 <= number < 0xE000:
            text = f"A{chr(number)}"
            assert other(text) == meaning(text), hex(number)


# -- releases ---------------------------------------------------------------------------------

QI = {"role": "quasi_identifier", "hierarchy": {"intervals": [10, 20, 40], "lower": 0, "upper": 80}}


def spec(*models: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    written = more.pop("values", None)
    sensitive = {"role": "sensitive", **({"values": written} if written else {})}
    return {
        "release": "r",
        "source": "t",
        "columns": {"age": QI, "illness": sensitive},
        "privacy": [{"model": "k_anonymity", "k": 2}, *models],
        "evaluate": {"metrics": []},
        "method": {"name": "full_domain", "suppression_limit": 0.0},
        **more,
    }


def diverse(l: int, **more: Any) -> dict[str, Any]:  # noqa: E741
    return {"model": "l_diversity", "column": "illness", "l": l, **more}


METHODS: dict[str, dict[str, Any]] = {
    "numpy": {"name": "full_domain", "suppression_limit": 0.0},
    "sql": {"name": "full_domain", "suppression_limit": 0.0, "engine": "sql"},
    **{
        f"local-{algorithm}": {"name": "local_recoding", "algorithm": algorithm}
        for algorithm in ("dealing", "paper", "diversity_first", "mondrian")
    },
}
SPELLED = ["HIV", "HIV ", None, "flu", "\u041dIV", "Flu", "", "gout", "hiv", "FLU", " ", "Gout"]


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("SET threads = 1")
        yield opened


def load(
    con: duckdb.DuckDBPyConnection, rows: list[tuple[Any, ...]], type_: str = "VARCHAR"
) -> None:
    con.execute(f"CREATE OR REPLACE TABLE t (age INTEGER, illness {type_})")
    con.executemany("INSERT INTO t VALUES (?, ?)", rows)


def known(con: duckdb.DuckDBPyConnection) -> list[set[str]]:
    """The values of each released class, read by hand."""
    found: dict[str, set[str]] = defaultdict(set)
    for age, illness in con.execute("SELECT age, illness FROM r").fetchall():
        text = "" if illness is None else illness.replace("\u041d", "H").strip().lower()
        found[age] |= {text} - {""}
    return list(found.values())


@pytest.mark.full
@pytest.mark.parametrize("method", METHODS.values(), ids=list(METHODS))
def test_a_class_needs_values_that_say_different_things(con: Any, method: dict[str, Any]) -> None:
    # of every twelve years the first three records are HIV, "HIV " and NULL
    load(con, [(i * 2 % 80, SPELLED[i % 12]) for i in range(120)])
    dbdeid.run(spec(diverse(3), method=method), con)
    assert min(map(len, known(con))) >= 3
    cells = con.execute("SELECT illness FROM r").fetchall()
    assert {cell for (cell,) in cells} <= set(SPELLED)  # as they were
    assert ("HIV ",) in cells
    assert dbdeid.verify(spec(diverse(3), method=method), con).verified


def test_spellings_and_nulls_are_not_diverse(con: Any) -> None:
    load(con, [(i, value) for i in range(4) for value in ("HIV", "HIV ", None)])
    with pytest.raises(dbdeid.Unsatisfiable, match="has 1 value, fewer than l = 3"):
        dbdeid.run(spec(diverse(3)), con)
    dbdeid.run(spec(diverse(3), values="as_written"), con)
    # the verifier alone: the same table held to the promise as it is read
    other = spec(diverse(3), method={"name": "external", "table": "r"})
    other["columns"]["age"] = {"role": "quasi_identifier"}
    found = {p.model: p for p in dbdeid.verify(other, con).promises}
    assert (found["l_diversity"].found, found["l_diversity"].holds) == (1, False)
    other["columns"]["illness"]["values"] = "as_written"
    found = {p.model: p for p in dbdeid.verify(other, con).promises}
    assert (found["l_diversity"].found, found["l_diversity"].holds) == (3, True)


MODELS = {
    "entropy": diverse(2, kind="entropy"),
    "recursive": diverse(2, kind="recursive", c=2),
    "alpha": {"model": "alpha_k", "column": "illness", "k": 2, "alpha": 0.5},
    "alpha-listed": {
        **{"model": "alpha_k", "column": "illness", "k": 2, "alpha": 0.5},
        "values": ["hIV"],
    },
    "t": {"model": "t_closeness", "column": "illness", "t": 0.25},
    "beta": {"model": "basic_beta", "column": "illness", "beta": 0.5},
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_no_model_is_met_by_spellings(con: Any, model: dict[str, Any]) -> None:
    """Half of the ages are HIV in four spellings, which as they are written spread well."""
    spelled = ["HIV", "hiv", "HIV ", "H\u00adIV"]
    others = ["flu", "Flu", "FLU", "flu "]
    rows = [(i % 4 + 40 * (i // 20), spelled[i % 4]) for i in range(40)]
    rows += [(i % 4 + 40 * (i // 20), others[i % 4]) for i in range(40)]
    rows += [(20 + i % 4, spelled[i % 4]) for i in range(20)]
    rows += [(60 + i % 4, others[i % 4]) for i in range(20)]
    load(con, rows)
    accepting = spec(model)
    accepting["columns"]["illness"]["accept"] = "homogeneity"
    dbdeid.run(accepting, con)
    classes = defaultdict(list)
    cells = con.execute("SELECT age, illness FROM r").fetchall()
    assert Counter(cell for _, cell in cells) == Counter(cell for _, cell in rows)  # as they were
    for age, illness in cells:
        classes[age].append(illness.replace("\u00ad", "").strip().lower() == "hiv")
    for held in classes.values():
        assert 0 < sum(held) < len(held)
        assert sum(held) / len(held) <= 0.75


@pytest.mark.sampled(2)
@pytest.mark.parametrize("columns", [["d", "e"], ["e", "d"]])
def test_listed_values_are_read_as_each_column_counts_them(con: Any, columns: list[str]) -> None:
    """`d` counts as written, `e` by meaning: two of four have `HIV` in each, as each counts."""
    rows = [(age, d, e) for age in (1, 41) for d, e in zip(*COLUMNS, strict=True)]
    con.execute("CREATE TABLE t (age INTEGER, d VARCHAR, e VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    part = {"role": "sensitive", "accept": "homogeneity"}
    model = {"model": "alpha_k", "column": columns, "k": 2, "alpha": 0.5, "values": ["HIV"]}
    asked = spec(model)
    asked["columns"] = {"age": QI, "d": {**part, "values": "as_written"}, "e": part}
    promises = dbdeid.run(asked, con).promises
    assert [p["found"]["alpha"] for p in promises if p["model"] == "alpha_k"] == [0.5, 0.5]
    model["alpha"] = 0.4
    with pytest.raises(dbdeid.Unsatisfiable):
        dbdeid.run(asked, con)
    model["values"] = ["HIV", "hiv", "none"]  # the third as it was declared is in neither
    with pytest.raises(dbdeid.SpecError, match="of 3 values not in d: number 3"):
        dbdeid.run(asked, con)


COLUMNS = (["HIV", "HIV", "hiv", "flu"], ["hIV", "Hiv ", "flu", "gout"])


@pytest.mark.full
def test_one_who_has_no_value_hides_nobody(con: Any) -> None:
    load(con, [(age, value) for age in (1, 41) for value in ("HIV", None, None, None, "flu")])
    half = {"model": "alpha_k", "column": "illness", "k": 2, "alpha": 0.6}
    dbdeid.run(spec(half), con)
    load(con, [(age, value) for age in (1, 41) for value in ("HIV", None, "flu", "HIV")])
    with pytest.raises(dbdeid.Unsatisfiable, match=r"reaches alpha = 0\.6667"):
        dbdeid.run(spec(half), con)
    if tiers.full:
        dbdeid.run(spec(half, values="as_written"), con)


@pytest.mark.full
@pytest.mark.parametrize("values", ["normalized", "as_written"])
def test_a_class_of_one_value_in_many_spellings_is_told(con: Any, values: str) -> None:
    load(con, [(age, text) for age in (1, 41) for text in ("HIV", "hiv ", "H\u00adIV")])
    con.execute("INSERT INTO t VALUES (1, NULL)")  # who has none is not told to have it
    asked = spec(values=values, method={"name": "full_domain", "transformation": {"age": 1}})
    asked["columns"]["illness"]["accept"] = "homogeneity"
    (found,) = dbdeid.run(asked, con).remains["certain"]
    one = (1, 3) if values == "normalized" else (0, 0)
    assert (found["classes"], found["records"]) == one


def test_numbers_have_no_spellings_and_other_columns_no_such_key(con: Any) -> None:
    load(con, [(i, i % 3) for i in range(12)], "DOUBLE")
    dbdeid.run(spec(diverse(3)), con)
    wrong = spec(diverse(3))
    wrong["columns"]["age"] = {**QI, "values": "as_written"}
    with pytest.raises(dbdeid.SpecError, match="values only goes with role sensitive"):
        dbdeid.run(wrong, con)


@pytest.mark.full
def test_counterfeits_are_not_drawn_by_spelling_under_a_model(con: Any) -> None:
    load(con, [(i, SPELLED[i % 12]) for i in range(60)])
    method = {"method": {"name": "counterfeit"}, "seed": 1}
    with pytest.raises(dbdeid.SpecError, match="differ from another in their spelling only"):
        dbdeid.run(spec(diverse(2), **method), con)
    dbdeid.run(spec(diverse(2), **method, values="as_written"), con)


@pytest.mark.full
@pytest.mark.parametrize("catalog", ["pool", "paper", "none"])
def test_counterfeits_of_what_no_model_counts_are_listed_as_written(con: Any, catalog: str) -> None:
    load(con, [(i * i // 90, SPELLED[i % 12]) for i in range(60)])
    method = {"name": "counterfeit", "h": 0.8, "max_counterfeits": 0.5, "catalog": catalog}
    asked = spec(method=method, seed=1)
    asked["columns"]["illness"]["accept"] = "homogeneity"
    made = dbdeid.run(asked, con)
    assert made.verified
    assert made.counterfeit_rows
