"""Drafts: they parse, `check` lists what the owner has to decide, and `run` refuses until then."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
import tiers

from dbdeid.bind.any_table import opened
from dbdeid.bind.read import read
from dbdeid.commands.check import check
from dbdeid.commands.init import drafted as drafted_of
from dbdeid.commands.init import write_draft
from dbdeid.errors import DataError, SpecError
from dbdeid.profiling.suggest.roles import per_cent
from dbdeid.release.run import run


def drafted(folder: Path, source: Path, table: str | None = None) -> Path:
    path = folder / "draft.yml"
    path.write_text(drafted_of(source, table).text, encoding="utf-8")
    return path


@pytest.mark.full
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
    """In the default tier of their first records."""
    source = tmp_path / Path(name).name
    if tiers.full:
        source.symlink_to(shared / "data" / name)
    else:
        with duckdb.connect() as con:
            con.execute(f"COPY (FROM '{shared / 'data' / name}' LIMIT 1000) TO '{source}'")
    path = drafted(tmp_path, source)
    with opened(source, None) as found_table:
        session, query = found_table.session, found_table.opened.query
        columns = [c.name for c in session.describe(query)]
    spec = read(path).spec
    assert list(spec.columns) == columns
    checked = check(path)  # which refuses nothing
    open_ones = [name for name, c in spec.columns.items() if c.role == "undecided"]
    assert [one["name"] for one in checked["undecided"]] == open_ones
    unexplained = [name for name, c in spec.columns.items() if c.unexplained]
    if open_ones or unexplained:
        with pytest.raises(SpecError) as refused:
            run(path)
        said = " ".join(m.message for m in refused.value.mistakes)
        assert not open_ones or f"undecided: {', '.join(open_ones)}" in said
        assert all(f"the reason of {name!r} is empty" in said for name in unexplained)
    assert not list(tmp_path.glob("*_release.*"))


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
    for name in tiers.some(('"my s"."wéird täble"', "my s.wéird täble", None), 2):
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
    assert found["admission_type_id"]["type"] == "categorical"
    assert found["admission_type_id"]["hierarchy"] == {"suppress": True}
    assert found["number_outpatient"] == {"role": "insensitive", "reason": ""}
    assert found["source_id"] == found["grade"] == {"role": "undecided"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["patient_id", "patient_nr", "MRN", "Patientennummer"])
def test_a_padded_number_of_a_person_is_no_postal_code(tmp_path: Path, name: str) -> None:
    number = "CASE WHEN i = 7 THEN 'total' ELSE printf('%05d', 100 + 7 * (i % 150)) END"
    source = tmp_path / "q.parquet"
    with duckdb.connect() as con:
        con.execute(
            f"COPY (SELECT {number} AS {name}, 1940 + i % 60 AS birth_year, "
            "printf('%05d', 1067 + i % 40) AS home, ['F', 'M'][1 + i % 2] AS sex "
            f"FROM range(450) t(i)) TO '{source}'"
        )
    spec = read(drafted(tmp_path, source)).spec
    assert spec.columns[name].role == "identifier"
    assert spec.columns["home"].role == "quasi_identifier"  # what says nothing may be one
    draft = (tmp_path / "draft.yml").read_text()
    assert f"subject: {name}" in draft
    assert "no identifier repeats" not in draft


def test_a_header_of_postal_codes_of_patients_keeps_them(tmp_path: Path) -> None:
    value = "printf('%05d', 1067 + i % 40)"
    names = ("patient_zip", "paciente_codigo_postal", "plz_patient", "patient_postcode")
    found = roles(
        tmp_path,
        f"SELECT {', '.join(f'{value} AS {name}' for name in names)}, i % 50 AS age "
        "FROM range(400) t(i)",
    )
    assert {found[name]["role"] for name in names} == {"quasi_identifier"}


@pytest.mark.full
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
    accepted = [name for name, c in sensitive.items() if c.get("accept") == ("homogeneity",)]
    assert accepted == ["HIV"]  # most have one value: two in each class would cost much
    lines = (tmp_path / "draft.yml").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("  HIV:"))
    assert 'accept: homogeneity, reason: ""} # INTEGER, 2 distinct values; its name says' in line
    assert "reason? why may all records that look alike share one value" in line


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
    made = drafted_of(source, None)
    assert made.undecided == ("name",)
    assert "# No column looked like a quasi-identifier, and a release needs one." in made.text
    path = drafted(tmp_path, source)
    (open_one,) = check(path)["undecided"]
    assert (open_one["name"], open_one["proposed"]) == ("name", "identifier")
    with pytest.raises(SpecError, match="1 column is undecided: name"):
        run(path)
    source.write_text("name,age\n" + "".join(f"n{i},{i % 30}\n" for i in range(100)))
    assert "No column looked like" not in drafted_of(source, None).text


@pytest.mark.full
@pytest.mark.parametrize(
    ("columns", "asked"),
    [
        ({"ssn": "{i}", "diagnosis": "I1{j}", "num_labs": "{j}"}, ("num_labs",)),
        ({"ssn": "{i}", "diagnosis": "I1{j}"}, ("diagnosis",)),
        ({"ssn": "{i}", "nothing": ""}, ("nothing",)),
    ],
)
def test_the_likeliest_columns_are_asked_about(
    tmp_path: Path, columns: dict[str, str], asked: tuple[str, ...]
) -> None:
    source = tmp_path / "x.csv"
    rows = [
        ",".join(text.format(i=i % 90, j=i % 9) for text in columns.values()) for i in range(99)
    ]
    source.write_text("\n".join([",".join(columns), *rows]) + "\n")
    made = drafted_of(source, None)
    assert made.undecided == asked
    path = drafted(tmp_path, source)
    assert [one["name"] for one in check(path)["undecided"]] == list(asked)


def test_a_draft_begins_with_what_is_undecided(tmp_path: Path) -> None:
    source = tmp_path / "x.parquet"
    with duckdb.connect() as con:
        con.execute(
            "COPY (SELECT i % 40 AS c1, i % 60 AS age, i % 2 AS sex, i % 300 AS num_labs, "
            f"'w' || (i * 7 % 90) AS c2 FROM range(3000) t(i)) TO '{source}'"
        )
    made = drafted_of(source, None)
    assert made.text.startswith("# Columns of role undecided are yours to decide: `dbdeid check`")
    comments = "".join(line for line in made.text.splitlines() if line.startswith("#"))
    assert "c1" not in comments  # a comment that names them would stay when they are decided
    assert "2 columns" not in comments
    assert (made.decided, made.undecided, made.open_reasons) == (3, ("c1", "c2"), ("num_labs",))
    lines = made.text.splitlines()
    (line,) = (line for line in lines if line.startswith("  c1: {role: undecided}"))
    assert "as quasi_identifier 0% of the records are unique (0% without it)" in line
    assert "as sensitive l = 2 can be borne (most frequent value: 2.5%)" in line
    assert "as insensitive it singles out 0% of the records alone" in line
    (asked,) = (line for line in lines if line.startswith("  num_labs:"))
    assert '{role: insensitive, reason: ""}' in asked
    assert "reason? why can nobody outside know it of a person?" in asked
    assert "Can a person have more than one row?" in made.text
    told = made.told(Path("x.yml"))
    assert told == (
        "drafted x.yml: 3 columns decided, 2 undecided, 1 reason to give; next: dbdeid check x.yml"
    )


@pytest.mark.full
def test_costs_are_those_of_the_table(tmp_path: Path) -> None:
    """Recomputed from the table, of its records and of its subjects."""
    source = tmp_path / "x.parquet"
    with duckdb.connect() as con:
        con.execute(
            f"COPY (SELECT i // 2 AS patient_id, (i // 2) * 7 % 83 AS age, i * 13 % 11 AS c1, "
            f"(i * i) % 997 AS c2 FROM range(2000) t(i)) TO '{source}'"
        )
        classes = "SELECT count(*) AS n, count(DISTINCT patient_id) AS who FROM '{}' GROUP BY {}"

        def alone(of: str) -> str:
            query = classes.format(source, of)
            share = con.sql(f"SELECT sum(n) FILTER (who = 1) / sum(n) FROM ({query})").fetchall()
            return per_cent(share[0][0] or 0.0)

        lines = drafted_of(source, None).text.splitlines()
        for name in ("c1", "c2"):
            (line,) = (line for line in lines if line.startswith(f"  {name}:"))
            assert f"{alone(f'age, {name}')} of the records are unique" in line
            assert f"({alone('age')} without it)" in line
            assert f"it singles out {alone(name)} of the records alone" in line


@pytest.mark.full
def test_the_subject_is_asked_where_several_may_be_it(tmp_path: Path) -> None:
    source = tmp_path / "x.parquet"
    many = "i // 4 AS patient_id, i // 6 AS household_id, i % 60 AS age"
    twice = "i // 4 AS patient_id, 7000 + i // 4 AS chart_id, i % 60 AS age"
    amounts = "i // 2 * 17.5 AS totsales, 1000 + i // 2 AS salary, i % 60 AS age"
    for columns, said, named in [
        (many, 'subject: ""\n', ("patient_id", "household_id")),
        (twice, "subject: patient_id\n", ("patient_id",)),
        (amounts, "# subject: NAME", ()),
    ]:
        with duckdb.connect() as con:
            con.execute(f"COPY (SELECT {columns} FROM range(9000) t(i)) TO '{source}'")
        made = drafted_of(source, None)
        assert said in made.text
        assert made.subject_candidates == named
        read(made.text)
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT {many} FROM range(9000) t(i)) TO '{source}'")
    assert "patient_id (2,250 values), household_id (1,500 values)" in drafted_of(source, None).text


def test_a_draft_shows_counts_but_no_values(tmp_path: Path) -> None:
    source = tmp_path / "x.csv"
    source.write_text("name,age\n" + "".join(f"secret{i},{i % 90}\n" for i in range(100)))
    text = drafted_of(source, None).text
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
        (csv, "c", "is one table\n.*leave the table name out"),
        (csv, "y.csv", r"put the pattern in quotes: '.*/\*\.csv'"),
        (tmp_path / "none.csv", None, "does not exist"),
        (tmp_path / "none.duckdb", None, "no such database file"),
    ]:
        with pytest.raises(DataError, match=words):
            drafted_of(path, table)
