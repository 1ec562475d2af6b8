"""Mutants of a release, each made by one change: the verifier must catch it and name it."""

from __future__ import annotations

import pytest
from handmade import Release, detail, failed, handmade

from dbdeid.engine.engines import ENGINE
from dbdeid.engine.expressions import identifier
from dbdeid.engine.sqltext import sql
from dbdeid.errors import DataError
from dbdeid.verify.base import hygiene

REPLACE = "SELECT * REPLACE ({}) FROM ward"


def test_the_release_itself_is_verified() -> None:
    found = handmade().verify()
    assert found.verified
    assert [p.model for p in found.promises] == [
        "k_anonymity",
        "suppression_limit",
        "transformation",
        "truthfulness",
    ]
    assert {p.model: p.found for p in found.promises}["suppression_limit"] == {
        "records": 1,
        "share": 1 / 21,
    }


@pytest.mark.full
def test_suppression_dropped() -> None:
    release = handmade().replace("SELECT * FROM ward WHERE rowid NOT IN (0)")
    found = release.promise(suppression_limit=0.5).verify()
    assert failed(found) == {"k_anonymity"}
    assert found.promises[0].found == 4


@pytest.mark.full
def test_the_suppressed_record_released_after_all() -> None:
    release = handmade()
    query = """SELECT * FROM ward UNION ALL SELECT '[70, 80)', 70, 79, left(zip, 3) || '**', sex, dx
    FROM patients WHERE age > 70"""
    release.replace(query).sql(
        """CREATE OR REPLACE TABLE ward_dictionary AS FROM (FROM ward_dictionary UNION ALL
        SELECT 'age', '[70, 80)', 1, '70', '79', NULL) ORDER BY ALL"""
    )
    assert failed(release.verify()) == {"k_anonymity"}


@pytest.mark.full
def test_more_suppressed_than_the_limit() -> None:
    found = handmade().replace("SELECT * FROM ward WHERE age <> '[20, 30)'").verify()
    # the dictionary still lists the values of the lost records
    assert failed(found) == {"suppression_limit", "dictionary"}


@pytest.mark.full
def test_more_released_than_the_source_has() -> None:
    release = handmade().replace("SELECT * FROM ward UNION ALL SELECT * FROM ward")
    assert failed(release.verify()) == {"suppression_limit", "truthfulness"}


def test_a_level_swapped_in_a_column() -> None:
    release = handmade().replace(REPLACE.format("left(zip, 2) || '***' AS zip"))
    found = release.verify()
    assert failed(found) == {"transformation", "dictionary", "truthfulness"}
    assert found.promises[2].found["zip"] == "1 of 1 values is not listed at level 1"
    assert "'zip'" in detail(found, "dictionary")


@pytest.mark.full
def test_a_level_swapped_in_column_and_dictionary() -> None:
    release = handmade().replace(REPLACE.format("'*' AS zip"))
    release.sql(
        """CREATE OR REPLACE TABLE ward_dictionary AS SELECT DISTINCT * REPLACE (
        CASE "column" WHEN 'zip' THEN 2 ELSE level END AS level,
        CASE "column" WHEN 'zip' THEN '*' ELSE released_value END AS released_value)
        FROM ward_dictionary ORDER BY ALL"""
    )
    found = release.verify()
    assert failed(found) == {"transformation", "truthfulness"}
    assert failed(release.verify(source=False)) == {"transformation"}


@pytest.mark.full
def test_a_level_swapped_in_one_row() -> None:
    release = handmade()
    release.replace("SELECT * REPLACE (CASE rowid WHEN 0 THEN '*' ELSE zip END AS zip) FROM ward")
    found = release.verify()
    assert failed(found) == {"k_anonymity", "transformation", "dictionary", "truthfulness"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["name", "NAME", "Name"])
def test_an_identifier_left_in(name: str) -> None:
    release = handmade().replace(f"""SELECT *, 'patient ' || rowid AS "{name}" FROM ward""")
    found = release.verify(source=False)
    assert failed(found) == {"columns"}
    assert detail(found, "columns") == f"columns withheld {name!r}"
    assert "patient 0" not in str(found.to_dict())


def test_an_undeclared_column() -> None:
    """It is counted: what stands in place of its name may be a cell."""
    rows = """SELECT 1 AS "Zoe Kanari", *, 1 AS batch FROM ward"""
    found = handmade().replace(rows).verify(source=False)
    assert "columns" in failed(found)
    assert "2 undeclared (places 1, " in detail(found, "columns")
    assert "Kanari" not in str(found.to_dict())
    found = handmade().replace("SELECT *, [1] AS batch FROM ward").verify(source=False)
    assert "batch" not in str(found.to_dict())


def test_a_missing_quasi_identifier() -> None:
    found = handmade().replace("SELECT * EXCLUDE (zip) FROM ward").verify()
    assert failed(found) == {"columns", "k_anonymity"}
    assert "missing 'zip'" in detail(found, "columns")


def test_columns_in_another_order() -> None:
    found = handmade().replace("SELECT dx, * EXCLUDE (dx) FROM ward").verify()
    assert failed(found) == {"columns"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("cast", "kind"),
    [
        ("CAST(dx AS ENUM ('flu', 'gout', 'secret disease')) AS dx", "ENUM"),
        ("[dx] AS dx", "VARCHAR[]"),
        ("encode(dx) AS dx", "BLOB"),
        ("struct_pack(secret := dx) AS dx", "STRUCT"),
    ],
)
def test_a_type_that_carries_more_than_values(cast: str, kind: str) -> None:
    found = handmade().replace(REPLACE.format(cast)).verify(source=False)
    assert failed(found) == {"types"}
    assert detail(found, "types") == f"'dx' is {kind}"


@pytest.mark.full
def test_a_wrong_type() -> None:
    found = handmade().replace(REPLACE.format("CAST(age_lower AS BIGINT) AS age_lower")).verify()
    assert failed(found) == {"types"}
    assert detail(found, "types") == "'age_lower' is BIGINT, declared INTEGER"


@pytest.mark.full
def test_unsorted_rows() -> None:
    release = handmade()
    release.sql("CREATE OR REPLACE TABLE ward AS FROM ward ORDER BY dx, zip DESC")
    found = release.verify()
    assert failed(found) == {"order"}
    assert "'ward'" in detail(found, "order")


def test_nulls_must_come_last_and_the_dictionary_be_in_order_too() -> None:
    release = handmade()
    release.sql("CREATE OR REPLACE TABLE ward AS FROM ward ORDER BY ALL NULLS FIRST")
    release.sql("CREATE OR REPLACE TABLE ward_dictionary AS FROM ward_dictionary ORDER BY ALL DESC")
    found = release.verify()
    assert failed(found) == {"order"}
    assert "'ward': " in detail(found, "order")
    assert "'ward_dictionary': " in detail(found, "order")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("COMMENT ON TABLE ward IS 'patient 20 is missing'", "table 'ward'"),
        ("COMMENT ON COLUMN ward.dx IS 'gout: patient 1'", "column 'ward'.'dx'"),
        ("COMMENT ON COLUMN ward.age_lower IS '20: patient 0'", "column 'ward'.'age_lower'"),
        ("COMMENT ON TABLE ward_dictionary IS 'note'", "table 'ward_dictionary'"),
        ("COMMENT ON COLUMN ward_dictionary.leaves IS '77'", "column 'ward_dictionary'.'leaves'"),
    ],
)
def test_a_comment(statement: str, place: str) -> None:
    found = handmade().sql(statement).verify()
    assert failed(found) == {"comments"}
    assert detail(found, "comments") == f"comment on {place}"


def test_comments_elsewhere_in_the_owners_database_are_not_the_releases() -> None:
    release = handmade().sql(
        "CREATE SCHEMA raw",
        "CREATE TABLE raw.ward AS FROM patients",
        "CREATE VIEW adults AS FROM patients",
        "CREATE MACRO twice(a) AS 2 * a",
        "CREATE SEQUENCE next_patient",
        "CREATE INDEX by_age ON patients (age)",
        *(
            f"COMMENT ON {place} IS 'patient 20'"
            for place in (
                *("TABLE patients", "COLUMN patients.dx", "TABLE raw.ward", "COLUMN raw.ward.dx"),
                *("VIEW adults", "MACRO twice", "SEQUENCE next_patient", "INDEX by_age"),
            )
        ),
    )
    assert release.verify().verified


def test_a_definition_that_says_more() -> None:
    found = (
        handmade()
        .sql(
            "ALTER TABLE ward ALTER COLUMN dx SET DEFAULT 'patient 1'",
            "ALTER TABLE ward ALTER COLUMN sex SET NOT NULL",
            "CREATE INDEX by_dx ON ward (dx)",
        )
        .verify()
    )
    assert failed(found) == {"definition"}
    assert detail(found, "definition") == (
        "'ward' has default on 'dx'; 'ward' has index on 'by_dx'; "
        "'ward' has not null constraint on 'sex'"
    )


def test_an_index_alone() -> None:
    assert failed(handmade().sql("CREATE INDEX by_dx ON ward (dx)").verify()) == {"definition"}


@pytest.mark.parametrize("name", ['"a(b VARCHAR);"', 'a""(', "SELECT"])
def test_names_that_look_like_a_definition(name: str) -> None:
    # what stands before the columns is a name, or columns of another list
    with ENGINE.open(None, read_only=False) as session:
        place = sql(identifier(name))
        session.execute(f"CREATE TABLE {place} (b VARCHAR)")
        assert hygiene.definition(session, [session.relation(name)]).holds
        session.execute(f"CREATE OR REPLACE TABLE {place} (b VARCHAR DEFAULT '(b VARCHAR);')")
        assert not hygiene.definition(session, [session.relation(name)]).holds


def test_constraints_and_a_generated_column() -> None:
    release = handmade().sql("CREATE TABLE kept AS SELECT DISTINCT * FROM ward ORDER BY ALL")
    release.sql(
        """CREATE OR REPLACE TABLE ward (age VARCHAR, age_lower INTEGER, age_upper INTEGER,
        zip VARCHAR, sex VARCHAR, dx VARCHAR, area VARCHAR GENERATED ALWAYS AS (left(zip, 2)),
        CHECK (dx <> 'secret'), PRIMARY KEY (age, age_lower, age_upper, zip, sex, dx))""",
        "INSERT INTO ward FROM kept WHERE dx IS NOT NULL ORDER BY ALL",
    )
    found = release.verify()
    assert {"definition", "columns"} <= failed(found)
    for words in (
        "check constraint on 'dx'",
        "primary key constraint on 'age, age_lower, age_upper, zip, sex, dx'",
        "generated column on 'area'",
    ):
        assert words in detail(found, "definition")


def test_a_collation_that_merges_classes() -> None:
    release = handmade().sql("CREATE TABLE kept AS FROM ward")
    release.sql(
        """CREATE OR REPLACE TABLE ward (age VARCHAR, age_lower INTEGER, age_upper INTEGER,
        zip VARCHAR, sex VARCHAR COLLATE NOCASE, dx VARCHAR)""",
        "INSERT INTO ward FROM kept ORDER BY ALL",
    )
    found = release.verify()
    assert failed(found) == {"definition"}
    assert "collation" in detail(found, "definition")


def test_a_default_collation_of_the_connection() -> None:
    with pytest.raises(DataError, match="default_collation = nocase"):
        handmade().sql("SET default_collation = 'nocase'").verify()


def test_a_dictionary_that_lists_too_much() -> None:
    release = handmade().sql(
        """CREATE OR REPLACE TABLE ward_dictionary AS FROM (FROM ward_dictionary UNION ALL FROM (
        VALUES ('age', '[70, 80)', 1, '70', '79', NULL), ('sex', 'm', 0, NULL, NULL, NULL),
        ('name', 'patient 1', 0, NULL, NULL, NULL))) ORDER BY ALL"""
    )
    found = release.verify()
    assert failed(found) == {"dictionary"}
    assert detail(found, "dictionary") == (
        "1 entries of no quasi-identifier; lists 1 values of 'age' that do not occur; "
        "lists 1 values of 'sex' more than once"
    )


@pytest.mark.full
def test_a_dictionary_that_misses_a_value() -> None:
    release = handmade().sql(
        """CREATE OR REPLACE TABLE ward_dictionary AS FROM ward_dictionary
        WHERE released_value <> 'm' ORDER BY ALL"""
    )
    found = release.verify()
    assert failed(found) == {"dictionary", "transformation"}
    assert detail(found, "dictionary") == "misses 1 released values of 'sex'"


def test_a_dictionary_with_other_bounds_than_the_hierarchy() -> None:
    release = handmade().sql(
        """CREATE OR REPLACE TABLE ward_dictionary AS SELECT * REPLACE (
        CASE released_value WHEN '[20, 30)' THEN '22' ELSE lower END AS lower)
        FROM ward_dictionary ORDER BY ALL""",
    )
    found = release.verify()
    assert failed(found) == {"dictionary", "bounds"}
    assert "'age'" in detail(found, "dictionary")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("domains", [(), ("zip",)])
def test_leaves_only_of_declared_domains(domains: tuple[str, ...]) -> None:
    release = handmade().sql(
        """CREATE OR REPLACE TABLE ward_dictionary AS SELECT * REPLACE (
        CASE "column" WHEN 'zip' THEN ['37101', '37103'] END AS leaves)
        FROM ward_dictionary ORDER BY ALL"""
    )
    found = release.promise(domains=domains).verify()
    assert failed(found) == (set() if domains else {"dictionary"})
    if not domains:
        assert "leaves of 'zip'" in detail(found, "dictionary")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("domains", [(), ("age",)])
def test_bounds_of_the_whole_only_of_declared_domains(domains: tuple[str, ...]) -> None:
    release = all_top(handmade()).sql(
        """CREATE OR REPLACE TABLE ward_dictionary AS SELECT * REPLACE (
        CASE "column" WHEN 'age' THEN '20' END AS lower,
        CASE "column" WHEN 'age' THEN '77' END AS upper) FROM ward_dictionary ORDER BY ALL""",
        """CREATE OR REPLACE TABLE ward AS
        SELECT * REPLACE (20 AS age_lower, 77 AS age_upper) FROM ward""",
    )
    found = release.promise(domains=domains).verify()
    assert failed(found) == (set() if domains else {"dictionary"})
    if not domains:
        assert "bounds of '*' of 'age'" in detail(found, "dictionary")


def test_a_dictionary_of_enums() -> None:
    release = handmade().sql(
        """CREATE OR REPLACE TABLE ward_dictionary AS SELECT * REPLACE (
        CAST("column" AS ENUM ('age', 'sex', 'zip', 'secret')) AS "column")
        FROM ward_dictionary ORDER BY ALL"""
    )
    found = release.verify(source=False)
    assert failed(found) == {"dictionary"}
    assert detail(found, "dictionary") == "'column' is not VARCHAR"


@pytest.mark.full
def test_a_duplicated_row() -> None:
    release = handmade()
    release.replace("SELECT * FROM ward UNION ALL (SELECT * FROM ward LIMIT 1)")
    found = release.verify()
    assert failed(found) == {"truthfulness"}
    assert found.promises[-1].found["invented_records"] == 1
    assert release.verify(source=False).verified  # nothing but the source can tell


@pytest.mark.full
def test_a_changed_sensitive_value() -> None:
    release = handmade()
    release.replace("SELECT * REPLACE (CASE rowid WHEN 0 THEN 'cold' ELSE dx END AS dx) FROM ward")
    assert failed(release.verify()) == {"truthfulness"}


@pytest.mark.full
@pytest.mark.parametrize("column", ["age_lower", "age_upper"])
def test_a_bounds_cell_off_by_one(column: str) -> None:
    release = handmade().replace(
        f"SELECT * REPLACE (CASE rowid WHEN 3 THEN {column} + 1 ELSE {column} END AS {column}) "
        "FROM ward"
    )
    found = release.verify()
    assert failed(found) == {"bounds"}
    assert "'age' in 1 records" in detail(found, "bounds")


@pytest.mark.full
def test_a_bounds_cell_of_null() -> None:
    release = handmade().replace(
        "SELECT * REPLACE (CASE rowid WHEN 3 THEN NULL ELSE age_lower END AS age_lower) FROM ward"
    )
    assert failed(release.verify()) == {"bounds"}


@pytest.mark.full
def test_a_source_of_another_size() -> None:
    release = handmade().sql("INSERT INTO patients FROM patients LIMIT 1")
    found = release.verify()
    assert failed(found) == {"truthfulness"}
    assert found.promises[-1].found["source_rows"] == 22


@pytest.mark.full
def test_a_hierarchy_with_two_labels_for_a_value_maps_nothing() -> None:
    release = handmade().sql(
        "INSERT INTO hierarchies SELECT * REPLACE ('[30, 40)' AS label) FROM hierarchies "
        "WHERE hierarchy = 'age' AND level = 1 AND value = '24'"
    )
    found = release.verify()
    assert failed(found) == {"truthfulness"}
    assert found.promises[-1].found["unmapped_records"] > 0


# -- suppressed records that are kept ---------------------------------------------------------


def kept(release: Release, where: str) -> Release:
    """The release with the records of a condition kept as `*`."""
    release.sql(
        f"""CREATE OR REPLACE TABLE ward AS
        SELECT * REPLACE (
          CASE WHEN {where} THEN '*' ELSE age END AS age,
          CASE WHEN {where} THEN NULL ELSE age_lower END AS age_lower,
          CASE WHEN {where} THEN NULL ELSE age_upper END AS age_upper,
          CASE WHEN {where} THEN '*' ELSE zip END AS zip,
          CASE WHEN {where} THEN '*' ELSE sex END AS sex)
        FROM (
          SELECT '[' || age // 10 * 10 || ', ' || age // 10 * 10 + 10 || ')' AS age,
            CAST(age // 10 * 10 AS INTEGER) AS age_lower,
            CAST(age // 10 * 10 + 9 AS INTEGER) AS age_upper, left(zip, 3) || '**' AS zip, sex, dx
          FROM patients) ORDER BY ALL""",
        """CREATE OR REPLACE TABLE ward_dictionary AS
        SELECT "column", released_value, level, lower, upper, leaves FROM (
          FROM ward_dictionary UNION ALL
          SELECT unnest(['age', 'sex', 'zip']), '*', unnest([2, 1, 2]), NULL, NULL, NULL) AS d
        WHERE ("column", released_value) IN (SELECT ('age', age) FROM ward
          UNION ALL SELECT ('sex', sex) FROM ward UNION ALL SELECT ('zip', zip) FROM ward)
        ORDER BY ALL""",
    )
    return release.promise(keeps_suppressed=True, suppression_limit=0.5)


LARGE = "age = '[70, 80)' OR (age = '[20, 30)' AND sex = 'f')"


def test_kept_suppressed_records() -> None:
    found = kept(handmade(), LARGE).verify()
    assert found.verified, found.failures
    assert found.promises[1].found == {"records": 6, "share": 6 / 21}


def test_the_kept_suppressed_class_is_too_small() -> None:
    found = kept(handmade(), "age = '[70, 80)'").verify()
    assert failed(found) == {"k_anonymity"}
    assert found.promises[0].found == 1


def test_kept_suppressed_records_count_against_the_limit() -> None:
    found = kept(handmade(), LARGE).promise(suppression_limit=0.25).verify()
    assert failed(found) == {"suppression_limit"}


def test_a_kept_suppressed_record_was_dropped() -> None:
    release = kept(handmade(), LARGE)
    release.replace("SELECT * FROM ward WHERE rowid <> 0")
    assert failed(release.verify()) == {"suppression_limit"}


def test_a_kept_suppressed_record_with_another_sensitive_value() -> None:
    release = kept(handmade(), LARGE)
    release.replace("SELECT * REPLACE (CASE rowid WHEN 0 THEN 'cold' ELSE dx END AS dx) FROM ward")
    assert failed(release.verify()) == {"truthfulness"}


@pytest.mark.full
def test_a_kept_suppressed_record_keeps_nothing_of_its_quasi_identifiers() -> None:
    release = kept(handmade(), LARGE)
    release.replace(
        "SELECT * REPLACE (CASE age WHEN '*' THEN '371**' ELSE zip END AS zip) FROM ward"
    )
    found = release.verify()
    assert {"transformation", "truthfulness", "suppression_limit"} & failed(found)
    assert "transformation" in failed(found)


@pytest.mark.full
def test_a_star_that_is_no_suppressed_record_is_misplaced_beside_one_that_is() -> None:
    release = kept(handmade(), LARGE)
    release.replace(
        "SELECT * REPLACE (CASE WHEN age = '[20, 30)' THEN '*' ELSE sex END AS sex) FROM ward"
    )
    found = release.verify()
    assert failed(found) == {"transformation", "truthfulness"}
    assert found.promises[2].found == {
        "age": 1,
        "zip": 1,
        "sex": "1 of 3 values is not listed at level 0",
    }


def all_top(release: Release) -> Release:
    release.sql(
        """CREATE OR REPLACE TABLE ward AS SELECT '*' AS age, CAST(NULL AS INTEGER) AS age_lower,
        CAST(NULL AS INTEGER) AS age_upper, '*' AS zip, '*' AS sex, dx
        FROM patients ORDER BY ALL""",
        """CREATE OR REPLACE TABLE ward_dictionary AS
        SELECT unnest(['age', 'sex', 'zip']) AS "column", '*' AS released_value,
          CAST(unnest([2, 1, 2]) AS INTEGER) AS level, CAST(NULL AS VARCHAR) AS lower,
          CAST(NULL AS VARCHAR) AS upper, CAST(NULL AS VARCHAR[]) AS leaves ORDER BY ALL""",
    )
    return release.promise(transformation={"age": 2, "zip": 2, "sex": 1}, suppression_limit=0.0)


@pytest.mark.full
@pytest.mark.parametrize("keeps", [False, True])
def test_an_all_top_transformation_suppresses_nobody(keeps: bool) -> None:
    found = all_top(handmade()).promise(keeps_suppressed=keeps).verify()
    assert found.verified, found.failures
    assert found.promises[1].found == {"records": 0, "share": 0.0}
