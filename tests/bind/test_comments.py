"""Roles in comments: what is read is what was written, and what is wrong is told of its column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
import tiers
import zoo
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patients import Patient, fill
from typer.testing import CliRunner

import dbdeid
from dbdeid.bind.comments import comment_text, declaration
from dbdeid.cli.app import app
from dbdeid.commands.verify_evaluate_export import verify
from dbdeid.errors import DataError, SpecError

TEXT = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12)
PLAIN = st.one_of(
    TEXT,
    st.integers(-1000, 1000),
    st.booleans(),
    st.sampled_from(
        ["age.csv", "no", "NO", "on", "1", "1.5", "null", "~", "a b", 'a"b', "\\", ","]
    ),
)
VALUES = st.one_of(
    PLAIN,
    st.lists(PLAIN, max_size=3),
    st.dictionaries(st.sampled_from(["intervals", "groups", "b c"]), st.lists(PLAIN, max_size=2)),
)
KEYS = st.sampled_from(["hierarchy", "type", "reason", "accept", "weight"])


@settings(
    max_examples=tiers.examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.dictionaries(KEYS, VALUES, max_size=3), st.sampled_from(["", "Age. ", 'It\'s "so". ']))
def test_what_is_written_is_read(keys: dict[str, Any], people: str) -> None:
    role = {"role": "quasi_identifier", **keys}
    comment = comment_text(role, people)
    assert declaration(comment) == role
    assert comment.startswith(people.strip())
    assert declaration(comment_text("drop", comment)) == {"role": "drop"}
    assert comment_text("drop", comment) == f"{people.strip()} deid: drop".strip()


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("deid:", "no role behind"),
        ("Age. deid: hierarchy=age.csv", "no role behind"),
        ("deid: sensitive accept", "`accept` is no key=value"),
        ("deid: sensitive accept=homogeneity accept=x", "'accept' is given twice"),
        ('deid: insensitive reason="open', "value of 'reason' cannot be read"),
        ("deid: quasi_identifier hierarchy={intervals: [5", "'hierarchy' cannot be read"),
        ("deid: insensitive reason=a public band", "`public` is no key=value"),
    ],
)
def test_what_is_no_declaration_is_told(comment: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        declaration(comment)


def test_comments_of_people_declare_nothing() -> None:
    for comment in ("", "Age in years", "see deid:x", "notdeid: sensitive", "deidentified"):
        assert declaration(comment) is None


# -- in a database -------------------------------------------------------------------------------

PATIENTS: list[Patient] = [(i, i % 8, i // 8 % 8, "flu") for i in range(128)]
ROLES = {
    "number": "identifier",
    "age": {
        "role": "quasi_identifier",
        "hierarchy": {"intervals": [2, 4], "lower": 0, "upper": 8},
        "weight": 2.0,
    },
    "zip": {"role": "quasi_identifier", "hierarchy": "suppress", "type": "categorical"},
    "illness": {"role": "sensitive", "accept": "homogeneity"},
}


def spec(columns: Any, **more: Any) -> dict[str, Any]:
    return {
        "release": "patients_public",
        "database": "hospital.duckdb",
        "target": "out.duckdb",
        "source": "patients",
        "columns": columns,
        "privacy": [{"model": "k_anonymity", "k": 3}],
        "method": {"name": "full_domain", "suppression_limit": 0.1},
        "evaluate": {"metrics": []},
        **more,
    }


def hospital() -> None:
    with duckdb.connect("hospital.duckdb") as con:
        fill(con, PATIENTS)
        con.execute("COMMENT ON COLUMN patients.age IS 'Age in years.'")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    zoo.fill(hospital)
    Path("listed.yml").write_text(json.dumps(spec(ROLES)))
    Path("commented.yml").write_text(
        "# roles are in the database\n"
        + "\n".join(f"{key}: {json.dumps(value)}" for key, value in spec("").items() if value)
        + "\ncolumns: from_comments  # see there\n"
    )
    return tmp_path


def call(*given: str) -> Any:
    return CliRunner().invoke(app, list(given))


def comments() -> dict[str, str | None]:
    with duckdb.connect("hospital.duckdb", read_only=True) as con:
        return dict(con.execute("SELECT column_name, comment FROM duckdb_columns()").fetchall())


@pytest.mark.usefixtures("folder")
def test_roles_go_into_comments_and_come_back() -> None:
    assert call("roles", "export", "listed.yml").exit_code == 0
    assert comments()["age"] == (
        'Age in years. deid: quasi_identifier hierarchy={"intervals": [2, 4], "lower": 0, '
        '"upper": 8} weight=2.0'
    )
    assert comments()["illness"] == "deid: sensitive accept=homogeneity"
    once = comments()
    assert call("roles", "export", "listed.yml").exit_code == 0
    assert comments() == once
    found = json.loads(call("roles", "import", "hospital.duckdb", "patients", "--json").stdout)
    assert found["columns"] == {
        n: {"role": r} if isinstance(r, str) else r for n, r in ROLES.items()
    }
    assert found["without"] == []


@pytest.mark.full
@pytest.mark.usefixtures("folder")
def test_a_specification_of_comments_releases_what_one_of_columns_does() -> None:
    call("roles", "export", "listed.yml")
    beside = {key: value for key, value in spec(ROLES).items() if key != "target"}
    listed = dbdeid.run(beside | {"release": "listed"}).to_df()
    commented = dbdeid.run("commented.yml")
    assert commented.to_df().equals(listed)
    assert verify(Path("commented.yml")).verified
    assert dbdeid.check("commented.yml")["release"] == "patients_public"
    with duckdb.connect("out.duckdb", read_only=True) as con:
        query = "SELECT count(*) FROM duckdb_columns() WHERE comment IS NOT NULL"
        assert con.execute(query).fetchone() == (0,)
    with duckdb.connect("hospital.duckdb") as con:
        con.execute("COMMENT ON COLUMN patients.illness IS 'deid: drop'")
    with pytest.raises(DataError, match="is not the spec that made"):
        verify(Path("commented.yml"))


@pytest.mark.full
@pytest.mark.usefixtures("folder")
def test_every_command_finds_the_comments_in_the_database_that_it_is_given() -> None:
    call("roles", "export", "listed.yml")
    made = spec("from_comments")
    del made["database"], made["target"]
    Path("nowhere.yml").write_text(json.dumps(made))
    question = "SELECT count(*) FROM patients"
    commands = [
        ["run"],
        ["check"],
        ["verify"],
        ["dbt plan", "-o", "."],
        ["export", "other.csv"],
        ["search"],
        ["query", question],
        ["test"],
        ["workload", "drawn", "--queries", "1", "--dimensions", "1"],
        ["report"],
    ]
    for words in tiers.some(commands, 5):
        command, *more = words
        done = call(*command.split(), "nowhere.yml", *more, "--database", "hospital.duckdb")
        assert done.exit_code == 0, (words, done.output)


def test_a_connection_and_a_dict_do_too() -> None:
    con = duckdb.connect()
    fill(con, PATIENTS)
    for name, role in ROLES.items():
        text = comment_text(role, None).replace("'", "''")
        con.execute(f"COMMENT ON COLUMN patients.{name} IS '{text}'")
    asked = spec("from_comments")
    del asked["database"], asked["target"]
    assert dbdeid.run(asked, con).verified


@pytest.mark.usefixtures("folder")
def test_a_column_without_a_role_is_refused_as_anywhere() -> None:
    call("roles", "export", "listed.yml")
    with duckdb.connect("hospital.duckdb") as con:
        con.execute("COMMENT ON COLUMN patients.illness IS 'What they have'")
    with pytest.raises(SpecError, match=r"'illness' .* has no role"):
        dbdeid.run("commented.yml")
    printed = call("roles", "import", "hospital.duckdb", "patients").stdout
    assert '# no role: "illness"' in printed


@pytest.mark.usefixtures("folder")
def test_all_that_is_wrong_is_told_at_once_with_its_column() -> None:
    with duckdb.connect("hospital.duckdb") as con:
        con.execute("COMMENT ON COLUMN patients.age IS 'deid: quasi'")
        con.execute("COMMENT ON COLUMN patients.zip IS 'deid: quasi_identifier hierarchi=suppress'")
        con.execute("COMMENT ON COLUMN patients.illness IS 'deid: sensitive pool=3'")
        con.execute("COMMENT ON COLUMN patients.number IS 'deid:'")
    with pytest.raises(SpecError, match="4 mistakes") as caught:
        dbdeid.run("commented.yml")
    told = str(caught.value)
    assert "patients.age: role" in told
    assert "patients.zip: unknown key 'hierarchi'" in told
    assert "did you mean 'hierarchy'?" in told
    assert "patients.illness: pool only goes with role synthesize" in told
    assert "patients.number: no role behind" in told
    assert not Path("out.duckdb").exists()


@pytest.mark.usefixtures("folder")
def test_without_comments_or_a_table_there_is_nothing_to_read() -> None:
    with pytest.raises(SpecError, match="no comment on a column of 'patients' declares a role"):
        dbdeid.run("commented.yml")
    Path("patients.csv").write_text("age\n1\n")
    for source in ("patients.csv", {"sql": "FROM patients", "name": "patients"}):
        asked = spec("from_comments", source=source)
        with pytest.raises(SpecError, match="needs a table or view"):
            dbdeid.run(asked)
        Path("other.yml").write_text(json.dumps(spec(ROLES, source=source)))
        refused = call("roles", "export", "other.yml")
        assert refused.exit_code == 2
        assert "needs a table or view" in refused.stderr
    assert call("roles", "import", "patients.csv", "patients").exit_code == 2
    assert call("roles", "import", "hospital.duckdb", "nobody").exit_code == 2
    assert comments()["age"] == "Age in years."
