"""Drafts: they parse, and `check` accepts them or asks what a custodian can answer."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dbdeid.errors import DataError, Mistake, SpecError
from dbdeid.release.check import check
from dbdeid.release.init import draft, write_draft
from dbdeid.release.sources import opened
from dbdeid.release.specfile import read


def drafted(folder: Path, source: Path, table: str | None = None) -> Path:
    path = folder / "draft.yml"
    path.write_text(draft(source, table), encoding="utf-8")
    return path


def asked(path: Path) -> tuple[Mistake, ...]:
    """What `check` wants to know of a custodian."""
    try:
        check(path)
    except SpecError as error:
        return error.mistakes
    return ()


@pytest.mark.parametrize(
    "name",
    [
        "adult_uci.parquet",
        "arx_creditcard_int.parquet",
        "adult_arx.parquet",
        "ehr/diabetes130.parquet",
        "ehr/r_survival_nafld2.parquet",
        "survival/support2.parquet",
    ],
)
def test_real_tables(shared: Path, tmp_path: Path, name: str) -> None:
    source = tmp_path / Path(name).name
    source.symlink_to(shared / "data" / name)
    path = drafted(tmp_path, source)
    with opened(source, None) as (session, query):
        columns = [c.name for c in session.describe(query)]
    assert list(read(path).spec.columns) == columns
    assert asked(path) == ()


def test_odd_names_types_and_values(tmp_path: Path) -> None:
    source = tmp_path / "odd.duckdb"
    with duckdb.connect(str(source)) as con:
        con.execute('CREATE SCHEMA "my s"')
        con.execute(
            'CREATE TABLE "my s"."wéird täble" AS SELECT i % 30 AS "a, b", i::DOUBLE AS "quo""te", '
            "'x' || (i % 3) AS \"select\", 'inf'::DOUBLE AS endless, "
            "CASE i WHEN 1 THEN 'inf'::DOUBLE ELSE i END AS half, "
            'i / 7.0 AS "# hash: {x}", NULL::INTEGER AS nul, [i] AS list, '
            "DATE '2019-01-01' + i::INTEGER AS day, i * 1e-9 AS tiny, i * 1e300 AS huge, "
            '1 AS "no" '
            "FROM range(40) t(i)"
        )
    for name in ('"my s"."wéird täble"', "my s.wéird täble", None):
        path = drafted(tmp_path, source, name)
        if name is not None:
            assert read(path).spec.source == name
        assert check(path)["source_rows"] == 40


def roles(folder: Path, sql: str) -> dict[str, dict[str, object]]:
    """The columns of a draft of a query's result, as its spec says them."""
    source = folder / "q.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY ({sql}) TO '{source}'")
    columns = read(drafted(folder, source)).spec.columns
    return {name: c.model_dump(exclude_unset=True) for name, c in columns.items()}


def test_what_a_name_says_depends_on_its_values(tmp_path: Path) -> None:
    found = roles(
        tmp_path,
        "SELECT i % 8 AS admission_type_id, i % 39 AS number_outpatient, i % 26 AS source_id, "
        "i AS account, i % 1100 AS ids, i % 300 AS patient_nbr, i % 300 AS email, "
        "i % 3 AS grade FROM range(3000) t(i)",
    )
    withheld = {name for name, c in found.items() if c["role"] == "identifier"}
    assert withheld == {"account", "ids", "patient_nbr", "email"}
    for name in ("admission_type_id", "source_id", "grade"):
        assert found[name]["type"] == "categorical"
        assert found[name]["hierarchy"] == {"suppress": True}
    assert found["number_outpatient"]["role"] == "insensitive"


def test_what_must_not_be_learned_is_sensitive(tmp_path: Path) -> None:
    names = ("diagnosis", "diag_1", "income", "salary", "HIV", "disease", "outcome", "a1c_result")
    others = ("incomes_of", "resulting", "diagonal", "age")
    values = dict.fromkeys((*names, *others), "i % 30") | {"HIV": "(i % 30 = 0)::INTEGER"}
    made = ", ".join(f"{value} AS {name}" for name, value in values.items())
    found = roles(tmp_path, f"SELECT {made} FROM range(3000) t(i)")
    sensitive = {name: c for name, c in found.items() if c["role"] == "sensitive"}
    assert set(sensitive) == set(names)
    spec = read(tmp_path / "draft.yml").spec
    judged = [m.column for m in spec.privacy if m.model == "l_diversity"]
    assert judged == [name for name in names if name != "HIV"]
    accepted = [name for name, c in sensitive.items() if c.get("accept") == "homogeneity"]
    assert accepted == ["HIV"]  # most have one value: two in each class would cost much
    lines = (tmp_path / "draft.yml").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("  HIV:"))
    assert "accept: homogeneity} # INTEGER, 2 distinct values; its name says" in line
    assert "accept waives it: all records" in line


@pytest.mark.parametrize("table", [None, "x"])
def test_a_draft_keeps_the_path_as_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str | None
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    typed = Path("../data/x.csv") if table is None else Path("../data/owner.duckdb")
    if table is None:
        typed.write_text("age\n" + "".join(f"{i % 30}\n" for i in range(100)))
    else:
        with duckdb.connect(str(typed)) as con:
            con.execute("CREATE TABLE x AS SELECT i % 30 AS age FROM range(100) t(i)")
    path = drafted(Path(), typed, table)
    spec = read(path).spec
    assert (spec.source if table is None else spec.database) == str(typed)
    assert spec.release == "x_release"
    assert (spec.target, spec.output.export) == ("x_release.duckdb", ("x_release.parquet",))
    assert check(path)["source_rows"] == 100


def test_a_draft_without_quasi_identifiers_says_what_to_do(tmp_path: Path) -> None:
    source = tmp_path / "x.csv"
    source.write_text("name,ssn\n" + "".join(f"n{i},{i}\n" for i in range(100)))
    text = draft(source, None)
    assert text.startswith("# TO DO: give at least one column the role quasi_identifier")
    with pytest.raises(SpecError, match="no column has role quasi_identifier"):
        read(text)
    source.write_text("name,age\n" + "".join(f"n{i},{i % 30}\n" for i in range(100)))
    assert "TO DO" not in draft(source, None)


def test_a_draft_shows_counts_but_no_values(tmp_path: Path) -> None:
    source = tmp_path / "x.csv"
    source.write_text("name,age\n" + "".join(f"secret{i},{i % 90}\n" for i in range(100)))
    text = draft(source, None)
    assert "secret" not in text
    assert "name: {role: identifier}  # VARCHAR, 100 distinct values" in text


def test_a_draft_never_replaces_a_file(tmp_path: Path) -> None:
    write_draft(tmp_path / "new.yml", "release: x\n")
    assert (tmp_path / "new.yml").read_text() == "release: x\n"
    with pytest.raises(DataError, match="is there already"):
        write_draft(tmp_path / "new.yml", "release: y\n")
    assert (tmp_path / "new.yml").read_text() == "release: x\n"
    with pytest.raises(DataError, match="cannot be written"):
        write_draft(tmp_path / "none" / "new.yml", "release: y\n")


def test_sources_that_are_not_there_or_not_one(tmp_path: Path) -> None:
    source = tmp_path / "two.duckdb"
    with duckdb.connect(str(source)) as con:
        con.execute("CREATE TABLE a AS SELECT 1 AS x; CREATE TABLE b AS SELECT 1 AS x")
    csv = tmp_path / "x.csv"
    csv.write_text("a\n1\n")
    for path, table, words in [
        (source, None, "holds 2 tables"),
        (source, "c", "no table or view 'c'"),
        (csv, "c", "is one table"),
        (tmp_path / "none.csv", None, "does not exist"),
        (tmp_path / "none.duckdb", None, "no such database file"),
    ]:
        with pytest.raises(DataError, match=words):
            draft(path, table)
